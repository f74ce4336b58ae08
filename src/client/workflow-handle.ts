/**
 * One workflow, seen from outside: what it was when it was looked at, and what can be asked of it.
 */

import type { DecisionData, SignalPayload } from '../definition/flow-options.ts'
import { decodeHeroId, type HeroId } from '../definition/hero.ts'
import type { InputOf } from '../definition/start-types.ts'
import type { OutputOf, StepName, ToldName } from '../definition/step-names.ts'
import type { AnyWorkflow } from '../definition/workflow.ts'
import { type DrawOptions, drawGraph } from '../drawing/draw-graph.ts'
import { pictureOf } from '../drawing/picture.ts'
import { checkKey } from '../engine/check-key.ts'
import type { Course } from '../engine/courses.ts'
import { isEnd } from '../engine/end-watch.ts'
import type { Engine } from '../engine/engine.ts'
import { type Explanation, explainWorkflow } from '../engine/explain-workflows.ts'
import { readNextNode } from '../engine/next-node.ts'
import { previewRollback, type RollbackStep } from '../engine/preview-rollback.ts'
import { readOutput } from '../engine/read-output.ts'
import { findFlaw, type HistoryFlaw } from '../engine/verify-history.ts'
import { WaitTimeoutError, WorkflowNotFinishedError, WorkflowNotFoundError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import { refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import { toDate, toOptionalDate } from '../primitives/to-date.ts'
import type { ActiveExecution, WorkflowState } from '../store/records.ts'
import type { WorkflowSnapshot } from '../store/store.ts'
import {
  type Execution,
  type ExecutionRow,
  executionsFrom,
  fromEvent,
  type ProgressFacts,
  type WorkflowEvent,
} from './execution.ts'
import { type NodeWithState, nodesWithState } from './nodes-with-state.ts'
import { type RequestOptions, type ResolveOptions, requestFrom, resolutionFrom } from './request-options.ts'
import {
  type DecideOptions,
  decide,
  type RecordedDecision,
  recorded,
  type SignalOptions,
  signal,
} from './tell-workflow.ts'
import type { Waiters } from './waiters.ts'

export interface HandleParts {
  readonly engine: Engine
  readonly waiters: Waiters
}

export interface HeroReference {
  readonly type: string
  readonly id: HeroId
}

export class WorkflowHandle<W extends AnyWorkflow = any> {
  readonly #open: () => HandleParts
  #snapshot: WorkflowSnapshot

  constructor(open: () => HandleParts, snapshot: WorkflowSnapshot) {
    this.#open = open
    this.#snapshot = snapshot
  }

  get #parts(): HandleParts {
    return this.#open()
  }

  get id(): string {
    return this.#snapshot.workflow.id
  }

  /** The stored name of the class. */
  get type(): string {
    return this.#snapshot.workflow.type
  }

  get hero(): HeroReference | null {
    const { hero } = this.#snapshot.workflow
    return hero === null ? null : { type: hero.type, id: decodeHeroId(hero.idText, hero.idKind) }
  }

  /** The workflow whose node has started this one. */
  get parentId(): string | null {
    return this.#snapshot.workflow.parent?.workflowId ?? null
  }

  /** The workflow that goes on where a step of this one called `this.restart(...)`. */
  get continuedAs(): string | null {
    return this.#snapshot.workflow.continuedAs
  }

  /** The workflow that this one goes on from. */
  get continues(): string | null {
    return this.#snapshot.workflow.continues
  }

  /** When it must have ended, by its class or its start. */
  get deadline(): Date | null {
    return toOptionalDate(this.#snapshot.workflow.deadlineAt)
  }

  /** As of the last look; `refresh()` looks again. */
  get state(): WorkflowState {
    const { workflow, performing } = this.#snapshot
    return performing && workflow.state === 'ready' ? 'performing' : workflow.state
  }

  get createdAt(): Date {
    return toDate(this.#snapshot.workflow.createdAt)
  }

  get pausedAt(): Date | null {
    return toOptionalDate(this.#snapshot.workflow.pausedAt)
  }

  get finishedAt(): Date | null {
    return this.state === 'finished' ? toOptionalDate(this.#snapshot.workflow.endedAt) : null
  }

  /** However it has ended. */
  get endedAt(): Date | null {
    return toOptionalDate(this.#snapshot.workflow.endedAt)
  }

  /** A join went on without a branch that had failed. */
  get partial(): boolean {
    return this.#snapshot.workflow.partial
  }

  get canceledAt(): Date | null {
    return this.state === 'canceled' ? toOptionalDate(this.#snapshot.workflow.endedAt) : null
  }

  async refresh(): Promise<this> {
    const found = await this.#parts.engine.store.findWorkflow(this.id)
    if (found === null) throw new WorkflowNotFoundError(this.id)
    this.#snapshot = found
    return this
  }

  /** What the workflow was started with. */
  async input(): Promise<InputOf<W>> {
    return (decodeValue(await this.#parts.engine.store.input(this.id)) ?? {}) as InputOf<W>
  }

  async tags(): Promise<string[]> {
    return await this.#parts.engine.store.tags(this.id)
  }

  /** What a step returned; `undefined` when it has not completed. */
  async output<const K extends StepName<W>>(step: K): Promise<OutputOf<W, K> | undefined> {
    const { engine } = this.#parts
    const { graph } = await this.#course(engine)
    const key = checkKey(step, 'The step')
    // Somebody may have sent it back since this handle has looked.
    const { workflow } = (await engine.store.findWorkflow(this.id)) ?? this.#snapshot
    const found = await readOutput(engine.store, graph, workflow, key)
    return found?.value as OutputOf<W, K> | undefined
  }

  /** Every attempt in order, the ones under way last. */
  async history(): Promise<Execution[]> {
    const { store } = this.#parts.engine
    // Active rows first: one that ends meanwhile is then found among the ended, and shown once.
    const active = await store.activeExecutions(this.id)
    const ended = (await store.history(this.id)).filter(row => row.kind === 'forward')
    const known = new Set(ended.map(row => row.id))
    const open = active.filter(row => row.kind === 'forward' && !known.has(row.id))
    return executionsFrom([...ended, ...open], await this.#progressFacts(open))
  }

  async currentExecutions(): Promise<Execution[]> {
    const { store } = this.#parts.engine
    const rows = (await store.activeExecutions(this.id)).filter(row => row.kind === 'forward')
    const facts = await this.#progressFacts(rows)
    const needsEarlier = rows.some(row => row.attempt > 1 && facts.isResumable(row))
    return executionsFrom(rows, facts, needsEarlier ? await store.history(this.id) : [])
  }

  /**
   * The node that a resume would run again because it has failed, the first of them in the order of the graph; else the first
   * node that nothing is planned for yet and that may still run: in a chain the step after the current one. `null` when none is
   * left, and once the workflow winds down.
   */
  async nextNode(): Promise<string | null> {
    await this.refresh()
    return readNextNode(this.#parts.engine, this.id)
  }

  /** Every node of the graph with the state of its latest attempt. */
  async nodesWithState(): Promise<NodeWithState[]> {
    await this.refresh()
    const { graph } = await this.#course(this.#parts.engine)
    return nodesWithState(graph, await this.history(), this.#snapshot.workflow.rounds)
  }

  /** What it waits for, in a sentence, and for each of its nodes why it does not run. */
  async explain(): Promise<Explanation> {
    return explainWorkflow(this.#parts.engine, this.id)
  }

  /** A picture of the graph with the states of its nodes: as text for a terminal, as Mermaid, DOT or SVG. */
  async draw(options?: DrawOptions): Promise<string> {
    const nodes = await this.nodesWithState()
    const { graph } = await this.#course(this.#parts.engine)
    const states = new Map(nodes.map(({ id, state, attempt }) => [id, { state, attempt }]))
    const picture = pictureOf(graph, states)
    return drawGraph(
      { ...picture, title: `${this.type === '' ? 'Workflow' : this.type} ${this.id} (${this.state})` },
      options,
    )
  }

  /** Recomputes the ancestry of every execution. `null`, or the first one that does not fit. */
  async verifyHistory(): Promise<HistoryFlaw | null> {
    await this.refresh()
    const { store } = this.#parts.engine
    const active = await store.activeExecutions(this.id)
    const ended = await store.history(this.id)
    const known = new Set(ended.map(row => row.id))
    return findFlaw(
      ended,
      active.filter(row => !known.has(row.id)),
      (await this.#course(this.#parts.engine)).graph.renamed,
    )
  }

  /** Every change of state, oldest first. */
  async events(): Promise<WorkflowEvent[]> {
    return (await this.#parts.engine.store.events(this.id)).map(fromEvent)
  }

  /** Nothing new starts from now on; a running step ends and is recorded. */
  async pause(options?: RequestOptions): Promise<this> {
    await this.#parts.engine.pause(this.id, requestFrom(options))
    return this.refresh()
  }

  /** Goes on where it was: held steps at their own time, a failed step with a new attempt. */
  async resume(options?: RequestOptions): Promise<this> {
    await this.#parts.engine.resume(this.id, requestFrom(options))
    return this.refresh()
  }

  /** Leaves out a step that waits or has failed. */
  async skip(step: StepName<W>, options?: RequestOptions): Promise<this> {
    await this.#parts.engine.skip(this.id, step, requestFrom(options))
    return this.refresh()
  }

  /** Takes a step as done: somebody has done by hand what it was to do. What depends on it goes on. */
  async resolve<const K extends StepName<W>>(step: K, options?: ResolveOptions<OutputOf<W, K>>): Promise<this> {
    await this.#parts.engine.resolve(this.id, resolutionFrom(step, options))
    return this.refresh()
  }

  /** A new attempt at a step that has failed, while nothing that comes after it has started. */
  async reattempt(step: StepName<W>, options?: RequestOptions): Promise<this> {
    await this.#parts.engine.reattempt(this.id, step, requestFrom(options))
    return this.refresh()
  }

  /** Ends the workflow. A running step gets its signal and is waited for; until then the state is `rolling_back`. */
  async cancel(options?: RequestOptions): Promise<this> {
    await this.#parts.engine.cancel(this.id, requestFrom(options))
    return this.refresh()
  }

  /** Ends the workflow at once: nothing is undone, and nothing that runs is waited for. */
  async abort(options?: RequestOptions): Promise<this> {
    await this.#parts.engine.abort(this.id, requestFrom(options))
    return this.refresh()
  }

  /**
   * Confirms or rejects a step that waits for people. One decision per person; a step that was decided on already throws
   * `AlreadyDecidedError`. With the last confirmation that its quorum needs the workflow goes on; one reject rejects.
   */
  async decide<const K extends ToldName<W, 'human'>>(
    step: K,
    options: DecideOptions<DecisionData<W, K>>,
  ): Promise<this> {
    await decide(this.#parts.engine, this.id, step, options)
    return this.refresh()
  }

  /** Sends a message to a step that waits for it. One that comes early is kept until the step is reached. */
  async signal<const K extends ToldName<W, 'signal'>>(
    step: K,
    payload?: SignalPayload<W, K>,
    options: SignalOptions = {},
  ): Promise<this> {
    await signal(this.#parts.engine, this.id, step, { payload, options })
    return this.refresh()
  }

  /** Every decision that was made, in order. */
  async decisions(): Promise<RecordedDecision[]> {
    return (await this.#parts.engine.store.decisions({ workflowId: this.id })).map(recorded)
  }

  /** What a cancel, or a failure now, would undo, in order. */
  previewRollback(kind: 'cancel' | 'failure' = 'cancel'): Promise<RollbackStep[]> {
    return previewRollback(this.#parts.engine, this.id, kind)
  }

  /** What was called to undo steps, in order, the one under way last. `step` is the step that is undone. */
  async compensations(): Promise<Execution[]> {
    const { store } = this.#parts.engine
    const active = (await store.activeExecutions(this.id)).filter(row => row.kind === 'compensate')
    const ended = (await store.history(this.id)).filter(row => row.kind === 'compensate')
    const known = new Set(ended.map(row => row.id))
    const rows = [
      ...ended.toSorted((a, b) => a.endedAt - b.endedAt || Number(a.id) - Number(b.id)),
      ...active.filter(row => !known.has(row.id)),
    ]
    return executionsFrom(rows, { isResumable: () => false, now: null })
  }

  /**
   * Resolves with the result: the output of the step that `this.result(...)` names, else of the last step that completed.
   * Rejects with `WorkflowNotFinishedError` on any other end and with `WaitTimeoutError` when the time is over. A paused
   * workflow is waited for; of one that restarts, the last one that it goes on as.
   */
  async waitUntilFinished(options: { readonly timeout?: Duration } = {}): Promise<unknown> {
    refuseUnknownOptions('waitUntilFinished', options, ['timeout'])
    const timeoutMs =
      options.timeout === undefined
        ? Number.POSITIVE_INFINITY
        : toMilliseconds(options.timeout, 'The timeout of waitUntilFinished')
    return this.#waitUntilFinished(timeoutMs, timeoutMs)
  }

  /** `askedMs`: what the caller has given for all that the workflow goes on as. */
  async #waitUntilFinished(timeoutMs: number, askedMs: number): Promise<unknown> {
    const begun = performance.now()
    const { waiters } = this.#parts
    // Asked for once more: meanwhile it may have been closed.
    const end = (await waiters.wait(this.id, timeoutMs)) ?? (await this.#parts.waiters.endOf(this.id))
    if (end === null) throw new WorkflowNotFoundError(this.id)
    if (isEnd(end.workflow.state)) this.#snapshot = { workflow: end.workflow, performing: false }
    else await this.refresh()
    if (this.continuedAs !== null) {
      const next = await this.#parts.engine.store.findWorkflow(this.continuedAs)
      // What it completed before it went on is no result.
      if (next === null) throw new WorkflowNotFoundError(this.continuedAs)
      const leftMs = Math.max(0, timeoutMs - (performance.now() - begun))
      return new WorkflowHandle(this.#open, next).#waitUntilFinished(leftMs, askedMs)
    }
    if (this.state === 'finished') return this.#result(end.output)
    if (!isEnd(this.state)) throw new WaitTimeoutError(this.id, this.state, askedMs)
    throw new WorkflowNotFinishedError(this.id, this.state, await this.#whyEnded())
  }

  /** The clock is read only for steps that run or go on by themselves. */
  async #progressFacts(open: readonly ActiveExecution[]): Promise<ProgressFacts> {
    const { engine } = this.#parts
    const { graph } = await this.#course(engine)
    // A step that the newest code has lost is told by what it has left.
    const isResumable = ({ node, progress }: ExecutionRow) =>
      graph.find(node)?.kind === 'resumable' || progress.cursor !== null
    const isUnderWay = open.some(row => isResumable(row) && row.startedAt !== null && row.state !== 'paused')
    return { isResumable, now: isUnderWay ? await engine.store.now() : null }
  }

  #course(engine: Engine): Promise<Course> {
    return engine.courses.one(this.#snapshot.workflow)
  }

  /** `last`: what it completed last, which is its result unless the class names another step. */
  async #result(last: string | null): Promise<unknown> {
    const { engine } = this.#parts
    const node = engine.courses.findDefinition(this.type)?.resultNode ?? null
    if (node === null) return decodeValue(last)
    return (await readOutput(engine.store, (await this.#course(engine)).graph, this.#snapshot.workflow, node))?.value
  }

  async #whyEnded(): Promise<string> {
    const events = await this.#parts.engine.store.events(this.id)
    const reasons = events.filter(event => event.type.startsWith('workflow.') && event.reason !== null)
    const last = reasons.at(-1)
    return last ? `${last.reason}${last.by ? ` (asked by ${last.by})` : ''}.` : ''
  }
}
