/** Deadlines of whole workflows: timers that survive anything, held by a pause, gone with the workflow. */
import { expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
const hour = 3_600_000

class Quote extends Workflow<null, { fails?: boolean; gate?: string }> {
  static {
    this.defaults({ deadline: '2 hours' })
    this.step('ask')
    this.step('answer', { wait: '3 hours' })
  }
  async ask() {
    if (this.input.gate) await gates.stop(this.input.gate, this.signal)
    if (this.input.fails) throw new Error('nobody there')
  }
  async answer() {}
}

class Patient extends Quote {
  static {
    this.defaults({ onDeadline: 'pause' })
  }
}

class Branches extends Workflow {
  static {
    this.defaults({ deadline: '2 hours' })
    this.task('one')
    this.task('two', { wait: '1 hour' })
  }
  async one() {}
  async two() {}
}

class Yearly extends Workflow<null, { year: number }> {
  static {
    this.defaults({ deadline: '2 hours' })
    this.step('close', { wait: '1 hour' })
  }
  async close() {
    if (this.input.year < 2) this.restart({ year: this.input.year + 1 })
  }
}

forEachDatabase('a deadline', database => {
  const under = useGeneva(database, { workflows: [Quote, Patient, Branches, Yearly] })
  let clock = 0

  async function after(ms: number): Promise<void> {
    clock += ms
    await under.setClock(clock)
    await under.runDue()
  }

  async function timers(): Promise<number | null> {
    return (await under.geneva.openedStore()).nextDueAt()
  }

  it('cancels a workflow that has not ended, not a millisecond early', async () => {
    const wf = await under.geneva.start(Quote, { input: {} })
    const store = await under.geneva.openedStore()
    await under.runDue()
    const due = wf.deadline?.getTime() ?? 0
    expect(due - wf.createdAt.getTime()).toBe(2 * hour)
    expect((await store.events(wf.id)).map(event => event.type)).not.toContain('timer.started')
    await after(2 * hour - 60_000)
    expect((await wf.refresh()).state).toBe('ready')
    await after(60_000)
    expect((await wf.refresh()).state).toBe('canceled')
    expect(wf.canceledAt?.getTime()).toBeGreaterThanOrEqual(due)
    expect((await wf.events()).findLast(event => event.type === 'workflow.canceled')?.reason).toBe(
      'its deadline has passed',
    )
    expect((await wf.explain()).sentence).toContain('deadline')
    expect(await timers()).toBeNull()
  })

  it('is gone when the workflow has ended before', async () => {
    const branches = await under.geneva.start(Branches)
    const quote = await under.geneva.start(Quote, { input: {} })
    await after(hour)
    expect((await branches.refresh()).state).toBe('finished')
    await quote.cancel()
    expect(await timers()).toBeNull()
    expect(await (await under.geneva.openedStore()).activeExecutions(branches.id)).toEqual([])
  })

  it('stops a step that runs', async () => {
    const gate = `${database.name} stops`
    const wf = await under.geneva.start(Quote, { input: { gate } })
    const running = under.runDue()
    const signal = await gates.arrived(gate)
    clock += 2 * hour
    await under.setClock(clock)
    await waitFor(() => signal.aborted)
    expect((await wf.refresh()).state).toBe('rolling_back')
    gates.open(gate)
    await running
    expect((await wf.refresh()).state).toBe('canceled')
  })

  it('is held while the workflow is paused, and acts when it is resumed', async () => {
    const wf = await under.geneva.start(Quote, { input: {} })
    await under.runDue()
    await wf.pause({ by: 'ann' })
    await after(5 * hour)
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.explain()).sentence).toMatch(/deadline, .* has passed/)
    await wf.resume({ by: 'ann' })
    expect(wf.state).toBe('canceled')
    expect((await wf.history()).map(row => `${row.step} ${row.state}`)).toEqual(['ask completed', 'answer canceled'])
  })

  it('that has passed while the workflow was paused acts when its failed step is reattempted', async () => {
    const wf = await under.geneva.start(Quote, { input: { fails: true } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    await after(5 * hour)
    expect((await wf.refresh()).state).toBe('paused')
    await wf.skip('ask')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('canceled')
  })

  it('with onDeadline pause holds the workflow; a resume lets it go on without one', async () => {
    const wf = await under.geneva.start(Patient, { input: {} })
    await under.runDue()
    await after(2 * hour)
    expect((await wf.refresh()).state).toBe('paused')
    await wf.resume()
    await after(hour + 5000)
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('can be given with the start, as a length of time or as a date', async () => {
    const short = await under.geneva.start(Quote, { input: {} }, { deadline: '10 min' })
    const now = short.createdAt.getTime()
    const dated = await under.geneva.start(Quote, { input: {} }, { deadline: new Date(now + 4 * hour) })
    const late = await under.geneva.start(Quote, { input: {} }, { delay: '3 hours' })
    await under.runDue()
    expect(dated.deadline?.getTime()).toBe(now + 4 * hour)
    expect((late.deadline?.getTime() ?? 0) - late.createdAt.getTime()).toBe(5 * hour)
    await after(600_000)
    expect((await short.refresh()).state).toBe('canceled')
    await after(3 * hour - 600_000 + 5000)
    expect((await dated.refresh()).state).toBe('finished')
    await late.cancel()
    await expect(under.geneva.start(Quote, { input: {} }, { deadline: 0 })).rejects.toThrow(/leaves no time/)
  })

  it('begins anew for a workflow that restarts, and for one that is run again', async () => {
    const first = await under.geneva.start(Yearly, { input: { year: 1 } })
    await after(hour)
    const second = await under.geneva.find((await first.refresh()).continuedAs ?? '')
    const since = (second?.deadline?.getTime() ?? 0) - (second?.createdAt.getTime() ?? 0)
    expect(since).toBe(2 * hour)
    await after(hour)
    expect((await second?.refresh())?.state).toBe('finished')
    const again = await under.geneva.rerun(second?.id ?? '', { from: 'close' })
    expect((again.deadline?.getTime() ?? 0) - again.createdAt.getTime()).toBe(2 * hour)
    await again.cancel()
    expect(await timers()).toBeNull()
  })

  it('leaves everything as its events say', async () => {
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})

it('a deadline of 0, or one that is not understood, does not define a class', () => {
  const define = (options: object) => () =>
    class extends Workflow {
      static {
        this.defaults(options)
      }
    }
  expect(define({ deadline: 0 })).toThrow(/leaves no time/)
  expect(define({ deadline: 'soon' })).toThrow(/deadline/)
  expect(define({ onDeadline: 'explode' })).toThrow(/'cancel' or 'pause'/)
})
