/**
 * What the code of one execution may ask for while it runs. One object for every kind of step, and nothing in it is made
 * before it is needed: every step comes through here, and most need none of it.
 */
import type { FrozenGraph } from '../definition/frozen-graph.ts'
import type { Graph, GraphNode } from '../definition/graph.ts'
import type { Job } from '../definition/job.ts'
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import { type ChildHost, childHost } from '../engine/child-host.ts'
import { type Course, jobOf } from '../engine/courses.ts'
import type { Engine } from '../engine/engine.ts'
import { type ChildExecution, executeChild } from '../engine/execute-child.ts'
import { type CompensationJob, executeCompensation, type UndoneExecution } from '../engine/execute-compensation.ts'
import { executeJob } from '../engine/execute-job.ts'
import { executeStep, type StepRun } from '../engine/execute-step.ts'
import { executeStored } from '../engine/execute-stored.ts'
import type { IterationHost } from '../engine/iteration/iteration-host.ts'
import { type MessageReader, messageReader } from '../engine/message-reader.ts'
import { timerHandler } from '../engine/plan.ts'
import { readOutputFor } from '../engine/read-output.ts'
import { formerNode } from '../engine/rollback.ts'
import { StepTransaction } from '../engine/step-transaction.ts'
import { type UndoExecution, undoByJob } from '../engine/undo-by-job.ts'
import { isCalledOnce } from '../engine/unknown-outcome.ts'
import { InvariantError } from '../errors.ts'
import type { ClaimedExecution } from '../store/records.ts'
import { iterationHost } from './iteration-host-of.ts'
import type { Lease } from './lease.ts'
import { patiently } from './patiently.ts'
import type { RunningStep } from './running-step.ts'
import type { Strategies } from './strategies.ts'

/** What all calls of a worker share. */
export interface CallParts {
  readonly engine: Engine
  readonly lease: Lease
  readonly strategies: Strategies
  readonly maxInputBytes: number
  readonly maxOutputBytes: number
  /** No run of a resumable step gets further than so many items. */
  readonly maxItems: number | null
}

export class StepCall implements CompensationJob, ChildExecution {
  readonly claimed: ClaimedExecution
  readonly course: Course
  protected readonly parts: CallParts
  readonly #step: RunningStep
  #transaction: StepTransaction | null
  #hasEnded = false

  /** `transaction`: another one for the same attempt, where the first could not be committed. */
  constructor(parts: CallParts, step: RunningStep, course: Course, transaction: StepTransaction | null = null) {
    this.parts = parts
    this.course = course
    this.claimed = step.claimed
    this.#step = step
    this.#transaction = transaction
  }

  run(): Promise<StepRun> {
    const { handler, kind, node } = this.claimed.execution
    if (handler === timerHandler) return executeStored(this)
    if (kind === 'compensate') return executeCompensation(this)
    const stored = this.frozen?.nodes[node]
    return stored?.workflow === undefined ? executeStep(this) : executeChild(this, stored)
  }

  get graph(): Graph {
    return this.course.graph
  }

  get frozen(): FrozenGraph | null {
    return this.course.frozen
  }

  get definition(): WorkflowDefinition {
    return this.parts.engine.registry.definitionFor(this.claimed.execution.handler)
  }

  get maxInputBytes(): number {
    return this.parts.maxInputBytes
  }

  get maxOutputBytes(): number {
    return this.parts.maxOutputBytes
  }

  get signal(): AbortSignal {
    return this.#step.signal
  }

  get children(): ChildHost {
    const { workflow, execution } = this.claimed
    return childHost(this.parts.engine, { workflowId: workflow.id, node: execution.node }, this.maxInputBytes)
  }

  get messages(): MessageReader {
    return messageReader(this.parts.engine.store, this.claimed)
  }

  get host(): IterationHost {
    return iterationHost(this.parts.engine, this.#step, this.parts.maxItems)
  }

  get transaction(): StepTransaction {
    if (this.#transaction === null) {
      this.#transaction = new StepTransaction(this.parts.engine, this.claimed)
      if (this.#hasEnded) this.#transaction.close()
    }
    return this.#transaction
  }

  /** The transaction that the code has asked for. Where it has not, code that was left behind cannot do so any more. */
  end(): StepTransaction | null {
    this.#hasEnded = true
    if (this.#transaction?.hasBegun) return this.#transaction
    this.#transaction?.close()
    return null
  }

  readOutput(node: string): Promise<{ readonly value: unknown } | null> {
    return readOutputFor(this.parts.engine.store, this.graph, this.claimed, node)
  }

  readUndone(executionId: string): Promise<UndoneExecution | null> {
    return this.parts.engine.store.findEnded(executionId)
  }

  get formerNode(): GraphNode | null {
    return formerNode(this.course, this.claimed.execution.node)
  }

  timeOut(): void {
    this.#step.stop('timed out')
  }

  beforeCall(): void {
    this.parts.strategies.beforeCall(this.claimed, this.graph)
  }

  /** What is called once is marked before that, so that a call which is lost can be told from one that never was. */
  mayBegin(once = false): boolean | Promise<boolean> {
    const { execution } = this.claimed
    if (!once && !isCalledOnce(this.graph, execution)) return this.#noteCall(this.#holds())
    return this.#noteCall(Promise.resolve(this.#holds()).then(may => may && this.#mark()))
  }

  /**
   * A database that is away is no failure of a call that has not begun. The answer may take longer than the lease: then somebody
   * else has found the mark, asked what came of it, and may have called by now.
   */
  async #mark(): Promise<boolean> {
    const { store } = this.parts.engine
    const isMine = await patiently(
      this.#step,
      store,
      () => this.#isOverTime || store.markStarted(this.claimed.execution),
    )
    return isMine === true && !this.#isOverTime && (await this.#holds()) && !this.#isOverTime
  }

  /** Then it has been reported on, and must not be called any more. */
  get #isOverTime(): boolean {
    return this.#step.stopReason === 'timed out'
  }

  /** From here on the code may be under way, unless the step was given back while its mark was on its way. */
  #noteCall(may: boolean | Promise<boolean>): boolean | Promise<boolean> {
    if (typeof may !== 'boolean') return may.then(answer => this.#noteCall(answer))
    this.#step.called = may && !this.#step.reporting
    return this.#step.called
  }

  #holds(): boolean | Promise<boolean> {
    const { lease } = this.parts
    if (!this.#isMine()) return false
    return lease.healthy || lease.confirm().then(confirmed => confirmed && this.#isMine())
  }

  /** The answer to a claim may come so late that the lease it was made under is lost, and another one holds. */
  #isMine(): boolean {
    return !isInterrupted(this.#step) && this.#step.claimed.execution.owner === this.parts.lease.workerId
  }
}

/** For a node of a stored graph that names a job. */
class JobCall extends StepCall implements UndoExecution {
  override get frozen(): FrozenGraph {
    const { frozen } = this.course
    if (frozen === null) throw new InvariantError(`Workflow ${this.claimed.workflow.id} has no graph of its own.`)
    return frozen
  }

  override run(): Promise<StepRun> {
    return this.claimed.execution.kind === 'compensate' ? undoByJob(this) : executeJob(this)
  }

  get job(): Job | null {
    return this.parts.engine.jobs.find(jobOf(this.claimed.execution.handler) ?? '')
  }

  get reconcileJob(): Job | null {
    const asked = this.frozen.nodes[this.claimed.execution.node]?.once?.job
    return asked === undefined ? null : this.parts.engine.jobs.find(asked)
  }
}

/** `transaction`: another one for the same attempt. */
export function callFor(
  parts: CallParts,
  step: RunningStep,
  course: Course,
  transaction: StepTransaction | null = null,
): StepCall {
  const isJob = course.frozen !== null && jobOf(step.claimed.execution.handler) !== null
  return isJob ? new JobCall(parts, step, course, transaction) : new StepCall(parts, step, course, transaction)
}

/** It should stop here, and go on elsewhere. A canceled step should stop too, but for good. */
export function isInterrupted({ stopReason }: RunningStep): boolean {
  return stopReason === 'claim lost' || stopReason === 'shutting down'
}
