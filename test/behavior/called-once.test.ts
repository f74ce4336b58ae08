/** Steps with `idempotent: false`: one call, ever, by the engine itself. What was cut off is asked about, or left to people. */
import { beforeEach, expect, it } from 'vitest'
import { defineJob, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

const calls: string[] = []
let begun = gate()
let answer: { happened: boolean; output?: number } = { happened: false }
let hangs = true
let over = gate()

async function pay(name: string): Promise<number> {
  calls.push(name)
  begun.open()
  // Deaf to its signal, as code is that waits for somebody else's answer.
  if (hangs) await over.passed
  return 7
}

class Payment extends Workflow {
  static {
    this.named('payment')
    this.step('charge', { idempotent: false })
    this.step('receipt')
  }
  charge() {
    return pay('charge')
  }
  async receipt() {
    calls.push('receipt')
  }
}

class Reconciled extends Workflow {
  static {
    this.named('reconciled')
    this.onException({ policy: 'reattempt', limit: 5 })
    this.step('charge', { idempotent: false, reconcile: 'findCharge', timeout: '1 hour' })
    this.step('receipt')
  }
  charge() {
    return pay('charge')
  }
  async findCharge() {
    calls.push('findCharge')
    return answer
  }
  async receipt() {
    calls.push('receipt')
  }
}

class Throwing extends Workflow {
  static {
    this.named('throwing')
    this.defaults({ retry: 5 })
    this.onException({ policy: 'reattempt', limit: 5 })
    this.step('charge', { idempotent: false })
  }
  async charge() {
    calls.push('charge')
    throw new Error('declined')
  }
}

class Sides extends Workflow {
  static {
    this.named('sides')
    this.fork(
      'both',
      { left: b => b.step('charge', { idempotent: false }), right: b => b.step('note') },
      { join: 'settled' },
    )
    this.step('receipt')
  }
  charge() {
    return pay('charge')
  }
  async note() {}
  async receipt() {
    calls.push('receipt')
  }
}

class Beside extends Workflow {
  static {
    this.named('beside')
    this.step('charge', { idempotent: false })
    this.task('note', { dependsOn: null })
    this.step('receipt', { dependsOn: ['charge', 'note'] })
  }
  charge() {
    return pay('charge')
  }
  async note() {}
  async receipt() {
    calls.push('receipt')
  }
}

const chargeJob = defineJob('chargeJob', async (_: { amount: number }) => pay('job'))
const findJob = defineJob('findJob', async (args: { amount: number }) => {
  calls.push(args.amount === 3 ? 'findJob' : 'other arguments')
  return answer
})
const afterJob = defineJob('afterJob', async () => {
  calls.push('after')
})

forEachDatabase('a step that is called once', database => {
  const jobs = [chargeJob, findJob, afterJob]
  const under = useGeneva(database, { workflows: [Payment, Reconciled, Throwing, Sides, Beside], jobs })

  beforeEach(() => {
    calls.length = 0
    begun = gate()
    over = gate()
    hangs = true
  })

  /** The worker is told to stop while the step is in its call, and does not wait for it. */
  async function cutOff(): Promise<void> {
    const worker = await under.geneva.startWorker({ poll: 20, grace: 0 })
    await begun.passed
    await worker.stop()
    hangs = false
    over.open()
  }

  it('and was cut off is left to a person, and never called again by itself', async () => {
    const wf = await under.geneva.start(Payment)
    await cutOff()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history()).map(({ state, outcome }) => [state, outcome])).toEqual([['failed', 'unknown']])
    expect(calls).toEqual(['charge'])
    await wf.resolve('charge', { output: 7 })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge', 'receipt'])
    expect(await wf.output('charge')).toBe(7)
  })

  it('and can say that the lost call happened goes on without another one', async () => {
    answer = { happened: true, output: 9 }
    const wf = await under.geneva.start(Reconciled)
    await cutOff()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge', 'findCharge', 'receipt'])
    expect(await wf.output('charge')).toBe(9)
    expect((await wf.history()).map(({ outcome }) => outcome)).toEqual(['unknown', 'resolved', 'success'])
  })

  it('and can say that the lost call did not happen is called then', async () => {
    answer = { happened: false }
    const wf = await under.geneva.start(Reconciled)
    await cutOff()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge', 'findCharge', 'charge', 'receipt'])
  })

  it('in a branch that a join could do without is waited for until a person has settled it', async () => {
    const wf = await under.geneva.start(Sides)
    await cutOff()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    await wf.resolve('charge')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge', 'receipt'])
    const again = await under.geneva.start(Sides)
    begun = gate()
    over = gate()
    hangs = true
    await cutOff()
    await under.runDue()
    await again.resume()
    await under.runDue()
    expect((await again.refresh()).state).toBe('finished')
    expect(calls.filter(call => call === 'charge')).toHaveLength(3)
    expect((await under.geneva.doctor()).findings).toEqual([])
  })

  it('in a graph and was cut off as the last thing that went on pauses its workflow', async () => {
    const wf = await under.geneva.start(Beside)
    await cutOff()
    // By the worker itself: nobody has to take it over first.
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.events()).find(({ type }) => type === 'step.failed')?.reason).toContain('shut down in mid-call')
    await wf.resolve('charge')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge', 'receipt'])
  })

  it('and throws is not called again, whatever retries and policies say of others', async () => {
    const wf = await under.geneva.start(Throwing)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect(calls).toEqual(['charge'])
  })

  it('is called by whoever takes it over when its worker died before the call', async () => {
    hangs = false
    const wf = await under.geneva.start(Payment)
    const store = await under.geneva.openedStore()
    await store.registerWorker({ id: 'lost', host: 'test', pid: 1, leaseMs: 1, handlers: ['payment'] })
    const source = { queue: 'default', handler: 'payment', generation: 1 }
    const claimed = await store.claim({ workerId: 'lost', sources: [source], limit: 1, workflowId: wf.id })
    expect(claimed).toHaveLength(1)
    const worker = await under.geneva.startWorker({ poll: 20, lease: 500 })
    await waitFor(async () => (await wf.refresh()).state === 'finished', 20_000)
    await worker.stop()
    expect(calls).toEqual(['charge', 'receipt'])
    expect((await wf.history())[0]).toMatchObject({ attempt: 1, outcome: 'success' })
  })

  it.each([
    [true, ['job', 'findJob', 'after']],
    [false, ['job', 'findJob', 'job', 'after']],
  ])('in a stored graph is asked about by its own job (happened: %s)', async (happened, expected) => {
    answer = { happened, output: 9 }
    const graph = under.geneva.build(w => {
      w.node('charge', { job: chargeJob, args: { amount: 3 }, idempotent: false, reconcile: findJob })
      w.node('after', { job: afterJob })
    })
    const wf = await under.geneva.startGraph(graph)
    await cutOff()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(expected)
    expect(await wf.output('charge')).toBe(happened ? 9 : 7)
  })
})
