/**
 * Runs one claimed execution, records what it came to, and goes on with the next step of the same workflow while it may.
 */
import type { Engine } from '../engine/engine.ts'
import { executeStep, type StepRun } from '../engine/execute-step.ts'
import type { FinishResult } from '../engine/finish-steps.ts'
import type { StepReport } from '../engine/step-report.ts'
import { describeError } from '../primitives/describe-error.ts'
import type { ClaimedExecution } from '../store/records.ts'
import type { ErrorListener } from './error-listener.ts'
import type { Finisher } from './finisher.ts'
import type { RunningStep, RunningSteps } from './running-steps.ts'

export interface RunnerParts {
  readonly engine: Engine
  readonly running: RunningSteps
  readonly finisher: Finisher
  readonly onError: ErrorListener
  readonly maxOutputBytes: number
  /** Whether this worker may go on from the step with one of that queue at once. Keeps room for it if so. */
  keepRoom(step: RunningStep, queue: string): boolean
}

/** After so many steps in a row a workflow stands in line again, so that none keeps others waiting. */
const maxRunOn = 100

export class StepRunner {
  readonly #parts: RunnerParts
  /** Work that has survived a crash runs one at a time, so that it cannot take neighbours with it again. */
  #suspects: Promise<unknown> = Promise.resolve()
  #runsOn = true

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  /** From now on every workflow stops after the step that it is in. */
  stopRunningOn(): void {
    this.#runsOn = false
  }

  /** Never rejects: work that is left behind here is found by the next heartbeats and taken over. */
  async run(workerId: string, claimed: ClaimedExecution): Promise<void> {
    const step = this.#parts.running.add(claimed)
    try {
      if (claimed.execution.kind === 'timer') await this.#parts.engine.fireTimer(claimed.execution)
      else if (claimed.execution.crashes > 0) await this.#runAlone(workerId, step)
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
    await this.#finish(workerId, step, { kind: 'released' }, false)
  }

  /** Only the suspect step itself is alone; what follows it in its workflow is as good as any other. */
  async #runAlone(workerId: string, step: RunningStep): Promise<void> {
    const turn = this.#suspects.then(async () => {
      const mine = await this.#parts.engine.store.markStarted(step.claimed.execution)
      return mine && this.#runStep(workerId, step, true)
    })
    this.#suspects = turn.catch(() => {})
    if (await turn) await this.#runChain(workerId, step)
  }

  async #runChain(workerId: string, step: RunningStep): Promise<void> {
    let count = 1
    while (await this.#runStep(workerId, step, count < maxRunOn)) count++
  }

  /** True when the step has made room for the next one, which is this worker's to run. */
  async #runStep(workerId: string, step: RunningStep, mayRunOn: boolean): Promise<boolean> {
    const { claimed } = step
    const run = await this.#execute(step)
    // Released meanwhile: the claim is gone, and so is the right to report.
    if (step.reporting) return false
    step.reporting = true
    const result = await this.#record(workerId, step, run, mayRunOn)
    for (const error of run.errors) this.#parts.onError.report(error, claimed)
    if (result.kind === 'refused' || result.next === null) return false
    this.#parts.running.goOn(step, result.next)
    return true
  }

  async #execute(step: RunningStep): Promise<StepRun> {
    const { engine, maxOutputBytes } = this.#parts
    const { claimed, abort } = step
    return executeStep({
      claimed,
      definition: engine.registry.definitionFor(claimed.execution.handler),
      signal: abort.signal,
      maxOutputBytes,
      readOutput: (workflowId, node) => engine.store.findOutput(workflowId, node),
    })
  }

  /** A report that the database will never take becomes a failure of the step, which it will. */
  async #record(workerId: string, step: RunningStep, run: StepRun, mayRunOn: boolean): Promise<FinishResult> {
    try {
      return await this.#finish(workerId, step, run.report, mayRunOn)
    } catch (error) {
      const policy = { action: 'pause', waitMs: 0, limit: null, then: 'pause' } as const
      return this.#finish(workerId, step, { kind: 'threw', error: describeError(error), policy }, false)
    }
  }

  #finish(workerId: string, step: RunningStep, report: StepReport, mayRunOn: boolean): Promise<FinishResult> {
    const runOn =
      mayRunOn && this.#runsOn && !step.abort.signal.aborted
        ? { serves: (queue: string) => this.#parts.keepRoom(step, queue) }
        : null
    return this.#parts.finisher.finish(workerId, { claimed: step.claimed, report, runOn })
  }
}
