/** Requests whose commit arrived and whose answer did not: they are tried again, and find that they are done. */
import { expect, it } from 'vitest'
import { type Decision, type Signal, Workflow } from '../../src/index.ts'
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

class Asking extends Workflow {
  static {
    this.task('first', { wait: '1 day' })
    this.human('board', { quorum: 2, dependsOn: [] })
    this.waitFor('paid', { dependsOn: [] })
    this.waitFor('shipped', { dependsOn: 'first' })
  }
  async first() {}
  async board(_: Decision) {}
  async paid(_: Signal) {}
  async shipped(_: Signal) {}
}

class Rejecting extends Workflow {
  static {
    this.step('write')
    this.human('accept', { onReject: { backTo: 'write' } })
  }
  async write() {}
  async accept(_: Decision) {}
}

class Letters extends Workflow {
  static {
    this.onException('dlq')
    this.task('one')
    this.task('two')
  }
  async one() {
    if (this.execution.attempt === 1) throw new Error('one')
  }
  async two() {
    if (this.execution.attempt === 1) throw new Error('two')
  }
}

forEachDatabase('a request whose answer is lost', database => {
  const under = useGeneva(database, { workflows: [Branches, Asking, Rejecting, Letters] })

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

  it('to decide has been done once, below the quorum and with the last that it needs', async () => {
    const wf = await under.geneva.start(Asking)
    await under.runDue()
    await losingAnswers(() => wf.decide('board', { decision: 'confirmed', by: 'ann' }))
    await losingAnswers(() => wf.decide('board', { decision: 'confirmed', by: 'bob' }))
    expect((await wf.decisions()).map(({ by }) => by)).toEqual(['ann', 'bob'])
    await losingAnswers(() =>
      expect(wf.decide('board', { decision: 'confirmed', by: 'ann' })).rejects.toMatchObject({
        code: 'ALREADY_DECIDED',
      }),
    )
    await wf.cancel()
  })

  it('to reject has sent the workflow back once', async () => {
    const wf = await under.geneva.start(Rejecting)
    await under.runDue()
    await losingAnswers(() => wf.decide('accept', { decision: 'rejected', by: 'ann' }))
    await under.runDue()
    expect((await wf.history()).filter(row => row.step === 'write')).toHaveLength(2)
    await wf.cancel()
  })

  it('to signal has been done once, early or not, with a key or without', async () => {
    const wf = await under.geneva.start(Asking)
    await under.runDue()
    await losingAnswers(() => wf.signal('paid', undefined))
    await losingAnswers(() => wf.signal('shipped', undefined))
    const other = await under.geneva.start(Asking)
    await under.runDue()
    await losingAnswers(() => other.signal('paid', undefined, { key: 'k' }))
    await losingAnswers(() => other.signal('shipped', undefined, { key: 'k' }))
    for (const each of [wf, other]) {
      const received = (await each.events()).filter(event => event.type === 'signal.received')
      expect(received.map(event => event.node)).toEqual(['paid', 'shipped'])
      await each.cancel()
    }
  })

  it('to requeue has been done once, also while another letter is open', async () => {
    const wf = await under.geneva.start(Letters)
    await under.runDue()
    const letters = await under.geneva.deadLetters({ workflowId: wf.id })
    expect(letters).toHaveLength(2)
    for (const letter of letters) await losingAnswers(() => under.geneva.requeue(letter.id))
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('that was never done is refused as ever', async () => {
    const wf = await started()
    await losingAnswers(() => expect(wf.reattempt('later')).rejects.toMatchObject({ code: 'INVALID_STATE' }))
    await wf.cancel()
  })
})
