/** Step timeouts: the signal is aborted, the attempt has failed, and what the code still does is ignored. */
import { expect, it } from 'vitest'
import { defineJob, type Iteration, Workflow } from '../../src/index.ts'
import { pauseFor } from '../../src/primitives/pause-for.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate } from '../support/wait-for.ts'

const seen = { calls: 0, reasons: [] as unknown[], slowFor: 1, items: [] as number[] }
let late = gate()

async function slow(signal: AbortSignal): Promise<string> {
  if (++seen.calls > seen.slowFor) return 'quick'
  await new Promise(resolve => signal.addEventListener('abort', resolve))
  seen.reasons.push(signal.reason)
  // It goes on all the same, and returns when nobody asks any more.
  await late.passed
  return 'late'
}

class Timed extends Workflow {
  static {
    this.named('timed')
    this.step('work', { timeout: '30ms', retry: { attempts: 2, backoff: 'fixed', delay: 0 } })
    this.step('after')
  }
  async work() {
    return slow(this.signal)
  }
  async after() {
    return this.output(this.work)
  }
}

class ByDefault extends Workflow {
  static {
    this.named('timed-by-default')
    this.defaults({ timeout: '30ms' })
    this.step('work')
    this.step('patient', { timeout: '1 hour' })
  }
  async work() {
    return slow(this.signal)
  }
  async patient() {}
}

class GivenUp extends Workflow {
  static {
    this.named('timed-and-given-up')
    this.step('work', { timeout: '30ms', onException: 'dlq' })
  }
  async work() {
    return slow(this.signal)
  }
}

const hang = () => new Promise<never>(() => {})
let hangs = true

class Stuck extends Workflow {
  static {
    this.named('stuck')
    this.resumableStep('copy', { timeout: '200ms', checkpoint: { items: 100 } })
  }
  async copy(iter: Iteration<number>) {
    for await (const item of iter.over([1, 2, 3])) {
      seen.items.push(item)
      if (item === 2) await iter.transaction(() => (hangs ? hang() : Promise.resolve()))
    }
  }
}

/** Yields after each item: no run of it takes long, but all of them together do. */
class Yielding extends Workflow {
  static {
    this.named('yielding')
    this.resumableStep('copy', { timeout: '500ms', yieldEvery: 1 })
  }
  async copy(iter: Iteration<number>) {
    await iter.over([1, 2, 3, 4, 5, 6], () => new Promise(resolve => setTimeout(resolve, 100)))
  }
}

const slowJob = defineJob('slow', { timeout: '30ms', onException: 'skip' }, (_args, job) => slow(job.signal))

/** Longer than a timer of Node can hold, which is 24.8 days. */
const long = '30 days'

/** Takes a moment, and fails if it is told to stop meanwhile. */
async function unhurried(signal: AbortSignal): Promise<string> {
  await pauseFor(20, signal)
  signal.throwIfAborted()
  return 'done'
}

class Patient extends Workflow {
  static {
    this.named('timed-for-long')
    this.step('charge', { timeout: long, compensate: { step: 'refund', timeout: long } })
    this.resumableStep('count', { timeout: long })
    this.step('fail', { onException: 'rollback' })
  }
  async charge() {
    return unhurried(this.signal)
  }
  async refund() {
    return unhurried(this.signal)
  }
  async count(iter: Iteration<number>) {
    for (let at = 0; at < 3; at++) {
      await unhurried(this.signal)
      await iter.set(at)
    }
  }
  async fail() {
    throw new Error('undo it all')
  }
}

const patientJob = defineJob('patient', { timeout: long }, (_args, job) => unhurried(job.signal))

forEachDatabase('a timeout', database => {
  const under = useGeneva(database, {
    workflows: [Timed, ByDefault, GivenUp, Stuck, Yielding, Patient],
    jobs: [slowJob, patientJob],
  })

  function begin(slowFor: number): void {
    Object.assign(seen, { calls: 0, reasons: [], slowFor })
    late = gate()
  }

  it('fails the attempt, and the next one counts, whatever the first still returns', async () => {
    begin(1)
    const wf = await under.geneva.start(Timed)
    await under.runDue()
    late.open()
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toBe('quick')
    expect(seen.reasons).toEqual(['timed out'])
    expect((await wf.history()).map(row => [row.step, row.attempt, row.state, row.outcome])).toEqual([
      ['work', 1, 'failed', 'timed_out'],
      ['work', 2, 'completed', 'success'],
      ['after', 1, 'completed', 'success'],
    ])
    expect((await wf.history())[0]?.error).toMatchObject({ className: 'StepTimeoutError' })
  })

  it('of the class counts for steps that have none, and pauses when nothing else is said', async () => {
    begin(9)
    const wf = await under.geneva.start(ByDefault)
    await under.runDue()
    late.open()
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history()).at(-1)).toMatchObject({ step: 'work', outcome: 'timed_out' })
  })

  it('is told from other failures where the step is given up for it, too', async () => {
    begin(9)
    const wf = await under.geneva.start(GivenUp)
    await under.runDue()
    late.open()
    expect((await wf.refresh()).state).toBe('dlq')
    expect((await wf.history())[0]).toMatchObject({ step: 'work', state: 'failed', outcome: 'timed_out' })
    const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
    expect(letter).toMatchObject({ step: 'work', reason: 'policy', error: { className: 'StepTimeoutError' } })
    await under.geneva.requeue(letter?.id ?? '')
    seen.slowFor = 0
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('ends a resumable step in the transaction of an item, which is undone, and the next attempt goes on with that item', async () => {
    hangs = true
    seen.items = []
    const wf = await under.geneva.start(Stuck)
    const began = performance.now()
    await under.runDue()
    expect(performance.now() - began).toBeLessThan(3000)
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history()).at(-1)).toMatchObject({ step: 'copy', outcome: 'timed_out' })
    hangs = false
    await wf.resume()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(seen.items).toEqual([1, 2, 2, 3])
  })

  it('of a resumable step counts for each of its runs', async () => {
    const wf = await under.geneva.start(Yielding)
    const began = performance.now()
    await under.runDue()
    expect(performance.now() - began).toBeGreaterThan(500)
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.history()).toMatchObject([{ step: 'copy', attempt: 1, outcome: 'success' }])
  })

  it('of a job counts for its nodes', async () => {
    begin(9)
    const wf = await under.geneva.startGraph(under.geneva.build(w => w.node('only', { job: slowJob })))
    await under.runDue()
    late.open()
    expect((await wf.refresh()).state).toBe('finished')
    expect((await wf.history())[0]).toMatchObject({ state: 'skipped', outcome: 'skipped_by_exception' })
  })

  it('of thirty days leaves steps, resumable steps and compensations their time', async () => {
    const wf = await under.geneva.start(Patient)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    const rows = (await wf.history()).map(row => [row.step, row.attempt, row.state, row.error?.message ?? null])
    expect(rows).toEqual([
      ['charge', 1, 'rolled_back', null],
      ['count', 1, 'rolled_back', null],
      ['fail', 1, 'rolled_back', 'undo it all'],
    ])
  })

  it('of thirty days leaves a job its time', async () => {
    const wf = await under.geneva.startGraph(under.geneva.build(w => w.node('only', { job: patientJob })))
    await under.runDue()
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toBe('done')
  })
})
