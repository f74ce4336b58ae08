/** Requests whose commit arrived and whose answer did not: they are tried again, and find that they are done. */
import { expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Branches extends Workflow {
  static {
    this.task('broken')
    this.task('later', { wait: '1 day' })
    this.task('last', { wait: '2 days' })
    this.step('end', { dependsOn: ['broken', 'later'] })
  }
  async broken() {
    if (this.execution.attempt === 1) throw new Error('broken')
  }
  async later() {}
  async last() {}
  async end() {}
}

forEachDatabase('a request whose answer is lost', database => {
  const under = useGeneva(database, { workflows: [Branches] })

  /** Every change is committed, and then tried once more, as after a connection that broke at the wrong moment. */
  async function losingAnswers(act: () => Promise<unknown>): Promise<void> {
    const store = await under.geneva.openedStore()
    const change = store.change.bind(store)
    store.change = async (...args) => {
      await change(...args)
      return change(...args)
    }
    try {
      await act()
    } finally {
      store.change = change
    }
  }

  async function started() {
    const wf = await under.geneva.start(Branches)
    await under.runDue()
    return wf
  }

  it('to skip or resolve a step that waits has been done once', async () => {
    const wf = await started()
    await losingAnswers(() => wf.skip('later'))
    await losingAnswers(() => wf.resolve('last'))
    const ends = (await wf.history()).filter(row => row.step !== 'broken').map(row => `${row.step} ${row.outcome}`)
    expect(ends.toSorted()).toEqual(['last resolved', 'later skipped_by_flow_control'])
    await wf.cancel()
  })

  it('to skip or reattempt a step that has failed has been done once', async () => {
    const skipped = await started()
    await losingAnswers(() => skipped.skip('broken'))
    expect((await skipped.history()).filter(row => row.step === 'broken')).toHaveLength(2)
    const again = await started()
    await losingAnswers(() => again.reattempt('broken'))
    expect((await again.history()).filter(row => row.step === 'broken')).toHaveLength(2)
    await skipped.cancel()
    await again.cancel()
  })

  it('to pause, resume or cancel has been done once', async () => {
    const wf = await started()
    await losingAnswers(() => wf.pause())
    await losingAnswers(() => wf.resume())
    await losingAnswers(() => wf.cancel())
    const changes = (await wf.events()).filter(event => event.type.startsWith('workflow.')).map(event => event.type)
    expect(changes).toEqual(['workflow.started', 'workflow.paused', 'workflow.resumed', 'workflow.canceled'])
  })

  it('that was never done is refused as ever', async () => {
    const wf = await started()
    await losingAnswers(() => expect(wf.reattempt('later')).rejects.toMatchObject({ code: 'INVALID_STATE' }))
    await wf.cancel()
  })
})
