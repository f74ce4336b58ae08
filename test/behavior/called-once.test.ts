/** Steps with `idempotent: false`: one call, ever, by the engine itself. What was cut off is asked about, or left to people. */
import { beforeEach, expect, it, type TestContext } from 'vitest'
import { JobRegistry } from '../../src/definition/job-registry.ts'
import { Registry } from '../../src/definition/registry.ts'
import { Engine } from '../../src/engine/engine.ts'
import { takeOver } from '../../src/engine/take-over.ts'
import {
  type AnyWorkflow,
  type ConcreteClass,
  type Decision,
  defineJob,
  type Geneva,
  Workflow,
} from '../../src/index.ts'
import type { ActiveExecution } from '../../src/store/records.ts'
import { type DatabaseName, forEachDatabaseSideBySide } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

/** What happens on one database, beside the others: what was called, and what becomes of it. */
class Scene {
  readonly calls: string[] = []
  begun = gate()
  answer: { happened: boolean; output?: number } = { happened: false }
  hangs = true
  over = gate()

  /** From here on the next call hangs. */
  prepare(): void {
    this.begun = gate()
    this.over = gate()
    this.hangs = true
  }

  async pay(name: string): Promise<number> {
    this.calls.push(name)
    this.begun.open()
    // Deaf to its signal, as code is that waits for somebody else's answer.
    if (this.hangs) await this.over.passed
    return 7
  }
}

interface Place {
  readonly on: DatabaseName
}

const scenes: Readonly<Record<DatabaseName, Scene>> = { sqlite: new Scene(), postgres: new Scene(), mysql: new Scene() }
const sceneOf = ({ input }: { readonly input: Place }) => scenes[input.on]

class Payment extends Workflow<null, Place> {
  static {
    this.named('payment')
    this.step('charge', { idempotent: false })
    this.step('receipt')
  }
  charge() {
    return sceneOf(this).pay('charge')
  }
  async receipt() {
    sceneOf(this).calls.push('receipt')
  }
}

class Reconciled extends Workflow<null, Place> {
  static {
    this.named('reconciled')
    this.onException({ policy: 'reattempt', limit: 5 })
    this.step('charge', { idempotent: false, reconcile: 'findCharge', timeout: '1 hour' })
    this.step('receipt')
  }
  charge() {
    return sceneOf(this).pay('charge')
  }
  async findCharge() {
    sceneOf(this).calls.push('findCharge')
    return sceneOf(this).answer
  }
  async receipt() {
    sceneOf(this).calls.push('receipt')
  }
}

class Hurried extends Workflow<null, Place> {
  static {
    this.named('hurried')
    this.step('charge', { idempotent: false, timeout: 200 })
  }
  charge() {
    return sceneOf(this).pay('charge')
  }
}

class Throwing extends Workflow<null, Place> {
  static {
    this.named('throwing')
    this.defaults({ retry: 5 })
    this.onException({ policy: 'reattempt', limit: 5 })
    this.step('charge', { idempotent: false })
  }
  async charge() {
    sceneOf(this).calls.push('charge')
    throw new Error('declined')
  }
}

class Sides extends Workflow<null, Place> {
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
    return sceneOf(this).pay('charge')
  }
  async note() {}
  async receipt() {
    sceneOf(this).calls.push('receipt')
  }
}

class Either extends Workflow<null, Place> {
  static {
    this.named('either')
    this.fork(
      'one',
      { left: b => b.step('charge', { idempotent: false }), right: b => b.step('note', { wait: '1 hour' }) },
      { join: 'any' },
    )
    this.human('approve')
  }
  charge() {
    return sceneOf(this).pay('charge')
  }
  async note() {}
  async approve(_: Decision) {}
}

class Beside extends Workflow<null, Place> {
  static {
    this.named('beside')
    this.step('charge', { idempotent: false })
    this.task('note', { dependsOn: null })
    this.step('receipt', { dependsOn: ['charge', 'note'] })
  }
  charge() {
    return sceneOf(this).pay('charge')
  }
  async note() {}
  async receipt() {
    sceneOf(this).calls.push('receipt')
  }
}

/** What becomes of the payment in the next version: it may be called twice, is gone, or is the same with a step behind it. */
type Next = 'idempotent' | 'gone' | 'longer'

function payingVersion(name: string, next: Next | null): ConcreteClass<AnyWorkflow> {
  class Paying extends Workflow<null, Place> {
    static {
      this.named(name)
      if (next !== 'gone') this.step('charge', { idempotent: next === 'idempotent', wait: '1 hour' })
      this.step('receipt')
      // Something that waits for long, so that newer code heals the workflow without touching the payment.
      this.step('archive', { dependsOn: [], wait: '365 days' })
      if (next === 'longer') this.step('thank', { dependsOn: 'receipt' })
    }
    charge() {
      return sceneOf(this).pay('charge')
    }
    async receipt() {
      sceneOf(this).calls.push('receipt')
    }
    async archive() {}
    async thank() {}
  }
  return Paying as unknown as ConcreteClass<AnyWorkflow>
}

const chargeJob = defineJob('chargeJob', async ({ on }: Place & { amount: number }) => scenes[on].pay('job'))
const findJob = defineJob('findJob', async ({ on, amount }: Place & { amount: number }) => {
  scenes[on].calls.push(amount === 3 ? 'findJob' : 'other arguments')
  return scenes[on].answer
})
const afterJob = defineJob('afterJob', async ({ on }: Place) => {
  scenes[on].calls.push('after')
})

forEachDatabaseSideBySide('a step that is called once', database => {
  const jobs = [chargeJob, findJob, afterJob]
  const under = useGeneva(database, {
    workflows: [Payment, Reconciled, Hurried, Throwing, Sides, Either, Beside],
    jobs,
  })

  const input: Place = { on: database.name }
  const scene = scenes[database.name]
  const { calls } = scene

  beforeEach(() => {
    calls.length = 0
    scene.prepare()
  })

  /** The worker is told to stop while the step is in its call, and does not wait for it. */
  async function cutOff(): Promise<void> {
    const worker = await under.geneva.startWorker({ poll: 20, grace: 0 })
    await scene.begun.passed
    await worker.stop()
    scene.hangs = false
    scene.over.open()
  }

  it('and was cut off is left to a person, and never called again by itself', async () => {
    const wf = await under.geneva.start(Payment, { input })
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
    scene.answer = { happened: true, output: 9 }
    const wf = await under.geneva.start(Reconciled, { input })
    await cutOff()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge', 'findCharge', 'receipt'])
    expect(await wf.output('charge')).toBe(9)
    expect((await wf.history()).map(({ outcome }) => outcome)).toEqual(['unknown', 'resolved', 'success'])
  })

  it('and can say that the lost call did not happen is called then', async () => {
    scene.answer = { happened: false }
    const wf = await under.geneva.start(Reconciled, { input })
    await cutOff()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge', 'findCharge', 'charge', 'receipt'])
  })

  it('in a branch that a join could do without is waited for until a person has settled it', async () => {
    const wf = await under.geneva.start(Sides, { input })
    await cutOff()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    await wf.resolve('charge')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge', 'receipt'])
    const again = await under.geneva.start(Sides, { input })
    scene.prepare()
    await cutOff()
    await under.runDue()
    await again.resume()
    await under.runDue()
    expect((await again.refresh()).state).toBe('finished')
    expect(calls.filter(call => call === 'charge')).toHaveLength(3)
    expect((await under.geneva.doctor()).findings).toEqual([])
  })

  it('in a branch that a join goes on without holds nothing up any more', async () => {
    const wf = await under.geneva.start(Either, { input })
    await cutOff()
    expect((await wf.refresh()).state).toBe('ready')
    await under.setClock(3_600_000)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('ready')
    await wf.decide('approve', { decision: 'confirmed', by: 'ann' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge'])
    expect((await under.geneva.doctor()).findings).toEqual([])
    await under.setClock(0)
  })

  it('in a graph and was cut off as the last thing that went on pauses its workflow', async () => {
    const wf = await under.geneva.start(Beside, { input })
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
    const wf = await under.geneva.start(Throwing, { input })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect(calls).toEqual(['charge'])
  })

  /** Until it is told that the database is back, no mark is answered; `arrives`: they are made all the same. */
  async function awayForMarks({ arrives = false } = {}) {
    const store = await under.geneva.openedStore()
    const { markStarted } = store
    let tries = 0
    store.markStarted = async execution => {
      if (arrives) await markStarted.call(store, execution)
      tries++
      throw Object.assign(new Error('away'), { code: database.name === 'sqlite' ? 'SQLITE_BUSY' : 'ECONNRESET' })
    }
    const back = () => {
      store.markStarted = markStarted
    }
    return { tries: () => tries, back }
  }

  it('and meets a database that is away before the call waits for it, and has not failed', async () => {
    scene.hangs = false
    const away = await awayForMarks()
    const wf = await under.geneva.start(Payment, { input })
    const worker = await under.geneva.startWorker({ poll: 20 })
    await waitFor(() => away.tries() > 2)
    expect(calls).toEqual([])
    away.back()
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    await worker.stop()
    expect(calls).toEqual(['charge', 'receipt'])
    expect((await wf.history()).map(({ outcome }) => outcome)).toEqual(['success', 'success'])
  })

  it.each([false, true])(
    'and is told to stop while the database is away before the call is given back (its mark arrives: %s)',
    async arrives => {
      scene.hangs = false
      const away = await awayForMarks({ arrives })
      const wf = await under.geneva.start(Payment, { input })
      const worker = await under.geneva.startWorker({ poll: 20 })
      await waitFor(() => away.tries() > 0)
      await worker.stop()
      away.back()
      expect(calls).toEqual([])
      expect(await wf.currentExecutions()).toMatchObject([{ step: 'charge', attempt: 1, state: 'scheduled' }])
      await under.runDue()
      expect(calls).toEqual(['charge', 'receipt'])
    },
  )

  it('and is over its time while the database is away is not called afterwards', async () => {
    scene.hangs = false
    const away = await awayForMarks()
    const wf = await under.geneva.start(Hurried, { input })
    const worker = await under.geneva.startWorker({ poll: 20 })
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    away.back()
    await worker.stop()
    expect(calls).toEqual([])
    expect(await wf.history()).toMatchObject([{ step: 'charge', state: 'failed', outcome: 'timed_out' }])
    await wf.cancel()
  })

  it('is called by whoever takes it over when its worker died before the call', async () => {
    scene.hangs = false
    const wf = await under.geneva.start(Payment, { input })
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

  it('and has crashed to the limit is asked about before it is called once more, when a person lets it go on', async () => {
    scene.hangs = false
    scene.answer = { happened: true, output: 9 }
    const wf = await under.geneva.start(Reconciled, { input })
    const store = await under.geneva.openedStore()
    const sources = [{ queue: 'default', handler: 'reconciled', generation: 1 }]
    // Whoever takes it over serves another queue, so that the next claim is for another worker to be lost with.
    const other = await under.geneva.startWorker({ poll: 20, lease: 500, queues: ['elsewhere'] })
    for (const mark of ['turn', 'turn', true] as const) {
      const workerId = `lost ${database.name} ${Math.random()}`
      await store.registerWorker({ id: workerId, host: 'test', pid: 1, leaseMs: 1, handlers: ['reconciled'] })
      const [claimed] = await store.claim({ workerId, sources, limit: 1, workflowId: wf.id })
      await store.markStarted(claimed?.execution as ActiveExecution, mark)
      await waitFor(async () => (await wf.currentExecutions()).every(({ state }) => state !== 'in_progress'))
    }
    await other.stop()
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history()).map(({ outcome }) => outcome)).toEqual(['unknown'])
    await wf.resume()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['findCharge', 'receipt'])
    expect(await wf.output('charge')).toBe(9)
  })

  it.each([
    [true, ['job', 'findJob', 'after']],
    [false, ['job', 'findJob', 'job', 'after']],
  ])('in a stored graph is asked about by its own job (happened: %s)', async (happened, expected) => {
    scene.answer = { happened, output: 9 }
    const graph = under.geneva.build(w => {
      w.node('charge', { job: chargeJob, args: { amount: 3, ...input }, idempotent: false, reconcile: findJob })
      w.node('after', { job: afterJob, args: input })
    })
    const wf = await under.geneva.startGraph(graph)
    await cutOff()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(expected)
    expect(await wf.output('charge')).toBe(happened ? 9 : 7)
  })

  const hourMs = 3_600_000
  const setClock = async (geneva: Geneva, hours: number) =>
    (await geneva.openedStore()).setClockOffset(hours * hourMs + 60_000)

  /** A process with the next version is there when the worker of the first one falls silent in mid-call. */
  async function overtaken({ onTestFinished }: TestContext, next: Next, { healsFirst = false } = {}) {
    const name = `paying, then ${next}${healsFirst ? ', healed first' : ''}`
    const V1 = payingVersion(name, null)
    const old = under.another({ workflows: [V1] })
    const { id } = await old.start(V1 as ConcreteClass<Workflow<null, Place>>, { input })
    const V2 = payingVersion(name, next)
    const fresh = under.another({ workflows: [V2] })
    onTestFinished(async () => {
      scene.over.open()
      await Promise.all([old.close(), fresh.close()])
    })
    const wf = await fresh.find(id)
    if (healsFirst) {
      const worker = await fresh.startWorker(quickly)
      await waitFor(async () => (await wf?.events())?.some(event => event.type === 'workflow.healed') === true)
      await worker.stop()
    }
    await setClock(old, 1)
    await old.startWorker(quickly)
    await scene.begun.passed
    scene.hangs = false
    const store = await fresh.openedStore()
    const engine = new Engine(store, new Registry([V2]), new JobRegistry([]))
    await engine.register()
    const running = (await store.activeExecutions(id)).filter(({ state }) => state === 'in_progress')
    expect((await takeOver(engine, running)).failed).toEqual(new Map())
    await setClock(fresh, 3)
    await fresh.runDue(quickly)
    return wf
  }

  // Tests run side by side, so that each says by itself what is to be done when it has ended.
  it.for([
    ['may call it twice', 'idempotent', {}],
    ['does not have it', 'gone', {}],
    ['may call it twice, and has healed the workflow before the call', 'idempotent', { healsFirst: true }],
    ['is otherwise the same', 'longer', {}],
  ] as const)('and is lost in mid-call is not called by newer code that %s', async ([_, next, options], context) => {
    const wf = await overtaken(context, next, options)
    expect(calls).toEqual(['charge'])
    const charge = (await wf?.history())?.filter(({ step }) => step === 'charge')
    expect(charge?.map(({ state, outcome }) => [state, outcome])).toEqual([['failed', 'unknown']])
  })
})
