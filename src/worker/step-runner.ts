/**
 * Runs one claimed execution, records what it came to, and goes on with the next step of the same workflow while it may.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { childHost } from '../engine/child-host.ts'
import { jobOf } from '../engine/courses.ts'
import { lastChance } from '../engine/crash-limit.ts'
import type { Engine } from '../engine/engine.ts'
import { executeCompensation } from '../engine/execute-compensation.ts'
import { executeJob } from '../engine/execute-job.ts'
import { executeStep, type StepRun } from '../engine/execute-step.ts'
import { executeStored } from '../engine/execute-stored.ts'
import type { FinishResult } from '../engine/finish-request.ts'
import { messageReader } from '../engine/message-reader.ts'
import { timerHandler } from '../engine/plan.ts'
import { readOutputFor } from '../engine/read-output.ts'
import type { StepReport } from '../engine/step-report.ts'
import { StepTransaction } from '../engine/step-transaction.ts'
import type { AttemptSpan } from '../engine/tracing.ts'
import { undoByJob } from '../engine/undo-by-job.ts'
import { isCalledOnce } from '../engine/unknown-outcome.ts'
import { InvariantError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import type { ClaimedExecution, Progress } from '../store/records.ts'
import type { ErrorListener } from './error-listener.ts'
import type { Finisher, Report } from './finisher.ts'
import { iterationHost } from './iteration-host-of.ts'
import type { Lease } from './lease.ts'
import type { RunningStep, RunningSteps } from './running-steps.ts'
import { type SettledRun, settleTransaction } from './settle-transaction.ts'
import type { Strategies } from './strategies.ts'
import type { WorkerWatch } from './worker-watch.ts'

export interface RunnerParts {
  readonly engine: Engine
  readonly running: RunningSteps
  readonly finisher: Finisher
  readonly onError: ErrorListener
  readonly maxOutputBytes: number
  readonly lease: Lease
  readonly watch?: WorkerWatch | null
  readonly strategies: Strategies
  /** Whether this worker may go on from the step with one of that queue at once. Keeps room for it if so. */
  keepRoom(step: RunningStep, queue: string, handler: string): boolean
  /** The revision of the limits that this worker goes by. */
  revision?(): number
}

/** After so many steps in a row a workflow stands in line again, so that none keeps others waiting. */
const maxRunOn = 100
const longestAloneMs = 60_000

/** What is recorded of a run. */
interface Outcome {
  readonly report: StepReport
  readonly progress: Progress | null
  readonly emitted?: StepRun['emitted'] | undefined
}

export class StepRunner {
  readonly #parts: RunnerParts
  /** Work on its last chance runs one at a time, so that it cannot take neighbours with it again. */
  #suspects: Promise<unknown> = Promise.resolve()
  #runsOn = true
  #closed = false
  #maxItems: number | null = null

  constructor(parts: RunnerParts) {
    this.#parts = parts
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
    this.#maxItems = maxItems
  }

  /** Never rejects: work that is left behind here is found by the next heartbeats and taken over. */
  async run(workerId: string, claimed: ClaimedExecution): Promise<void> {
    const step = this.#parts.running.add(claimed)
    // Timers end what keeps others waiting, so they never stand in line.
    if (claimed.execution.kind === 'timer') await this.#perform(workerId, step)
    else await this.#parts.strategies.dispatch(() => this.#perform(workerId, step))
  }

  async #perform(workerId: string, step: RunningStep): Promise<void> {
    const { execution } = step.claimed
    try {
      if (execution.kind === 'timer') await this.#parts.engine.fireTimer(execution)
      else if (this.#closed) await this.release(workerId, step)
      else if (execution.crashes > 0) await this.#runMarked(workerId, step)
      else await this.#runChain(workerId, step)
    } catch (error) {
      this.#parts.onError.report(error, step.claimed)
    } finally {
      this.#parts.running.remove(step)
    }
  }

  /** Gives a step back unfinished. Its late result will be refused. */
  async release(workerId: string, step: RunningStep): Promise<void> {
    step.reporting = true
    await this.#finish(workerId, step, { report: { kind: 'released' }, progress: null }, false)
  }

  /**
   * A step that was taken over once runs like any other, but after a durable mark. On its last chance it runs alone among
   * its like, so that the one that ends the process is told from those that were only there: a resumable one only until
   * its first checkpoint, because it may go on for hours.
   */
  async #runMarked(workerId: string, step: RunningStep): Promise<void> {
    const { execution } = step.claimed
    const begin = async () => {
      const mine = await this.#parts.engine.store.markStarted(execution)
      return mine && this.#runStep(workerId, step, true)
    }
    const alone = isOnLastChance(step.claimed)
    const turn = alone ? this.#suspects.then(begin) : begin()
    // One that never ends keeps the others waiting for a while only.
    const bound = wait(longestAloneMs, undefined, { ref: false })
    if (alone) this.#suspects = Promise.race([turn.catch(() => {}), step.proven.reached, bound])
    if (await turn) await this.#runChain(workerId, step)
  }

  async #runChain(workerId: string, step: RunningStep): Promise<void> {
    let count = 1
    while (await this.#runStep(workerId, step, count < maxRunOn)) count++
  }

  /** True when the step has made room for the next one, which is this worker's to run. */
  async #runStep(workerId: string, step: RunningStep, mayRunOn: boolean): Promise<boolean> {
    const { claimed } = step
    if (isOutdated(this.#parts.engine, claimed)) {
      await this.release(workerId, step)
      return false
    }
    const span = this.#parts.engine.tracing?.attempt(claimed) ?? null
    if (span === null) return this.#runTraced(workerId, step, mayRunOn, null)
    try {
      return await this.#runTraced(workerId, step, mayRunOn, span)
    } catch (error) {
      span.abandon(error)
      throw error
    }
  }

  async #runTraced(workerId: string, step: RunningStep, mayRunOn: boolean, span: AttemptSpan | null): Promise<boolean> {
    const { claimed } = step
    const perform = () => this.#executeThrough(workerId, step, mayRunOn)
    const { run, result: committed } = await (span === null ? perform() : span.run(perform))
    // Released meanwhile: the claim is gone, and so is the right to report.
    if (step.reporting && committed === null) {
      span?.end({ report: { kind: 'released' }, errors: [], recorded: false })
      return false
    }
    step.reporting = true
    const report = reportOf(step, run)
    const asked = this.#parts.strategies.reenqueue(report)
    const outcome = { report: asked, progress: run.progress, emitted: run.emitted }
    const result = committed ?? (await this.#record(workerId, step, outcome, mayRunOn))
    span?.end({ report, errors: report === run.report ? run.errors : [], recorded: result.kind === 'recorded' })
    if (result.kind === 'refused') this.#parts.watch?.tell({ kind: 'claim lost', workerId, claimed })
    if (report === run.report) for (const error of run.errors) this.#parts.onError.report(error, claimed)
    if (result.kind === 'refused' || result.next === null) return false
    this.#parts.running.goOn(step, result.next)
    return true
  }

  /** What ran in a transaction is recorded in it. */
  async #executeThrough(workerId: string, step: RunningStep, mayRunOn: boolean): Promise<SettledRun> {
    const { engine } = this.#parts
    const execute = (transaction: StepTransaction) => this.#execute(step, transaction)
    const transaction = new StepTransaction(engine, step.claimed)
    const run = await execute(transaction)
    if (!transaction.hasBegun) {
      transaction.close()
      return { run, result: null }
    }
    const requestFor = (done: StepRun) => {
      const report = reportOf(step, done)
      const outcome = { report, progress: done.progress, emitted: done.emitted }
      return isCommitted(report) ? this.#request(step, outcome, mayRunOn) : null
    }
    return settleTransaction({ engine, workerId, step, execute, requestFor }, run, transaction)
  }

  async #execute(step: RunningStep, transaction: StepTransaction): Promise<StepRun> {
    const { engine, maxOutputBytes } = this.#parts
    const { claimed, abort } = step
    const { workflow, execution } = claimed
    const course = engine.courses.known(workflow) ?? (await engine.courses.of([workflow])).get(workflow.id)
    if (course === undefined) throw new InvariantError(`The graph of workflow ${workflow.id} is not known.`)
    const shared = {
      claimed,
      signal: abort.signal,
      maxOutputBytes,
      transaction,
      readOutput: (node: string) => readOutputFor(engine.store, course.graph, claimed, node),
      mayBegin: () => this.#mayBegin(step, isCalledOnce(course.graph, execution)),
      timeOut: () => abort.abort('timed out'),
      beforeCall: () => this.#parts.strategies.beforeCall(claimed, course.graph),
    }
    if (execution.handler === timerHandler)
      return executeStored({ ...shared, frozen: course.frozen, graph: course.graph })
    const readUndone = (id: string) => engine.store.findEnded(id)
    const job = jobOf(execution.handler)
    if (job !== null && course.frozen !== null) {
      const asked = course.frozen.nodes[execution.node]?.once?.job
      const reconcileJob = asked === undefined ? null : engine.jobs.find(asked)
      const work = { ...shared, frozen: course.frozen, job: engine.jobs.find(job), reconcileJob }
      return execution.kind === 'compensate' ? undoByJob({ ...work, readUndone }) : executeJob(work)
    }
    const methods = {
      ...shared,
      definition: engine.registry.definitionFor(execution.handler),
      children: childHost(engine, { workflowId: workflow.id, node: execution.node }, maxOutputBytes),
      host: iterationHost(engine, step, this.#maxItems),
      messages: messageReader(engine.store, claimed),
    }
    if (execution.kind !== 'compensate') return executeStep(methods)
    return executeCompensation({ ...methods, readUndone })
  }

  /** What is called once is marked before that, so that a call which is lost can be told from one that never was. */
  #mayBegin(step: RunningStep, once: boolean): boolean | Promise<boolean> {
    const { lease, engine } = this.#parts
    if (once) {
      return Promise.resolve(this.#mayBegin(step, false)).then(
        may => may && engine.store.markStarted(step.claimed.execution),
      )
    }
    // The answer to a claim may come so late that the lease it was made under is lost, and another one holds.
    const mine = () => !isInterrupted(step) && step.claimed.execution.owner === lease.workerId
    if (!mine()) return false
    return lease.healthy || lease.confirm().then(confirmed => confirmed && mine())
  }

  /** A report that the database will never take becomes a failure of the step, which it will. */
  async #record(workerId: string, step: RunningStep, run: Outcome, mayRunOn: boolean): Promise<FinishResult> {
    try {
      return await this.#finish(workerId, step, run, mayRunOn)
    } catch (error) {
      const policy = { action: 'pause', waitMs: 0, limit: null, then: 'pause' } as const
      const report = { kind: 'threw', error: describeError(error), policy, retryMs: null } as const
      // Not the progress of this run, which may be what was not taken: the last that was written stays.
      return this.#finish(workerId, step, { report, progress: null }, false)
    }
  }

  #finish(workerId: string, step: RunningStep, run: Outcome, mayRunOn: boolean): Promise<FinishResult> {
    return this.#parts.finisher.finish(workerId, this.#request(step, run, mayRunOn))
  }

  #request(step: RunningStep, run: Outcome, mayRunOn: boolean): Report {
    const runOn =
      mayRunOn && this.#runsOn && !step.abort.signal.aborted
        ? {
            serves: (queue: string, handler: string) => this.#parts.keepRoom(step, queue, handler),
            revision: this.#parts.revision?.() ?? 0,
          }
        : null
    const { report, progress, emitted = [] } = run
    return { claimed: step.claimed, report, progress, emitted, runOn }
  }
}

/** The code has changed since the workflow was last touched: perhaps something comes before this step now. Giving it back heals. */
function isOutdated({ courses }: Engine, { workflow }: ClaimedExecution): boolean {
  return workflow.frozen === null && workflow.generation < courses.generationOf(workflow.type)
}

/** One more crash, and the step is given up. */
export function isOnLastChance({ execution }: ClaimedExecution): boolean {
  return execution.crashes >= lastChance
}

/** A step that gave up because it was told to has not failed: it is given back, if it is still ours to give. */
function reportOf(step: RunningStep, run: StepRun): StepReport {
  if (run.report === null || (run.report.kind === 'threw' && isInterrupted(step))) return { kind: 'released' }
  return run.report
}

/** What threw, or was given back, has not done what it has begun. */
function isCommitted({ kind }: StepReport): boolean {
  return kind !== 'threw' && kind !== 'released'
}

/** It should stop here, and go on elsewhere. A canceled step should stop too, but for good. */
function isInterrupted({ abort }: RunningStep): boolean {
  return abort.signal.reason === 'claim lost' || abort.signal.reason === 'shutting down'
}
