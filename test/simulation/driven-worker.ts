/**
 * A worker that does nothing by itself: it claims, reports, dies and takes over when it is told to. Everything below its
 * loop is the real thing: claims, leases, the running of steps, groups of reports, fences.
 */

import { jobHandler, typesOf } from '../../src/engine/courses.ts'
import { lastChance } from '../../src/engine/crash-limit.ts'
import type { Engine } from '../../src/engine/engine.ts'
import type { Opening } from '../../src/engine/openings.ts'
import { timerHandler, timerQueue } from '../../src/engine/plan.ts'
import { failureOf, noLeftovers, recover } from '../../src/engine/take-over.ts'
import { isGenevaError } from '../../src/index.ts'
import type { ClaimedExecution } from '../../src/store/records.ts'
import type { ClaimSource } from '../../src/store/store.ts'
import { ErrorListener } from '../../src/worker/error-listener.ts'
import { Finisher } from '../../src/worker/finisher.ts'
import { Lease } from '../../src/worker/lease.ts'
import type { RunningStep } from '../../src/worker/running-step.ts'
import { RunningSteps } from '../../src/worker/running-steps.ts'
import { isOnLastChance, StepRunner } from '../../src/worker/step-runner.ts'
import { productionStrategies } from '../../src/worker/strategies.ts'
import { workerSettings } from '../../src/worker/worker-options.ts'
import type { Act } from './random-graph.ts'
import { type Call, StagedError, type Visitor, visitors } from './stage.ts'

/** A claim and what follows from it by running on: at a gate, or over. */
export class Run implements Visitor {
  readonly worker: DrivenWorker
  /** Where it stands; `null` while it is on its way, and when it is over. */
  call: Call | null = null
  #over = false
  #arrived: () => void = () => {}
  #arrival: Promise<void>

  constructor(worker: DrivenWorker) {
    this.worker = worker
    this.#arrival = this.#nextArrival()
  }

  get isOver(): boolean {
    return this.#over
  }

  entered(call: Call): void {
    this.call = call
    this.#arrived()
  }

  ended(): void {
    this.#over = true
    this.#arrived()
  }

  /** Opens the gate. `arrival` then tells when it stands at the next one, or is over. */
  open(act: Act): void {
    const { call } = this
    if (call === null) throw new Error('There is no call at the gate.')
    this.call = null
    this.#arrival = this.#nextArrival()
    call.open(act)
  }

  arrival(): Promise<void> {
    return this.#arrival
  }

  #nextArrival(): Promise<void> {
    return new Promise(resolve => {
      this.#arrived = resolve
    })
  }
}

/** Knows for every step whose it is. */
class VisitedSteps extends RunningSteps {
  readonly #visitors = new WeakMap<RunningStep, Visitor>()
  #visitor: Visitor | null = null

  /** What is added before the call returns is the visitor's. */
  as<T>(visitor: Visitor, call: () => T): T {
    this.#visitor = visitor
    try {
      return call()
    } finally {
      this.#visitor = null
    }
  }

  override add(claimed: ClaimedExecution): RunningStep {
    const step = super.add(claimed)
    if (this.#visitor !== null) this.#visitors.set(step, this.#visitor)
    this.#enter(step)
    return step
  }

  override goOn(step: RunningStep, next: ClaimedExecution): void {
    this.#leave(step)
    super.goOn(step, next)
    this.#enter(step)
  }

  override remove(step: RunningStep): void {
    this.#leave(step)
    super.remove(step)
  }

  #enter(step: RunningStep): void {
    const visitor = this.#visitors.get(step)
    if (visitor !== undefined) visitors.set(step.claimed.execution.id, visitor)
  }

  /** A row that was given back may be another worker's by now. */
  #leave(step: RunningStep): void {
    const { id } = step.claimed.execution
    if (visitors.get(id) === this.#visitors.get(step)) visitors.delete(id)
  }
}

const leaseMs = 3_600_000
const manyRows = 100

export class DrivenWorker {
  readonly name: string
  readonly #engine: Engine
  readonly #running = new VisitedSteps()
  readonly #lease: Lease
  readonly #runner: StepRunner
  /** Nobody hears of it any more, but its code runs on. */
  isDead = false
  /** Whether it may go on with the next step at once. */
  mayRunOn = false
  #begun: Run[] = []
  readonly runs: Run[] = []
  /** What went wrong beside what the nodes throw. */
  readonly errors: unknown[] = []

  constructor(name: string, engine: Engine) {
    this.name = name
    this.#engine = engine
    const settings = workerSettings({ lease: leaseMs })
    const { store } = engine
    this.#lease = new Lease({
      ...{ store, running: this.#running, settings, handlers: this.#handlers() },
      serves: { queues: [], generations: {} },
      onOrphans: async () => {},
    })
    this.#runner = new StepRunner({
      engine,
      running: this.#running,
      // A connection breaks once, so there is nothing to wait for.
      finisher: new Finisher(engine, { longestRestMs: 0 }),
      onError: new ErrorListener(error => this.#heard(error)),
      maxInputBytes: 1000,
      maxOutputBytes: 1000,
      lease: this.#lease,
      strategies: productionStrategies,
      keepRoom: (step: RunningStep, queue: string) => this.mayRunOn && this.#running.keepRoom(step, queue, null),
      keepPlace: () => (this.mayRunOn ? this.#place() : null),
    })
  }

  #heard(error: unknown): void {
    // Time may be over for what waits.
    if (!(error instanceof StagedError) && !isGenevaError(error, 'NOTHING_CAME')) this.errors.push(error)
  }

  get id(): string {
    return this.#lease.workerId
  }

  async begin(): Promise<void> {
    await this.#lease.begin()
  }

  /** Claims all that is due in a queue and runs it up to the gates. */
  async claim(queue: string, workflowId: string, handlers = this.#handlers()): Promise<Run[]> {
    const sources = handlers.map(handler => this.#source(queue, handler))
    const take = this.#running.all().some(step => isOnLastChance(step.claimed)) ? 0 : 1
    const claimed = await this.#engine.store.claim({
      ...{ workerId: this.id, sources, limit: manyRows, workflowId },
      crashed: { times: lastChance, take },
    })
    const runs = claimed.map(execution => this.#run(execution))
    await Promise.all(runs.map(run => run.arrival()))
    return runs
  }

  /** Fires the timers of the workflow that are due. */
  async fireTimers(workflowId: string): Promise<number> {
    const sources = [{ queue: timerQueue, handler: timerHandler, generation: Number.MAX_SAFE_INTEGER }]
    const claimed = await this.#engine.store.claim({ workerId: this.id, sources, limit: manyRows, workflowId })
    for (const timer of claimed) await this.#run(timer).arrival()
    return claimed.length
  }

  /** There is always room. */
  #place(): Opening {
    const begin = (claimed: ClaimedExecution) => void this.#begun.push(this.#run(claimed))
    return { workerId: this.id, revision: 0, begin, giveUp() {} }
  }

  /** What has begun beside the step that a report goes on with, at the gates. */
  async takeBegun(): Promise<Run[]> {
    const runs = this.#begun
    this.#begun = []
    await Promise.all(runs.map(run => run.arrival()))
    return runs
  }

  #run(claimed: ClaimedExecution): Run {
    const run = new Run(this)
    this.runs.push(run)
    void this.#running.as(run, () => this.#runner.run(this.id, claimed)).then(() => run.ended())
    return run
  }

  async recover(): Promise<number> {
    const left = noLeftovers()
    const found = await recover(this.#engine, this.#handlers(), manyRows, left)
    const failure = failureOf(left)
    if (failure !== null) throw failure
    return found
  }

  /** It falls silent: its lease lapses, or somebody has seen it go. Its steps stay where they are. */
  async die(how: 'lapses' | 'retires'): Promise<void> {
    this.isDead = true
    if (how === 'lapses') await this.#engine.store.heartbeat(this.id, -1000)
    else await this.#engine.store.retireWorker(this.id)
  }

  /** Gives back what it runs, and leaves. */
  async shutDown(): Promise<void> {
    this.isDead = true
    await Promise.all(this.#running.all().map(step => this.#runner.release(this.id, step)))
    await this.#engine.store.retireWorker(this.id)
  }

  /** Ends its heartbeat. Its runs must be over. */
  async end(): Promise<void> {
    await this.#lease.end()
  }

  #source(queue: string, handler: string): ClaimSource {
    return { queue, handler, generation: this.#engine.courses.generationOf(handler) }
  }

  #handlers(): string[] {
    const { registry, jobs } = this.#engine
    return [timerHandler, ...registry.definitions.flatMap(typesOf), ...jobs.names.map(jobHandler)]
  }
}
