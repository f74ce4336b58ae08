/** Items that are requeued from the dead letters: they wait for a place like all others. */
import { expect, it } from 'vitest'
import { Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

let busy = 0
/** How many items were called at the same time. */
let most = 0
let whileOne: () => Promise<unknown> = async () => {}
/** The second item asks to be called again in an hour. */
let isLate = false

/** Letters go out one at a time in a branch that the join can do without. */
class Mailing extends Workflow {
  static {
    this.named('mailing requeued')
    this.fork(
      'both',
      {
        a: b => b.each('mail', { items: () => [0, 1, 2], concurrency: 1, onException: 'dlq' }),
        b: b => b.step('other', { wait: '1 min' }),
      },
      { join: 'any' },
    )
    this.step('after')
  }
  async mail(item: number) {
    most = Math.max(most, ++busy)
    try {
      if (item === 0 && this.execution.attempt === 1) throw new Error('no stamps')
      if (item === 1 && this.execution.attempt === 1) await whileOne()
      if (item === 1 && isLate && this.execution.attempt === 1) this.reattempt({ wait: '1 hour' })
    } finally {
      busy--
    }
  }
  async other() {}
  async after() {}
}

forEachDatabase('an item that is requeued', database => {
  const under = useGeneva(database, { workflows: [Mailing] })

  it('waits for its place if another has got it meanwhile', async () => {
    most = 0
    whileOne = async () => {
      // The other branch loses the join, so that the letter of the item that has failed is opened, all while this one runs.
      await wf.skip('other')
      const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
      await under.geneva.requeue(letter?.id ?? '')
      const rows = await wf.currentExecutions()
      expect(rows.find(({ step }) => step === 'mail/0')?.state).toBe('waiting')
      await under.geneva.runDue({ poll: 5, grace: 0 })
    }
    const wf: WorkflowHandle<any> = await under.geneva.start(Mailing)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(most).toBe(1)
    const ends = (await wf.history()).filter(({ step }) => step.startsWith('mail'))
    expect(ends.map(({ step, outcome }) => `${step} ${outcome}`).toSorted()).toEqual([
      'mail success',
      'mail/0 dead_lettered',
      'mail/0 success',
      'mail/1 success',
      'mail/2 success',
    ])
    expect(await wf.verifyHistory()).toBeNull()
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  })
  it('leaves its place and its time to one that is to be called again later', async () => {
    whileOne = async () => {}
    isLate = true
    const wf: WorkflowHandle<any> = await under.geneva.start(Mailing)
    await under.runDue()
    isLate = false
    await wf.skip('other')
    const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
    await under.geneva.requeue(letter?.id ?? '')
    const rows = await wf.currentExecutions()
    const later = rows.find(({ step }) => step === 'mail/1')
    expect(later?.state).toBe('scheduled')
    expect(Number(later?.scheduledFor) - Number(wf.createdAt)).toBeGreaterThan(3_000_000)
    expect(rows.find(({ step }) => step === 'mail/0')?.state).toBe('waiting')
    await under.setClock(2 * 3_600_000)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    await under.setClock(0)
  })
})
