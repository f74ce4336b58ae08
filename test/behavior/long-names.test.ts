/** The longest names that are taken work on every database, with all that the engine puts before and behind them. */
import { expect, it } from 'vitest'
import { longestNames, maxNameLength } from '../../src/definition/node-name.ts'
import { defineJob, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const each = 'e'.repeat(longestNames.each)
const eachJob = 'j'.repeat(longestNames.each)
const fork = 'f'.repeat(longestNames.fork)
const child = 'c'.repeat(maxNameLength)
const step = 's'.repeat(maxNameLength)
const job = defineJob('k'.repeat(longestNames.job), async ({ number }: { number: number }) => number * 2)
const undo = defineJob('u'.repeat(longestNames.job), async (_: { number: number }) => {})

class Inner extends Workflow<null, { fails: boolean }> {
  static {
    this.named('w'.repeat(maxNameLength))
    this.step('only')
  }
  async only() {
    return 'inner'
  }
}

class Outer extends Workflow<null, { fails: boolean }> {
  static {
    // The names are computed, so that no type can know the methods by them.
    const declare = this as any
    declare.each(each, { items: () => [1, 2], compensate: 'undoItem', concurrency: 1 })
    declare.eachJob(eachJob, { items: () => [{ number: 1 }, { number: 2 }], job })
    declare.child(child, { workflow: Inner, start: () => ({ input: { fails: false } }), compensate: 'undoChild' })
    declare.fork(fork, {
      left: (b: any) => b.inline('l'.repeat(maxNameLength), () => {}),
      right: (b: any) => b.step(step),
    })
    declare.step('last', { onException: 'rollback' })
  }
  async last(): Promise<void> {
    if (this.input.fails) throw new Error('on purpose')
  }
  async undoItem() {}
  async undoChild() {}
}
Object.assign(Outer.prototype, { [each]: (item: number) => item, [child]: () => {}, [step]: () => {} })

forEachDatabase('the longest names', database => {
  const under = useGeneva(database, { workflows: [Outer, Inner], jobs: [job, undo] })

  it('are those of an each, a child, a fork, a step and a class that run, and are undone', async () => {
    const good = await under.geneva.start(Outer, { input: { fails: false } })
    const bad = await under.geneva.start(Outer, { input: { fails: true } })
    await under.runDue()
    expect((await good.refresh()).state).toBe('finished')
    expect((await bad.refresh()).state).toBe('failed')
    const undone = (await bad.history()).filter(({ state }) => state === 'rolled_back').map(({ node }) => node)
    expect(undone).toEqual(expect.arrayContaining([`${each}/0`, `${each}/1`, child]))
  })

  it('are those of a job, a node and a compensation of a graph that is built at run time', async () => {
    const graph = under.geneva.build(w => {
      w.node('n'.repeat(maxNameLength), { job, args: { number: 1 }, compensate: undo })
      w.parallel(fork, b => [b.node('left', { job, args: { number: 2 } }), b.waitFor('x'.repeat(maxNameLength))])
    })
    const wf = await under.geneva.startGraph(graph)
    await under.runDue()
    await wf.signal('x'.repeat(maxNameLength), 1)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    const canceled = await under.geneva.startGraph(graph)
    await under.runDue()
    await canceled.cancel()
    await under.runDue()
    expect((await canceled.refresh()).state).toBe('canceled')
    expect((await canceled.history()).map(({ state }) => state)).toContain('rolled_back')
  })
})
