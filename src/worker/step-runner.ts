/**
 * Runs one claimed execution, records what it came to, and goes on with the next step of the same workflow while it may.
 */

import { setTimeout as wait } from 'node:timers/promises'
import type { Course } from '../engine/courses.ts'
import { lastChance } from '../engine/crash-limit.ts'
import type { Engine } from '../engine/engine.ts'
import type { StepRun } from '../engine/execute-step.ts'
import type { FinishResult, ReportedProgress } from '../engine/finish-request.ts'
import type { Opening } from '../engine/openings.ts'
import { timerQueue } from '../engine/plan.ts'
import type { StepReport } from '../engine/step-report.ts'
import type { StepTransaction } from '../engine/step-transaction.ts'
import type { AttemptSpan } from '../engine/tracing.ts'
import { describeError } from '../primitives/describe-error.ts'
import type { ClaimedExecution } from '../store/records.ts'
import type { ErrorListener } from './error-listener.ts'
import type { Finisher, Report } from './finisher.ts'
import type { Lease } from './lease.ts'
import { patiently } from './patiently.ts'
import type { RunningStep } from './running-step.ts'
import type { RunningSteps } from './running-steps.ts'
import { type SettledRun, settleTransaction } from './settle-transaction.ts'
import { type CallParts, callFor, isInterrupted } from './step-call.ts'
import type { Strategies } from './strategies.ts'
import type { WorkerWatch } from './worker-watch.ts'

export interface RunnerParts {
  readonly engine: Engine
  readonly running: RunningSteps
  readonly finisher: Finisher
  readonly onError: ErrorListener
  readonly maxInputBytes: number
  readonly maxOutputBytes: number
  readonly lease: Lease
  readonly watch?: WorkerWatch | null
  readonly strategies: Strategies
  /** Whether this worker may go on from the step with one of that queue at once. Keeps room for it if so. */
  keepRoom(step: RunningStep, queue: string, handler: string): boolean
  /** A place for another step, where there is room and nobody comes first. */
  keepPlace(queue: string, handler: string): Opening | null
  /** The revision of the limits that this worker goes by. */
  revision?(): number
}

/** After so many steps in a row a workflow stands in line again, so that none keeps others waiting. */
const maxRunOn = 100
const longestAloneMs = 60_000

/** What is recorded of a run. */
interface Outcome {
  readonly report: StepReport
  readonly progress: ReportedProgress
  readonly emitted?: StepRun['emitted'] | undefined
}

/** One attempt at a step. */
interface OneRun {
  readonly workerId: string
  readonly step: RunningStep
  /** It may be followed by the next step at once. */
  readonly mayRunOn: boolean
  readonly span: AttemptSpan | null
}

interface Reported {
  readonly run: StepRun
  /** What is said of it, which is not always what it came to. */
  readonly report: StepReport
}

export class StepRunner {
  readonly #parts: RunnerParts
  /** Work on its last chance runs one at a time, so that it cannot take neighbours with it again. */
  #suspects: Promise<unknown> = Promise.resolve()
  #runsOn = true
  #closed = false
  #callParts: CallParts

  constructor(parts: RunnerParts) {
    this.#parts = parts
    const { engine, lease, strategies, maxInputBytes, maxOutputBytes } = parts
    this.#callParts = { engine, lease, strategies, maxInputBytes, maxOutputBytes, maxItems: null }
  }

  /** From now on every workflow stops after the step that it is in. */
  stopRunningOn(): void {
    this.#runsOn = false
  }

  /** From now on nothing begins: what a claim under way still brings is given back. */
  close(): void {
    this.#closed = true
    this.#runsOn = false
  }

  /** From now on no run of a resumable step gets further than so many items. */
  limitItems(maxItems: number): void {
    this.#callParts = { ...this.#callParts, maxItems }
  }

  /** Never rejects: work that is left behind here is found by the next heartbeats and taken over. */
  run(workerId: string, claimed: ClaimedExecution): Promise<void> {
    if (this.#parts.running.wasAdopted(claimed.execution)) return Promise.resolve()
    const step = this.#parts.running.add(claimed)
    // Timers end what keeps others waiting, so they never stand in line.
    if (claimed.execution.kind === 'timer') return this.#perform(workerId, step)
    return this.#parts.strategies.dispatch(() => this.#perform(workerId, step))
  }

  async #perform(workerId: string, step: RunningStep): Promise<void> {
    const { execution } = step.claimed
    try {
      if (execution.kind === 'timer') await this.#parts.engine.fireTimer(execution)
      else if (this.#closed) await this.release(workerId, step)
      else if (execution.crashes > 0) await this.#runMarked(workerId, step)
      else await this.#runChain(workerId, step)
    } catch (error) {
      // A timer whose workflow is locked is taken up again by the heartbeat, like what was forgotten.
      const isHeldUp = execution.kind === 'timer' && this.#parts.engine.store.isTransient(error)
      if (!isHeldUp) this.#parts.onError.report(error, step.claimed)
    } finally {
      this.#parts.running.remove(step)
    }
  }

  /** Gives a step back unfinished. Its late result will be refused. */
  async release(workerId: string, step: RunningStep): Promise<void> {
    step.reporting = true
    await this.#finish(workerId, step, { report: givenBack(step), progress: null }, false)
  }

  /**
   * A step that was taken over once runs like any other, but after a durable mark. On its last chance it runs alone among
   * its like, so that the one that ends the process is told from those that were only there: a resumable one only until
   * its first checkpoint, because it may go on for hours.
   */
  async #runMarked(workerId: string, step: RunningStep): Promise<void> {
    const { execution } = step.claimed
    const begin = async () => {
      const { store } = this.#parts.engine
      const mine = await patiently(step, store, () => store.markStarted(execution, 'turn'))
      if (mine === null) await this.release(workerId, step)
      return mine === true && this.#runStep(workerId, step, true)
    }
    const alone = isOnLastChance(step.claimed)
    const turn = alone ? this.#suspects.then(begin) : begin()
    // One that never ends keeps the others waiting for a while only.
    const bound = wait(longestAloneMs, undefined, { ref: false })
    if (alone) this.#suspects = Promise.race([turn.catch(() => {}), step.proven, bound])
    if (await turn) await this.#runChain(workerId, step)
  }

  async #runChain(workerId: string, step: RunningStep): Promise<void> {
    let count = 1
    while (await this.#runStep(workerId, step, count < maxRunOn)) count++
  }

  /** True when the step has made room for the next one, which is this worker's to run. */
  #runStep(workerId: string, step: RunningStep, mayRunOn: boolean): Promise<boolean> {
    const { claimed } = step
    const { engine } = this.#parts
    if (isOutdated(engine, claimed)) return this.release(workerId, step).then(() => false)
    const span = engine.tracing?.attempt(claimed) ?? null
    const run = { workerId, step, mayRunOn, span }
    return span === null ? this.#runOnce(run) : this.#runTraced(run, span)
  }

  async #runTraced(run: OneRun, span: AttemptSpan): Promise<boolean> {
    try {
      return await this.#runOnce(run)
    } catch (error) {
      span.abandon(error)
      throw error
    }
  }

  async #runOnce(one: OneRun): Promise<boolean> {
    const { step, span } = one
    const { claimed } = step
    const { courses } = this.#parts.engine
    const course = courses.known(claimed.workflow) ?? (await courses.one(claimed.workflow))
    const call = callFor(this.#callParts, step, course)
    let run = await (span === null ? call.run() : span.run(() => call.run()))
    let committed: FinishResult | null = null
    const transaction = call.end()
    if (transaction !== null) ({ run, result: committed } = await this.#settle(one, course, run, transaction))
    // Released meanwhile: the claim is gone, and so is the right to report.
    if (step.reporting && committed === null) {
      span?.end({ report: { kind: 'released' }, errors: [], recorded: false })
      return false
    }
    step.reporting = true
    return this.#goOn(one, run, committed)
  }

  /** Records what the step came to, unless that is done, and takes up what follows. */
  #goOn(one: OneRun, run: StepRun, done: FinishResult | null): boolean | Promise<boolean> {
    const report = reportOf(one.step, run)
    if (done !== null) return this.#takeUp(one, { run, report }, done)
    const outcome = { report: this.#parts.strategies.reenqueue(report), progress: run.progress, emitted: run.emitted }
    return this.#record(one, outcome).then(result => this.#takeUp(one, { run, report }, result))
  }

  #takeUp({ workerId, step, span }: OneRun, { run, report }: Reported, result: FinishResult): boolean {
    const { running, watch, onError } = this.#parts
    const { claimed } = step
    span?.end({ report, errors: report === run.report ? run.errors : [], recorded: result.kind === 'recorded' })
    if (result.kind === 'refused') watch?.tell({ kind: 'claim lost', workerId, claimed })
    if (report === run.report) for (const error of run.errors) onError.report(error, claimed)
    if (result.kind === 'refused') return false
    for (const also of result.also) this.#begin(step, also)
    if (result.next === null || running.wasAdopted(result.next.execution)) return false
    running.goOn(step, result.next)
    return true
  }

  /** In the place that was kept for it. An answer that came late may find none, but the row is this worker's all the same. */
  #begin({ places }: RunningStep, claimed: ClaimedExecution): void {
    const place = places.pop()
    if (place === undefined) void this.run(claimed.execution.owner ?? '', claimed)
    else place.begin(claimed)
  }

  /** What ran in a transaction is recorded in it. */
  #settle(one: OneRun, course: Course, run: StepRun, transaction: StepTransaction): Promise<SettledRun> {
    const { step, workerId, mayRunOn, span } = one
    const execute = (another: StepTransaction) => {
      const call = callFor(this.#callParts, step, course, another)
      return span === null ? call.run() : span.run(() => call.run())
    }
    const requestFor = (done: StepRun) => {
      const report = reportOf(step, done)
      const outcome = { report, progress: done.progress, emitted: done.emitted }
      return isCommitted(report) ? this.#request(step, outcome, mayRunOn) : null
    }
    return settleTransaction({ engine: this.#parts.engine, workerId, step, execute, requestFor }, run, transaction)
  }

  /** A report that the database will never take becomes a failure of the step, which it will. */
  #record({ workerId, step, mayRunOn }: OneRun, run: Outcome): Promise<FinishResult> {
    return this.#finish(workerId, step, run, mayRunOn).catch(error => {
      const policy = { action: 'pause', waitMs: 0, limit: null, then: 'pause' } as const
      const report = { kind: 'threw', error: describeError(error), policy, retryMs: null } as const
      // Not the progress of this run, which may be what was not taken: the last that was written stays.
      const progress = run.progress === null ? null : 'as written'
      return this.#finish(workerId, step, { report, progress }, false)
    })
  }

  #finish(workerId: string, step: RunningStep, run: Outcome, mayRunOn: boolean): Promise<FinishResult> {
    return this.#parts.finisher.finish(workerId, this.#request(step, run, mayRunOn))
  }

  #request(step: RunningStep, run: Outcome, mayRunOn: boolean): Report {
    const runOn = mayRunOn && this.#runsOn && step.stopReason === null ? new RunsOn(this.#parts, step) : null
    const { report, progress, emitted = nothing } = run
    return { claimed: step.claimed, report, progress, emitted, runOn }
  }
}

const nothing: NonNullable<StepRun['emitted']> = []

/** The workflow may go on in the place of the step, if this worker takes what follows. */
class RunsOn {
  readonly revision: number
  readonly #parts: RunnerParts
  readonly #step: RunningStep

  constructor(parts: RunnerParts, step: RunningStep) {
    this.#parts = parts
    this.#step = step
    this.revision = parts.revision?.() ?? 0
  }

  serves(queue: string, handler: string): boolean {
    return this.#parts.keepRoom(this.#step, queue, handler)
  }

  servesAlso(queue: string, handler: string): boolean {
    // Nodes without code take no room of steps, and have claims of their own.
    const place = queue === timerQueue ? null : this.#parts.keepPlace(queue, handler)
    if (place !== null) this.#step.places.push(place)
    return place !== null
  }
}

/**
 * The code has changed since the workflow was last touched: perhaps something comes before this step now. Giving it back heals,
 * but nothing comes before what undoes a step, and a workflow that is being undone, or has ended, is not healed.
 */
function isOutdated({ courses }: Engine, { workflow, execution }: ClaimedExecution): boolean {
  if (execution.kind === 'compensate') return false
  return workflow.frozen === null && workflow.generation < courses.generationOf(workflow.type)
}

/** One more crash, and the step is given up. */
export function isOnLastChance({ execution }: ClaimedExecution): boolean {
  return execution.crashes >= lastChance
}

/** A step that gave up because it was told to has not failed: it is given back, if it is still ours to give. */
function reportOf(step: RunningStep, run: StepRun): StepReport {
  const { report } = run
  if (report === null) return { kind: 'released', called: false }
  if (report.kind !== 'threw') return report
  return isInterrupted(step) ? givenBack(step) : threwIn(step, report)
}

/** What was not called is known not to have happened, also if its time was over by then. */
function threwIn({ called }: RunningStep, report: Extract<StepReport, { kind: 'threw' }>): StepReport {
  if (called || !report.unknown) return report
  const { unknown: _, ...known } = report
  return known
}

function givenBack({ called }: RunningStep): StepReport {
  return { kind: 'released', called }
}

/** What threw, or was given back, has not done what it has begun. */
function isCommitted({ kind }: StepReport): boolean {
  return kind !== 'threw' && kind !== 'released'
}
