/**
 * Drives workflows in a test: the store, the engine and the worker are the real ones, and only the clock belongs to the
 * test. Nothing runs unless the test says so.
 */
import type { Execution } from '../client/execution.ts'
import type { Geneva } from '../client/geneva.ts'
import type { WorkflowHandle } from '../client/workflow-handle.ts'
import type { Graph } from '../definition/graph.ts'
import type { StepName } from '../definition/step-names.ts'
import type { AnyWorkflow } from '../definition/workflow.ts'
import { deadlineSlot, waitSlotPrefix } from '../engine/plan.ts'
import { InvalidArgumentError, StepLimitError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { pauseFor } from '../primitives/pause-for.ts'
import type { WorkflowState } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import {
  checkCursor,
  checkExecuted,
  checkExecutedSteps,
  checkIterations,
  checkSkipped,
  checkState,
  type Evidence,
  executedSteps,
} from './check-workflow.ts'
import type { CollectedErrors } from './collected-errors.ts'
import { TestClock } from './test-clock.ts'
import type { TestStrategies } from './test-strategies.ts'

/** The compiler knows the methods; the names of inline steps are only known when the test runs. */
type AnyStepName<W extends AnyWorkflow> = StepName<W> | (string & {})

export interface StepLimit {
  /** More steps than this are taken for an endless loop: `StepLimitError`. Default 1,000; 10,000 for `runDue`. */
  readonly maxSteps?: number
}

export interface FailOptions {
  /** Default: once. */
  readonly times?: number
  readonly workflow?: WorkflowHandle<any>
}

export interface TestKitParts {
  readonly geneva: Geneva
  readonly store: Store
  readonly errors: CollectedErrors
  readonly strategies: TestStrategies
  /** Called once, when everything is closed. */
  dispose(): void
}

const pollMs = 5
const claimable: ReadonlySet<string> = new Set(['scheduled', 'suspended'])
/** A step that was due twice and not taken is one that this code may not run. */
const maxIdleRounds = 2

export class TestKit {
  /** The real thing, for whatever the kit has no word for. */
  readonly geneva: Geneva
  /** Starts a workflow, exactly as `geneva.start` does. No step runs yet. */
  readonly start: Geneva['start']
  readonly #parts: TestKitParts
  readonly #clock: TestClock
  #closing: Promise<void> | null = null

  /** Use `testGeneva()`. */
  constructor(parts: TestKitParts) {
    this.geneva = parts.geneva
    this.start = parts.geneva.start.bind(parts.geneva) as Geneva['start']
    this.#parts = parts
    this.#clock = new TestClock(parts.store)
  }

  /** What steps, hooks, conditions and hero loads have thrown so far. */
  get errors(): readonly unknown[] {
    return this.#parts.errors.all()
  }

  /** The time of the clock that waits go by. */
  now(): Promise<Date> {
    return this.#clock.now()
  }

  /** Moves the clock forward. It runs nothing by itself. Returns the new time. */
  async advance(by: Duration): Promise<Date> {
    return this.#clock.moveBy(toMilliseconds(by, 'The time to advance by'))
  }

  /** Sets the clock, forward or back; it goes on running from there. Returns the new time. */
  async setTime(time: Date): Promise<Date> {
    return this.#clock.moveTo(time)
  }

  /**
   * The next attempts at the step throw the error instead of running its code: once, or so many times; of this workflow, or of
   * whichever comes first. What follows is what follows in production.
   */
  failNext(step: string, error: unknown = new Error(`planned failure of ${step}`), options: FailOptions = {}): void {
    const { times = 1, workflow } = options
    checkCount(times, 'The times that a step is to fail')
    this.#parts.strategies.plan({ step, error, left: times, workflowId: workflow?.id ?? null })
  }

  /** From now on steps that have failed are tried again at once, whatever their backoff says; or no longer. */
  bypassBackoff(bypasses = true): void {
    this.#parts.strategies.bypassBackoff(bypasses)
  }

  /**
   * Performs one step of the workflow and returns how it ended, or, of a resumable step, one run and how it stands. `null`
   * when none is due.
   */
  async performNextStep(workflow: WorkflowHandle<any>): Promise<Execution | null> {
    const performed = await this.#perform(1, workflow.id)
    await workflow.refresh()
    return performed === 0 ? null : latestPerformed(await workflow.history())
  }

  /**
   * Runs so many items of the resumable step at which the workflow stands, and interrupts it there, in as many runs as it
   * takes. Fewer if the step ends or waits before. Returns how the attempt stands then; `null` when none is due.
   */
  async runIterations(workflow: WorkflowHandle<any>, count: number): Promise<Execution | null> {
    checkCount(count, 'The count of iterations')
    const standing = await resumableAt(workflow)
    let latest: Execution | null = null
    const goal = (standing?.progress?.completed ?? 0) + count
    for (let done = goal - count; done < goal; ) {
      if ((await this.#perform(1, workflow.id, goal - done)) === 0) break
      latest = latestPerformed(await workflow.history())
      const now = latest?.progress?.completed ?? 0
      if (latest?.id !== standing?.id || latest?.state !== 'suspended' || now <= done) break
      done = now
    }
    await workflow.refresh()
    return latest
  }

  /**
   * Runs the resumable step at which the workflow stands to its end, over its runs, waits and retries, and nothing behind it. The
   * clock stays where it got to. Returns how its last attempt stands then; `null` when there is nothing to run.
   */
  async speedrunResumableStep(
    workflow: WorkflowHandle<any>,
    { maxSteps = 1000 }: StepLimit = {},
  ): Promise<Execution | null> {
    checkCount(maxSteps, '`maxSteps`')
    const standing = await resumableAt(workflow)
    if (standing === null || !claimable.has(standing.state)) return null
    await this.#speedrun(workflow.id, maxSteps, standing.node)
    await workflow.refresh()
    const attempts = (await workflow.history()).filter(({ node }) => node === standing.node)
    return attempts.findLast(({ startedAt }) => startedAt !== null) ?? null
  }

  /** Works off everything that is due now, of all workflows. Returns how many steps that were. */
  async runDue({ maxSteps = 10_000 }: StepLimit = {}): Promise<number> {
    checkCount(maxSteps, '`maxSteps`')
    const performed = await this.#perform(maxSteps)
    if (performed === maxSteps && (await this.#isAnythingDue())) throw await this.#endless()
    return performed
  }

  /**
   * Performs step after step and jumps over every wait, until the workflow has ended, is paused, or waits for something
   * other than time, however long that may take at most. The clock stays where it got to. Returns the same handle, refreshed.
   */
  async speedrun<W extends AnyWorkflow>(
    workflow: WorkflowHandle<W>,
    { maxSteps = 1000 }: StepLimit = {},
  ): Promise<WorkflowHandle<W>> {
    checkCount(maxSteps, '`maxSteps`')
    await this.#speedrun(workflow.id, maxSteps, null)
    return workflow.refresh()
  }

  /** As long as there is something to wait for; with a node, of that one. */
  async #speedrun(workflowId: string, maxSteps: number, node: string | null): Promise<void> {
    let left = maxSteps
    for (let idleRounds = 0; idleRounds < maxIdleRounds; ) {
      const performed = await this.#perform(node === null ? left : 1, workflowId)
      left -= performed
      const rows = await this.#parts.store.activeExecutions(workflowId)
      if (rows.some(row => row.state === 'in_progress')) {
        // Somebody else runs it: another worker of the test, or a call that the test has not awaited yet.
        await pauseFor(pollMs)
        continue
      }
      const waits = rows.filter(row => claimable.has(row.state) && !isTimeLimit(row.slot))
      const dueTimes = waits.filter(row => node === null || row.node === node).map(row => row.dueAt)
      if (dueTimes.length === 0) break
      if (left === 0) throw new StepLimitError(workflowId, maxSteps)
      const jumped = await this.#clock.reach(Math.min(...dueTimes))
      idleRounds = jumped || performed > 0 ? 0 : idleRounds + 1
    }
  }

  /** The steps whose code ran, in order and once per attempt. */
  async executedSteps(workflow: WorkflowHandle<any>): Promise<string[]> {
    return executedSteps(await workflow.history())
  }

  async assertState(workflow: WorkflowHandle<any>, state: WorkflowState): Promise<void> {
    checkState(await this.#evidence(workflow), state)
  }

  /** The code of the step ran: at least once, or exactly so many times. */
  async assertStepExecuted<W extends AnyWorkflow>(
    workflow: WorkflowHandle<W>,
    step: AnyStepName<W>,
    options: { readonly times?: number } = {},
  ): Promise<void> {
    checkExecuted(await this.#evidence(workflow), step, options.times)
  }

  /** The code of the step did not run. */
  async assertStepNotExecuted<W extends AnyWorkflow>(workflow: WorkflowHandle<W>, step: AnyStepName<W>): Promise<void> {
    checkExecuted(await this.#evidence(workflow), step, 0)
  }

  /** The step was reached and left out: by a condition, by its own code, by its exception policy, or from outside. */
  async assertStepSkipped<W extends AnyWorkflow>(workflow: WorkflowHandle<W>, step: AnyStepName<W>): Promise<void> {
    checkSkipped(await this.#evidence(workflow), step)
  }

  /** The code of exactly these steps ran, in this order, a step once for each attempt. */
  async assertExecutedSteps<W extends AnyWorkflow>(
    workflow: WorkflowHandle<W>,
    steps: readonly AnyStepName<W>[],
  ): Promise<void> {
    checkExecutedSteps(await this.#evidence(workflow), steps)
  }

  /** Where the resumable step that was reached last would go on; `null` before its first item. */
  async assertCursor(workflow: WorkflowHandle<any>, cursor: unknown): Promise<void> {
    checkCursor(await this.#evidence(workflow), cursor)
  }

  /** How many items the resumable step that was reached last has done, over all its runs. */
  async assertIterations(workflow: WorkflowHandle<any>, count: number): Promise<void> {
    checkIterations(await this.#evidence(workflow), count)
  }

  /** Closes everything and deletes the database that the kit made. A step that still runs is told to stop. */
  close(): Promise<void> {
    this.#closing ??= this.geneva.close().finally(() => this.#parts.dispose())
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** A step that hangs must not hold up `close`, so the worker has no grace time. */
  #perform(maxSteps: number, workflowId?: string, maxItems?: number): Promise<number> {
    return this.geneva.runDue({
      maxSteps,
      grace: 0,
      ...(workflowId === undefined ? {} : { workflowId }),
      ...(maxItems === undefined ? {} : { maxItems }),
    })
  }

  async #isAnythingDue(): Promise<boolean> {
    const { store } = this.#parts
    const dueAt = await store.nextDueAt()
    return dueAt !== null && dueAt <= (await store.now())
  }

  /** Names the workflow that has performed the most steps. */
  async #endless(): Promise<StepLimitError> {
    let suspect = { id: '', steps: -1 }
    for await (const workflow of await this.geneva.list({ state: 'active' })) {
      const steps = (await this.executedSteps(workflow)).length
      if (steps > suspect.steps) suspect = { id: workflow.id, steps }
    }
    return new StepLimitError(suspect.id, suspect.steps)
  }

  async #evidence(workflow: WorkflowHandle<any>): Promise<Evidence> {
    await workflow.refresh()
    const definition = await this.#parts.store.findDefinition(workflow.type)
    const graph = definition && (JSON.parse(definition.graph) as Graph)
    return {
      workflow,
      history: await workflow.history(),
      declared: (graph?.nodes ?? (await workflow.nodesWithState())).map(node => node.name),
      lastError: this.#parts.errors.lastOf(workflow.id),
    }
  }
}

/** The resumable step at which the workflow stands; `null` when it stands nowhere. */
async function resumableAt(workflow: WorkflowHandle<any>): Promise<Execution | null> {
  const [standing = null] = await workflow.currentExecutions()
  if (standing === null || standing.progress !== null) return standing
  throw new InvalidArgumentError(
    `Workflow ${workflow.id} (${workflow.type}) stands at step ${standing.step}, which is not resumable.`,
  )
}

/** The end of the time for something else is no wait: nobody would want to get there. */
function isTimeLimit(slot: string): boolean {
  return slot === deadlineSlot || slot.startsWith(waitSlotPrefix)
}

/** A resumable step that was interrupted has not ended, but was performed. */
function latestPerformed(history: readonly Execution[]): Execution | null {
  const last = history.at(-1)
  if (last?.progress && last.startedAt !== null) return last
  return history.findLast(execution => execution.endedAt !== null) ?? null
}

function checkCount(count: number, what: string): void {
  if (Number.isSafeInteger(count) && count > 0) return
  throw new InvalidArgumentError(`${what} must be a whole number above 0, not ${String(count)}.`)
}
