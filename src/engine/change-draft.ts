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
  WorkflowChange,
  WorkflowFacts,
  WorkflowUpdate,
} from '../store/change.ts'
import type { ActiveExecution, EndedState, Outcome, PauseCause, StoredWorkflowState } from '../store/records.ts'
import { scheduledEvent } from '../store/scheduled-event.ts'
import type { EndingDetails, MoveDetails, Request } from './draft-details.ts'
import { isEnd } from './end-watch.ts'
import { endingFacts, eventName, moveName, pauseFacts } from './event-names.ts'
import { fanInChanges } from './fan-in-changes.ts'
import { freshRow, type LiveRow, type NextExecution } from './live-row.ts'
import { deadlineSlot } from './plan.ts'
import { checkExecutionTransition, checkWorkflowTransition } from './transitions.ts'

export type { EndingDetails, MoveDetails, Request } from './draft-details.ts'
export type { LiveRow, NextExecution } from './live-row.ts'

const goesOn: ReadonlySet<LiveRow['state']> = new Set(['scheduled', 'in_progress', 'suspended'])

export class ChangeDraft {
  readonly facts: WorkflowFacts
  /** The rows of the workflow as they will be, by slot, as far as the facts show them. */
  readonly #live: Map<string, LiveRow>
  readonly #existing: ReadonlySet<string>
  readonly #endings: Ending[] = []
  readonly #ended = new Map<string, LatestEnding>()
  readonly #next = new Map<string, NewExecution>()
  readonly #moves = new Map<string, RowMove>()
  readonly #fanIns = new Map<string, number>()
  readonly #events: NewEvent[] = []
  readonly #opened: NewLetter[] = []
  readonly #closed: ClosedLetter[] = []
  readonly #counts: boolean
  #update: WorkflowUpdate
  #updated = false
  #moved: NewEvent | null = null
  #graph: WorkflowChange['graph'] = null
  #continuation: Continuation | null = null

  /** `counts`: the graph has fan-ins, so counters may be left when the workflow ends. */
  constructor(facts: WorkflowFacts, { counts = false }: { readonly counts?: boolean } = {}) {
    this.facts = facts
    this.#counts = counts
    this.#live = new Map(facts.active.map(row => [row.slot, row]))
    this.#existing = new Set(this.#live.keys())
    const { state, pauseCause, blockedBy, finishing, crooked, openLetters, generation, frozen } = facts.workflow
    this.#update = { state, pauseCause, blockedBy, finishing, crooked, openLetters, generation, frozen }
  }

  get workflowId(): string {
    return this.facts.workflow.id
  }

  get state(): StoredWorkflowState {
    return this.#update.state
  }

  /** Nothing new starts: what falls due is kept until the workflow goes on. */
  get isHeld(): boolean {
    return this.state === 'paused' || this.state === 'dlq'
  }

  get workflow(): WorkflowUpdate {
    return this.#update
  }

  /** Steps and their like, without the timers of the engine. */
  rows(): LiveRow[] {
    return [...this.#live.values()].filter(row => row.kind !== 'timer')
  }

  rowIn(slot: string): LiveRow | null {
    return this.#live.get(slot) ?? null
  }

  /** Something can go on by itself: a row is scheduled, running or suspended. */
  goesOn(): boolean {
    const { othersGoOn } = this.facts
    invariant(othersGoOn !== null, `Nobody has looked whether other rows of workflow ${this.workflowId} go on.`)
    return othersGoOn || this.rows().some(row => goesOn.has(row.state))
  }

  /** The latest ended attempt of a node, as far as the facts show it. */
  latestOf(node: string): LatestEnding | null {
    return this.#ended.get(node) ?? this.facts.latest?.get(node) ?? this.facts.parents.get(node) ?? null
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
    this.#forget(row)
    this.#record(row, row.state, { ...details, state, outcome })
  }

  /** A new attempt that is over as soon as it exists: a failed step that a person skips. */
  insertEnded(row: EndingRow, state: EndedState, outcome: Outcome, details: EndingDetails = {}): void {
    checkExecutionTransition(row.id, 'new', state)
    this.#record(row, null, { ...details, state, outcome })
  }

  #record(row: EndingRow, from: string | null, end: EndingDetails & { state: EndedState; outcome: Outcome }): void {
    const { state, outcome, error = null, reason = null, output = null, by = null } = end
    const ending: Ending = { execution: row, state, outcome, error, reason, output }
    this.#endings.push(ending)
    if (row.kind === 'forward') this.#ended.set(row.node, { ...row, state, outcome })
    this.#event(`step.${state}`, row, { from, to: state, by, reason, ...endingFacts(ending) })
  }

  /** A new row, in the slot of one that has ended where there is one. */
  insert(execution: NextExecution): NewExecution {
    checkExecutionTransition(execution.id, 'new', execution.state)
    const there = this.#live.get(execution.slot)
    invariant(
      there === undefined,
      `Execution ${there?.id} stands where ${execution.node} of workflow ${this.workflowId} would.`,
    )
    const row = this.#put(execution)
    const { kind, state, owner, due } = execution
    this.#event(kind === 'timer' ? 'timer.scheduled' : `step.${eventName(state)}`, row, {
      to: state,
      by: owner,
      since: state === 'in_progress' && 'at' in due ? due.at : null,
    })
    return row
  }

  /** The same row in another state: held, let go, released, or waiting. */
  move(row: LiveRow, state: RowMove['state'], details: MoveDetails = {}): void {
    checkExecutionTransition(row.id, row.state, state)
    const heldFrom = state === 'paused' ? (details.heldFrom ?? 'scheduled') : null
    const fresh = this.#next.get(row.slot)
    if (fresh) {
      this.#put({ ...fresh, state, owner: null, due: details.due ?? fresh.due })
    } else {
      const fence = row.state === 'in_progress' ? row.fence + 1 : row.fence
      const before = this.#moves.get(row.slot)
      const progress = details.progress ?? before?.progress ?? null
      const input = details.input ?? before?.input ?? null
      const due = details.due ?? before?.due ?? null
      this.#moves.set(row.slot, { slot: row.slot, state, fence, heldFrom, progress, due, input })
      const changed = { progress: progress ?? row.progress, input: input ?? row.input }
      this.#live.set(row.slot, { ...row, ...changed, state, fence, heldFrom, owner: null })
    }
    const reason = details.reason ?? null
    const name = moveName(row.state, state)
    const type = row.kind === 'timer' ? (name === 'held' ? 'timer.held' : 'timer.released') : (`step.${name}` as const)
    this.#event(type, row, { from: row.state, to: state, reason })
  }

  /** What the row works on from now on. */
  giveInput(row: LiveRow, input: string): void {
    const { slot, state, fence, heldFrom } = row
    invariant(
      state !== 'in_progress',
      `Execution ${row.id} is running, so that it is too late to give it another input.`,
    )
    const before = this.#moves.get(slot) ?? { slot, state, fence, heldFrom, progress: null, due: null }
    this.#moves.set(slot, { ...before, input })
    this.#live.set(slot, { ...row, input })
  }

  /** Takes back a row that has not been begun: it is as if it had never been scheduled. */
  withdraw(row: LiveRow, reason: string): void {
    this.#forget(row)
    this.#event('step.withdrawn', row, { from: row.state, reason })
  }

  /** The same attempt under another name or in another slot, which its code has for it now. */
  rename(row: LiveRow, next: NextExecution): void {
    this.#forget(row)
    this.#put(next)
    if (row.node === next.node) return
    this.#event(
      'step.renamed',
      { ...row, node: next.node },
      { from: row.state, to: next.state, reason: `it was ${row.node}` },
    )
  }

  /** Timers that are no longer needed, or have done their work. */
  dropTimers(): void {
    for (const slot of [...this.#live.keys()]) this.dropTimer(slot)
  }

  /** One that was claimed has done its work. */
  dropTimer(slot: string): void {
    const row = this.#live.get(slot)
    if (row?.kind !== 'timer') return
    this.#forget(row)
    const to = row.state === 'in_progress' ? 'completed' : 'canceled'
    this.#event(`timer.${to}`, row, { from: row.state, to })
  }

  /** How many parents of the node are open; `null` while none has arrived. */
  openParents(node: string): number | null {
    return this.#fanIns.get(node) ?? this.facts.fanIns.get(node) ?? null
  }

  /** Zero means that the counter is not needed any more. */
  setOpenParents(node: string, open: number): void {
    this.#fanIns.set(node, open)
  }

  /** Counters that the facts show. */
  knownFanIns(): string[] {
    return [...new Set([...this.facts.fanIns.keys(), ...this.#fanIns.keys()])]
  }

  moveWorkflow(to: StoredWorkflowState, request: Request | null = null, pauseCause: PauseCause | null = null): void {
    const earlier = this.#moved
    // Resumed and over in one go: people see the end only.
    if (earlier?.to === 'ready' && isEnd(to)) this.#events.splice(this.#events.indexOf(earlier), 1)
    const from = earlier?.to === 'ready' && isEnd(to) ? (earlier.from as StoredWorkflowState) : this.state
    checkWorkflowTransition(this.workflowId, from, to)
    this.setWorkflow({ state: to, pauseCause })
    const { by = null, reason = null } = request ?? earlier ?? {}
    this.#moved = {
      workflowId: this.workflowId,
      type: `workflow.${to === 'ready' ? 'resumed' : to}`,
      from,
      to,
      by,
      reason,
      since: isEnd(to) ? this.facts.workflow.createdAt : to === 'ready' ? this.facts.workflow.pausedAt : null,
      ...pauseFacts(pauseCause),
    }
    this.#events.push(this.#moved)
  }

  /** Changes the workflow's own row in ways that are no change of state. */
  setWorkflow(update: Partial<WorkflowUpdate>): void {
    this.#update = { ...this.#update, ...update }
    this.#updated = true
  }

  /** Open dead letters as they will be, as far as the facts show them. */
  letters(): NewLetter[] {
    const closed = new Set(this.#closed.map(letter => letter.id))
    return [...this.facts.letters, ...this.#opened].filter(letter => !closed.has(letter.id))
  }

  openLetter(letter: NewLetter): void {
    this.#opened.push(letter)
    this.setWorkflow({ openLetters: this.#update.openLetters + 1 })
    const { node, executionId, attempt, reason } = letter
    this.note('letter.opened', { node, executionId, attempt, reason })
  }

  closeLetter(letter: NewLetter, state: ClosedLetter['state'], request: Request): void {
    this.#closed.push({ id: letter.id, state, ...request })
    this.setWorkflow({ openLetters: Math.max(0, this.#update.openLetters - 1) })
    const { node, executionId, attempt } = letter
    this.note(`letter.${state}`, { node, executionId, attempt, ...request })
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
    this.#events.push({ workflowId: this.workflowId, type, by: null, reason: null, ...rest })
  }

  build(): WorkflowChange {
    const continuation = this.#buildContinuation()
    if (this.#updated && isEnd(this.state)) this.#leaveNothing()
    const next = [...this.#next.values()]
    const gone = [...this.#existing].filter(slot => !this.#live.has(slot))
    return {
      workflowId: this.workflowId,
      update: this.#updated ? this.#update : null,
      endings: this.#endings,
      dropped: this.facts.outworn,
      replacements: next.filter(row => this.#existing.has(row.slot)),
      insertions: next.filter(row => !this.#existing.has(row.slot)),
      removals: gone.map(slot => ({ slot })),
      moves: [...this.#moves.values()],
      fanIns: fanInChanges(this.facts.fanIns, this.#fanIns, { isOver: isEnd(this.state), counts: this.#counts }),
      letters: { opened: this.#opened, closed: this.#closed },
      graph: this.#graph,
      continuation,
      wakes: this.#updated && isEnd(this.state) && this.facts.workflow.watched && continuation?.stage !== 'begun',
      events: this.#events,
    }
  }

  /** What was given up, and what was to be done in time, is of no use to a workflow that has ended. */
  #leaveNothing(): void {
    this.dropTimer(deadlineSlot)
    for (const letter of this.letters()) {
      if (letter.kind === 'forward')
        this.closeLetter(letter, 'discarded', { by: null, reason: 'the workflow has ended' })
    }
  }

  /** Begun by whoever finishes the workflow. One that ends otherwise is not continued. */
  #buildContinuation(): WorkflowChange['continuation'] {
    const stored = this.facts.workflow.continuation
    const as = this.#continuation ?? (stored === null ? null : (JSON.parse(stored) as Continuation))
    if (as === null) return null
    if (!isEnd(this.state)) return this.#continuation === null ? null : { stage: 'planned', as }
    if (!this.#updated || this.state !== 'finished') return null
    this.note('workflow.continued', { reason: `as workflow ${as.id}` })
    const reason = `continues workflow ${this.workflowId}`
    this.#events.push({ workflowId: as.id, type: 'workflow.started', to: 'ready', reason })
    this.#events.push(...as.first.map(scheduledEvent))
    return { stage: 'begun', as }
  }

  #put(execution: NextExecution): NewExecution {
    const row = freshRow(this.workflowId, execution)
    this.#next.set(row.slot, row)
    this.#live.set(row.slot, row)
    return row
  }

  #forget(row: LiveRow): void {
    this.#live.delete(row.slot)
    this.#next.delete(row.slot)
    this.#moves.delete(row.slot)
  }

  #event(type: NewEvent['type'], row: Pick<ActiveExecution, 'id' | 'node' | 'attempt'>, rest: Partial<NewEvent>): void {
    const { id: executionId, node, attempt } = row
    this.#events.push({ workflowId: this.workflowId, type, executionId, node, attempt, ...rest })
  }
}
