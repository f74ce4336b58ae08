/** Steps that reattempt themselves, to poll for something: what stays of them in history. */
import { beforeAll, expect, it } from 'vitest'
import { type Compensation, type Decision, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Poll extends Workflow<null, { times: number; failAt?: number }> {
  static {
    this.step('begin')
    this.step('look', { retry: { attempts: 3, backoff: () => 0, jitter: false } })
    this.step('done')
  }
  async begin() {}
  async look() {
    const { attempt } = this.execution
    if (attempt === this.input.failAt || attempt === (this.input.failAt ?? -9) + 1) throw new Error('not now')
    if (attempt < this.input.times) this.reattempt()
    return attempt
  }
  async done() {
    return this.output(this.look)
  }
}

class Branches extends Workflow {
  static {
    this.task('look')
    this.task('other')
  }
  async look() {
    if (this.execution.attempt < 105) this.reattempt()
  }
  async other() {}
}

/** Finds what it looks for at once, is sent back, and looks for it long. */
class Rounds extends Workflow {
  static {
    this.named('polling rounds')
    this.step('look', { compensate: 'forget' })
    this.human('accept', { onReject: { backTo: 'look' } })
  }
  async look() {
    const { attempt } = this.execution
    if (attempt > 1 && attempt < 106) this.reattempt()
    return attempt
  }
  async forget({ output }: Compensation<Rounds['look']>) {
    forgotten.push(output)
  }
  async accept(_: Decision) {}
}
const forgotten: unknown[] = []

forEachDatabase('a step that reattempts itself', database => {
  const under = useGeneva(database, { workflows: [Poll, Branches, Rounds] })
  const started: Record<'many' | 'failing' | 'few' | 'graph', WorkflowHandle> = {} as never

  // Side by side: each attempt is a transaction, and they share those.
  beforeAll(async () => {
    const { geneva } = under
    started.many = await geneva.start(Poll, { input: { times: 112 } })
    started.failing = await geneva.start(Poll, { input: { times: 110, failAt: 5 } })
    started.few = await geneva.start(Poll, { input: { times: 100 } })
    started.graph = await geneva.start(Branches)
    await under.runDue()
  })

  async function looks(wf: WorkflowHandle) {
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.verifyHistory()).toBeNull()
    return (await wf.history()).filter(row => row.step === 'look')
  }

  it('keeps its last 100 attempts and its count, and its history fits', async () => {
    const attempts = await looks(started.many)
    expect(await started.many.output('done')).toBe(112)
    // 111 reattempts, of which 100 stay; the one that returned is no reattempt.
    expect(attempts.map(row => row.attempt)).toEqual(Array.from({ length: 101 }, (_, index) => index + 12))
    expect(attempts.map(row => row.dropped).filter(count => count > 0)).toEqual([11])
    expect((await started.many.history()).filter(row => row.step !== 'look')).toHaveLength(2)
  })

  it('keeps no attempt longer because it has failed', async () => {
    expect((await looks(started.failing))[0]).toMatchObject({ attempt: 10, dropped: 9 })
  })

  it('keeps all of fewer', async () => {
    const attempts = await looks(started.few)
    expect(attempts).toHaveLength(100)
    expect(attempts.every(row => row.dropped === 0)).toBe(true)
  })

  it('does so beside other branches', async () => {
    expect(await looks(started.graph)).toHaveLength(101)
  })

  it('keeps what rounds before this one have done, which a rollback undoes', async () => {
    const wf = await under.geneva.start(Rounds)
    await under.runDue()
    await wf.decide('accept', { by: 'ann', decision: 'rejected' })
    await under.runDue()
    const attempts = (await wf.history()).filter(row => row.step === 'look')
    // 104 reattempts in the second round, of which 100 stay.
    expect(attempts.map(row => row.attempt)).toEqual([1, ...Array.from({ length: 101 }, (_, index) => index + 6)])
    expect(attempts.map(row => row.dropped).filter(count => count > 0)).toEqual([4])
    expect(await wf.verifyHistory()).toBeNull()
    forgotten.length = 0
    await wf.cancel()
    await under.runDue()
    expect(forgotten).toEqual([106, 1])
  })

  it('leaves everything as its events say', async () => {
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})
