/**
 * Collects what a decision changes in one workflow, checks every step against the transition tables, and writes the
 * event of each. It shows the rows as they will be, so that several decisions can follow each other. It decides nothing
 * itself.
 */
import { invariant } from '../primitives/invariant.ts'
import type {
  ClosedLetter,
  Continuation,
  Ending,
  EndingRow,
  LatestEnding,
  NewEvent,
  NewExecution,
  NewLetter,
  RowMove,
  TriedUndo,
  UndoFacts,
  UndoRow,
  WorkflowChange,
  WorkflowFacts,
  WorkflowUpdate,
} from '../store/change.ts'
import type { EndedState, Outcome, PauseCause, StoredWorkflowState } from '../store/records.ts'
import { attemptsBefore, isOfThisRound } from '../store/rounds.ts'
import { scheduledEvent } from '../store/scheduled-event.ts'
import { continuationEvents, continuationIn } from './continuation.ts'
import { Counters } from './counters.ts'
import type { EndingDetails, MoveDetails, Request } from './draft-details.ts'
import { endingOf, latestFrom, type Messages, noLetters, noMessages, nothing, updateFrom } from './draft-parts.ts'
import { isEnd } from './end-watch.ts'
import { errorFacts, eventName, moveName, pauseFacts, rowEvent } from './event-names.ts'
import type { LiveRow, NextExecution } from './live-row.ts'
import { LiveRows } from './live-rows.ts'
import { type About, newEvent } from './new-event.ts'
import { cascadeSlotPrefix, deadlineSlot } from './plan.ts'
import { checkExecutionTransition, checkUndoTransition, checkWorkflowTransition } from './transitions.ts'
import { UndoView } from './undo-view.ts'

export type { EndingDetails, MoveDetails, Request } from './draft-details.ts'
export type { LiveRow, NextExecution } from './live-row.ts'

const goesOn: ReadonlySet<LiveRow['state']> = new Set(['scheduled', 'in_progress', 'suspended'])

export class ChangeDraft {
  readonly facts: WorkflowFacts
  readonly #live: LiveRows
  readonly #endings: Ending[] = []
  readonly #ended = new Map<string, LatestEnding>()
  readonly #counters: Counters
  readonly #events: NewEvent[] = []
  #letters: { readonly opened: NewLetter[]; readonly closed: ClosedLetter[] } | null = null
  #messages: Messages | null = null
  readonly #undo: UndoView
  #stops: { readonly slot: string }[] | null = null
  #update: WorkflowUpdate | null = null
  #moved: NewEvent | null = null
  #graph: WorkflowChange['graph'] = null
  #continuation: Continuation | null = null

  /** `counts`: the graph has fan-ins, so counters may be left when the workflow ends. */
  constructor(facts: WorkflowFacts, { counts = false }: { readonly counts?: boolean } = {}) {
    this.facts = facts
    this.#counters = new Counters(facts.fanIns, counts)
    this.#undo = new UndoView(facts)
    this.#live = new LiveRows(facts)
  }

  get workflowId(): string {
    return this.facts.workflow.id
  }

  get state(): StoredWorkflowState {
    return this.workflow.state
  }

  /** Nothing new starts: what falls due is kept until the workflow goes on. */
  get isHeld(): boolean {
    return this.state === 'paused' || this.state === 'dlq'
  }

  get workflow(): WorkflowUpdate {
    return this.#update ?? this.facts.workflow
  }

  /** What came from outside, to be kept. */
  get messages(): Messages {
    this.#messages ??= { decisions: [], signals: [], taken: [] }
    return this.#messages
  }

  /** Steps and their like, without the timers of the engine. */
  rows(): LiveRow[] {
    return this.#live.all().filter(row => row.kind !== 'timer')
  }

  rowIn(slot: string): LiveRow | null {
    return this.#live.in(slot)
  }

  /** The timer of a node that waits, where it has one. */
  waitTimerOf(row: LiveRow): LiveRow | null {
    return this.#live.waitTimerOf(row)
  }

  /** Something can go on by itself: a row is scheduled, running or suspended. */
  goesOn(): boolean {
    const { othersGoOn } = this.facts
    invariant(othersGoOn !== null, `Nobody has looked whether other rows of workflow ${this.workflowId} go on.`)
    return othersGoOn || this.rows().some(row => goesOn.has(row.state))
  }

  /** The latest ended attempt of a node, as far as the facts show it. */
  latestOf(node: string): LatestEnding | null {
    const found = this.lastOf(node)
    return found !== null && isOfThisRound(this.workflow.rounds, found) ? found : null
  }

  /** Of any round. */
  lastOf(node: string): LatestEnding | null {
    return this.#ended.get(node) ?? this.facts.latest?.get(node) ?? this.facts.parents.get(node) ?? null
  }

  /** How many attempts at the node belong to earlier rounds. */
  attemptsBefore(node: string): number {
    return attemptsBefore(this.workflow.rounds, node)
  }

  /** What the node has failed with in this change. */
  failureOf(node: string): string | null {
    return this.#endings.findLast(ending => ending.execution.node === node)?.error?.message ?? null
  }

  /** Nodes that have an ended attempt, where the facts show them all. */
  endedNodes(): Set<string> {
    return new Set([...(this.facts.latest?.keys() ?? []), ...this.#ended.keys()])
  }

  /** The row is over: it leaves the active rows and enters history. */
  end(row: LiveRow, state: EndedState, outcome: Outcome, details: EndingDetails = {}): void {
    checkExecutionTransition(row.id, row.state, state)
    this.#live.forget(row)
    const timer = row.state === 'waiting' ? this.waitTimerOf(row) : null
    if (timer !== null) this.dropTimer(timer.slot)
    this.#record(row, row.state, endingOf(row, state, outcome, details), details)
  }

  /** A new attempt that is over as soon as it exists: a failed step that a person skips. */
  insertEnded(row: EndingRow, state: EndedState, outcome: Outcome, details: EndingDetails = {}): void {
    checkExecutionTransition(row.id, 'new', state)
    this.#record(row, null, endingOf(row, state, outcome, details), details)
  }

  #record(row: EndingRow, from: string | null, ending: Ending, { by = null, eventReason }: EndingDetails): void {
    const { state, outcome, error } = ending
    this.#endings.push(ending)
    if (row.kind === 'forward') this.#ended.set(row.node, latestFrom(ending))
    const payload = errorFacts(error)
    this.#event(rowEvent(row.kind, state), row, {
      from,
      to: state,
      by,
      reason: eventReason === undefined ? ending.reason : eventReason,
      outcome,
      since: row.startedAt,
      payload,
    })
  }

  /** Ended forward attempts as they will be, newest first. The facts must show history. */
  undoRows(): UndoRow[] {
    return this.#undo.rows(this.#endings)
  }

  /** Compensations that have ended, those of this change included. */
  triedUndos(): TriedUndo[] {
    return this.#undo.tried(this.#endings)
  }

  /** What a rollback goes by, as it will be. */
  undoFacts(): UndoFacts {
    return this.#undo.facts(this.#endings)
  }

  /** A rollback moves an ended row on. Its outcome stays what it is. */
  moveEnded(
    row: UndoRow,
    state: 'compensating' | 'rolled_back' | 'failed',
    { error = null, reason = null }: EndingDetails = {},
  ): void {
    checkUndoTransition(row.id, row.state, state)
    this.#undo.move(row.id, state)
    this.#event(`step.${state}`, row, { from: row.state, to: state, reason, payload: errorFacts(error) })
  }

  /** A new row, in the slot of one that has ended where there is one. */
  insert(execution: NextExecution): NewExecution {
    checkExecutionTransition(execution.id, 'new', execution.state)
    const there = this.#live.in(execution.slot)
    invariant(
      there === null,
      `Execution ${there?.id} stands where ${execution.node} of workflow ${this.workflowId} would.`,
    )
    const row = this.#live.put(execution)
    const { kind, state, owner, due } = execution
    this.#event(rowEvent(kind, kind === 'timer' ? 'scheduled' : eventName(state)), row, {
      to: state,
      by: owner,
      since: state === 'in_progress' && 'at' in due ? due.at : null,
    })
    return row
  }

  /** The same row in another state: held, let go, released, or waiting. */
  move(row: LiveRow, state: RowMove['state'], details: MoveDetails = {}): void {
    checkExecutionTransition(row.id, row.state, state)
    this.#live.move(row, state, details)
    const reason = details.reason ?? null
    this.#event(rowEvent(row.kind, moveName(row.state, state)), row, {
      from: row.state,
      to: state,
      reason,
    })
  }

  /** What runs is told to stop. It goes on until it reports, or its lease lapses. */
  stop(row: LiveRow): void {
    this.#stops ??= []
    this.#stops.push({ slot: row.slot })
  }

  /** What the row works on from now on. */
  giveInput(row: LiveRow, input: string): void {
    invariant(
      row.state !== 'in_progress',
      `Execution ${row.id} is running, so that it is too late to give it another input.`,
    )
    this.#live.giveInput(row, input)
  }

  /** Takes back a row that has not been begun: it is as if it had never been scheduled. */
  withdraw(row: LiveRow, reason: string): void {
    this.#live.forget(row)
    this.#event('step.withdrawn', row, { from: row.state, reason })
  }

  /** The same attempt under another name or in another slot, which its code has for it now. */
  rename(row: LiveRow, next: NextExecution): void {
    this.#live.forget(row)
    this.#live.put(next)
    if (row.node === next.node) return
    this.#event(
      'step.renamed',
      { ...row, node: next.node, nodeName: next.nodeName ?? null },
      { from: row.state, to: next.state, reason: `it was ${row.node}` },
    )
  }

  /** Timers that nobody needs once the workflow has ended. Its children are still to be stopped. */
  dropTimers(): void {
    for (const { slot } of this.#live.all()) if (!slot.startsWith(cascadeSlotPrefix)) this.dropTimer(slot)
  }

  /** One that was claimed has done its work. */
  dropTimer(slot: string): void {
    const row = this.#live.in(slot)
    if (row?.kind !== 'timer') return
    this.#live.forget(row)
    const to = row.state === 'in_progress' ? 'completed' : 'canceled'
    this.#event(`timer.${to}`, row, { from: row.state, to })
  }

  /** How many parents of the node are open; `null` while none has arrived. */
  openParents(node: string): number | null {
    return this.#counters.open(node)
  }

  /** Zero means that the counter is not needed any more. */
  setOpenParents(node: string, open: number): void {
    this.#counters.set(node, open)
  }

  /** Counters that the facts show. */
  knownFanIns(): string[] {
    return this.#counters.known()
  }

  moveWorkflow(to: StoredWorkflowState, request: Request | null = null, pauseCause: PauseCause | null = null): void {
    const earlier = this.#moved
    // Resumed and over in one go: people see the end only.
    if (earlier?.to === 'ready' && isEnd(to)) this.#events.splice(this.#events.indexOf(earlier), 1)
    const from = earlier?.to === 'ready' && isEnd(to) ? (earlier.from as StoredWorkflowState) : this.state
    checkWorkflowTransition(this.workflowId, from, to)
    this.setWorkflow({ state: to, pauseCause })
    const { by = null, reason = null } = request ?? earlier ?? {}
    this.#moved = newEvent(this.workflowId, `workflow.${to === 'ready' ? 'resumed' : to}`, null, {
      from,
      to,
      by,
      reason,
      since: isEnd(to) ? this.facts.workflow.createdAt : to === 'ready' ? this.facts.workflow.pausedAt : null,
      payload: pauseFacts(pauseCause),
    })
    this.#events.push(this.#moved)
  }

  /** Changes the workflow's own row in ways that are no change of state. */
  setWorkflow(update: Partial<WorkflowUpdate>): void {
    this.#update = { ...(this.#update ?? updateFrom(this.facts.workflow)), ...update }
  }

  /** Open dead letters as they will be, as far as the facts show them. */
  letters(): NewLetter[] {
    const { opened, closed } = this.#letters ?? noLetters
    const gone = new Set(closed.map(letter => letter.id))
    return [...this.facts.letters, ...opened].filter(letter => !gone.has(letter.id))
  }

  openLetter(letter: NewLetter): void {
    this.#letters ??= { opened: [], closed: [] }
    this.#letters.opened.push(letter)
    this.setWorkflow({ openLetters: this.workflow.openLetters + 1 })
    const { node, nodeName, executionId, attempt, reason } = letter
    this.note('letter.opened', { node, nodeName, executionId, attempt, reason })
  }

  closeLetter(letter: NewLetter, state: ClosedLetter['state'], request: Request): void {
    this.#letters ??= { opened: [], closed: [] }
    this.#letters.closed.push({ id: letter.id, state, ...request })
    this.setWorkflow({ openLetters: Math.max(0, this.workflow.openLetters - 1) })
    const { node, nodeName, executionId, attempt } = letter
    this.note(`letter.${state}`, { node, nodeName, executionId, attempt, ...request })
  }

  /** From now on this graph counts, whatever the class says. */
  freeze(graph: { readonly signature: string; readonly graph: string }): void {
    this.#graph = graph
    this.setWorkflow({ frozen: graph.signature, generation: 0 })
  }

  /** It goes on as another workflow once it has finished. */
  continueAs(continuation: Continuation): void {
    this.#continuation = continuation
  }

  /** An event of the workflow as a whole, or of a node that has no row. */
  note(type: NewEvent['type'], rest: Partial<NewEvent> = {}): void {
    this.#events.push(newEvent(this.workflowId, type, null, rest))
  }

  build(): WorkflowChange {
    const continuation = continuationIn(this, this.#continuation)
    if (continuation?.stage === 'begun') {
      const { id, first } = continuation.as
      this.#events.push(...continuationEvents(this.workflowId, id), ...first.map(scheduledEvent))
    }
    if (this.#ends()) this.#leaveNothing()
    const { replacements, insertions, removals, moves } = this.#live.build()
    return {
      workflowId: this.workflowId,
      update: this.#update,
      endings: this.#undo.applied(this.#endings),
      undone: this.#undo.before(this.#endings),
      dropped: this.facts.outworn,
      replacements,
      insertions,
      removals,
      moves,
      stops: this.#stops ?? nothing,
      fanIns: this.#counters.build(isEnd(this.state)),
      letters: this.#letters ?? noLetters,
      messages: this.#messages ?? noMessages,
      graph: this.#graph,
      continuation,
      wakes: this.#ends() && this.facts.workflow.watched && continuation?.stage !== 'begun',
      events: this.#events,
    }
  }

  #ends(): boolean {
    return isEnd(this.state) && !isEnd(this.facts.workflow.state)
  }

  /** What was given up, and what was to be done in time, is of no use to a workflow that has ended. */
  #leaveNothing(): void {
    this.dropTimer(deadlineSlot)
    for (const letter of this.letters()) {
      if (letter.kind === 'forward')
        this.closeLetter(letter, 'discarded', { by: null, reason: 'the workflow has ended' })
    }
  }

  #event(type: NewEvent['type'], row: About, rest: Partial<NewEvent>): void {
    this.#events.push(newEvent(this.workflowId, type, row, rest))
  }
}
