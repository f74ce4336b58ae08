/** A worker that has lost its connections looks at what it holds: each claim is run by it, and none is run twice. */
import { beforeEach, expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabaseSideBySide } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

forEachDatabaseSideBySide('a worker whose connections break', database => {
  // A file has no connection that breaks, but it may be locked.
  const code = database.name === 'sqlite' ? 'SQLITE_BUSY' : 'ECONNRESET'
  const lostAnswer = () => Object.assign(new Error('The answer was lost.'), { code })
  const calls: string[] = []
  let over = gate()

  class Graph extends Workflow {
    static {
      this.named('graph')
      this.task('a')
      this.task('b', { dependsOn: 'a' })
      this.task('c', { dependsOn: 'a' })
    }
    async a() {
      calls.push('a')
    }
    async b() {
      calls.push('b')
      await over.passed
    }
    async c() {
      calls.push('c')
      await over.passed
    }
  }

  class Chain extends Workflow {
    static {
      this.named('chain')
      this.step('a')
      this.step('b', { wait: 1 })
    }
    async a() {
      calls.push('a')
    }
    async b() {
      calls.push('b')
      await over.passed
    }
  }

  class Pair extends Workflow<null, { throws: boolean }> {
    static {
      this.named('pair')
      this.step('a')
      this.step('b')
    }
    async a() {
      calls.push('a')
      await over.passed
      if (this.input.throws) throw new Error('broken')
    }
    async b() {
      calls.push('b')
    }
  }

  const under = useGeneva(database, { workflows: [Graph, Chain, Pair] })
  beforeEach(() => {
    calls.length = 0
    over = gate()
  })

  /** The next report is committed, but its answer is lost, and so is a claim on another connection if it is to be. */
  function breakAtNextReport(
    store: Store,
    breaksClaims: boolean,
  ): { readonly looks: () => number; readonly reports: () => number; mend(): void } {
    const { change, changeAssumed, claim, heldBy } = store
    let reports = 0
    let looks = 0
    let claimBreaks = false
    const breakAfter = (answer: unknown) => {
      if (reports++ > 0 || answer === null) return
      claimBreaks = breaksClaims
      throw lostAnswer()
    }
    store.changeAssumed = async (...args) => {
      const answer = await changeAssumed.apply(store, args)
      if (answer !== null) breakAfter(answer)
      return answer
    }
    store.change = async (...args) => {
      const answer = await change.apply(store, args)
      if (args[2] !== undefined) breakAfter(answer)
      return answer
    }
    store.claim = async request => {
      if (!claimBreaks) return claim.call(store, request)
      claimBreaks = false
      throw lostAnswer()
    }
    store.heldBy = async workerId => {
      const held = await heldBy.call(store, workerId)
      looks++
      return held
    }
    const mend = () => Object.assign(store, { change, changeAssumed, claim, heldBy })
    return { looks: () => looks, reports: () => reports, mend }
  }

  it('runs what its report has begun once, in whatever order it hears of it', async () => {
    const broken = breakAtNextReport(await under.geneva.openedStore(), true)
    const worker = await under.geneva.startWorker({ ...quickly, poll: 20 })
    const wf = await under.geneva.start(Graph)
    await waitFor(() => broken.looks() > 0 && calls.length === 3)
    // The report is made once more, and finds that it was recorded.
    await waitFor(() => broken.reports() > 1)
    over.open()
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    await worker.stop()
    broken.mend()
    expect(calls.toSorted()).toEqual(['a', 'b', 'c'])
    expect((await wf.history()).map(({ outcome }) => outcome)).toEqual(['success', 'success', 'success'])
  })
  it('runs once what its report has left in line and what it has claimed before it could make the report again', async () => {
    const broken = breakAtNextReport(await under.geneva.openedStore(), false)
    const worker = await under.geneva.startWorker({ ...quickly, poll: 20 })
    const wf = await under.geneva.start(Chain)
    await waitFor(() => broken.reports() > 1)
    over.open()
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    await worker.stop()
    broken.mend()
    expect(calls).toEqual(['a', 'b'])
  })
  it('goes on with what its report has begun where another of the same group is never taken', async () => {
    const store = await under.geneva.openedStore()
    const { change } = store
    const poisonous = new Set<string>()
    // Reports on a step that throws are decided on after those that need no look are written.
    store.change = async (...args) => {
      if (args[0].some(({ workflowId }) => poisonous.has(workflowId))) {
        poisonous.clear()
        throw new Error('The value does not fit.')
      }
      return change.apply(store, args)
    }
    const worker = await under.geneva.startWorker({ ...quickly, poll: 20 })
    const good = await under.geneva.start(Pair, { input: { throws: false } })
    const bad = await under.geneva.start(Pair, { input: { throws: true } })
    await waitFor(() => calls.length === 2)
    poisonous.add(bad.id)
    over.open()
    await waitFor(async () => (await good.refresh()).state === 'finished')
    await waitFor(async () => (await bad.refresh()).state === 'paused')
    await worker.stop()
    store.change = change
    expect(calls.toSorted()).toEqual(['a', 'a', 'b'])
    expect((await good.history()).map(({ step, outcome }) => [step, outcome])).toEqual([
      ['a', 'success'],
      ['b', 'success'],
    ])
    await bad.cancel()
  })
})
