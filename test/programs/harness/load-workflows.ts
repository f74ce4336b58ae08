/**
 * The workflows of the crash tests. Each body first writes itself into the journal; what surrounds a body (journal, time
 * to take, channel to the test) is set by the process that runs it, and is nothing in a process that only starts them.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type AnyWorkflow, defineSchedule, type Schedule, Workflow } from '../../../src/index.ts'

export interface Surroundings {
  /** Writes down that a body begins. */
  begin(workflow: AnyWorkflow): Promise<void>
  /** How long a step of the load takes, at least and at most. */
  readonly bodyMs: readonly [number, number]
  tell(message: object): void
}

let around: Surroundings = { begin: async () => {}, bodyMs: [0, 0], tell: () => {} }

export function surround(surroundings: Surroundings): void {
  around = surroundings
}

async function work(workflow: AnyWorkflow): Promise<void> {
  await around.begin(workflow)
  const [least, most] = around.bodyMs
  await pause(least + Math.random() * (most - least))
}

/** The load: a wait in the middle, so that rows are claimed as well as run on, and an output that must survive. */
export class FiveSteps extends Workflow {
  static {
    this.step('reserve')
    this.step('charge')
    this.step('pack', { wait: '30ms' })
    this.step('ship')
    this.step('close')
  }
  async reserve() {
    await work(this)
    return { token: `token of ${this.id}` }
  }
  async charge() {
    await work(this)
  }
  async pack() {
    await work(this)
  }
  async ship() {
    await work(this)
  }
  async close() {
    await work(this)
    const { token } = await this.output(this.reserve)
    if (token !== `token of ${this.id}`) throw new Error(`Step reserve returned ${token}.`)
    return token
  }
}

export const stepsOfLoad = ['reserve', 'charge', 'pack', 'ship', 'close'] as const

/** The same as a graph: two branches that begin together, and what waits for both. */
export class TwoBranches extends Workflow {
  static {
    this.task('order')
    this.task('pick', { dependsOn: 'order' })
    this.task('wrap', { dependsOn: 'pick' })
    this.task('bill', { dependsOn: 'order' })
    this.task('send', { dependsOn: ['wrap', 'bill'] })
  }
  async order() {
    await work(this)
  }
  async pick() {
    await work(this)
  }
  async wrap() {
    await work(this)
  }
  async bill() {
    await work(this)
  }
  async send() {
    await work(this)
  }
}

/** One step that takes as long as it is told, and tells when it begins and what its signal says at the end. */
export class LongStep extends Workflow<null, { ms: number; onAbort: 'throw' | 'ignore' }> {
  static {
    this.step('linger')
    this.step('after')
  }
  async linger() {
    const { id, execution, signal, input } = this
    await around.begin(this)
    around.tell({ began: id, attempt: execution.attempt, key: execution.idempotencyKey })
    await pause(input.ms, null, input.onAbort === 'throw' ? { signal } : {}).finally(() =>
      around.tell({ left: id, attempt: execution.attempt, reason: signal.aborted ? signal.reason : null }),
    )
    return execution.attempt
  }
  async after() {
    await around.begin(this)
  }
}

/** A step that ends its own process, at once, however often it is tried. */
export class Killer extends Workflow {
  static {
    this.step('prepare')
    this.step('shoot')
    this.step('never')
  }
  async prepare() {
    await around.begin(this)
  }
  async shoot() {
    await around.begin(this)
    process.kill(process.pid, 'SIGKILL')
    await pause(60_000)
  }
  async never() {
    await around.begin(this)
  }
}

/** A step that is called once and never gets that far: what is asked before its call ends the process. */
export class EarlyKiller extends Workflow {
  static {
    this.step('shoot', {
      idempotent: false,
      if: () => {
        process.kill(process.pid, 'SIGKILL')
        return pause(60_000, true)
      },
    })
  }
  async shoot() {
    await around.begin(this)
  }
}

/** A step that keeps the event loop from turning, as a long computation does. */
export class Blocker extends Workflow<null, { ms: number }> {
  static {
    this.jobOptions({ priority: 50 })
    this.step('block')
  }
  block() {
    if (this.execution.attempt > 1) return
    around.tell({ blocking: this.id })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, this.input.ms)
    around.tell({ went: this.id })
  }
}

/** What a schedule starts: it carries its tick, for the auditor. */
export class Beat extends Workflow<null, { tick: number }> {
  static {
    this.step('mark')
  }
  async mark() {
    await around.begin(this)
  }
}

/** No tick may be left out, however long nobody was there. */
export function beatEvery(everyMs: number): Schedule {
  return defineSchedule('beat', {
    every: everyMs,
    catchUp: 'all',
    workflow: Beat,
    start: ({ at }) => ({ input: { tick: at.getTime() } }),
  })
}

export const loadWorkflows = [FiveSteps, TwoBranches, LongStep, Killer, EarlyKiller, Blocker, Beat] as const
