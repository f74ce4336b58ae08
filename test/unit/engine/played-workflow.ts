/**
 * A workflow that is played through in memory: decisions are made from what the store would show them, and their changes
 * are applied as the store would, with every key that a database enforces. It has no clock: whatever is scheduled may run.
 */
import type { Graph, NodeKind } from '../../../src/definition/graph.ts'
import { ancestryOf } from '../../../src/engine/ancestry.ts'
import { ChangeDraft } from '../../../src/engine/change-draft.ts'
import { type Course, mayHaveCounters, planOf } from '../../../src/engine/courses.ts'
import { decideFinish } from '../../../src/engine/decide-finish.ts'
import { decideStopTimer, decideTakeover } from '../../../src/engine/decide-recovery.ts'
import type { FinishRequest } from '../../../src/engine/finish-request.ts'
import { closerLook, mayBeUndone, needsHealing, targetFor } from '../../../src/engine/finish-targets.ts'
import { IdPool, IdReserve } from '../../../src/engine/id-pool.ts'
import { type Plan, slotOf } from '../../../src/engine/plan.ts'
import { undoSlot } from '../../../src/engine/rollback.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import { undoRowOf } from '../../../src/engine/undo-view.ts'
import { isCalledOnce } from '../../../src/engine/unknown-outcome.ts'
import { fireWaitTimer } from '../../../src/engine/waits.ts'
import { stopTimerSlot } from '../../../src/engine/wind-down.ts'
import type {
  Ending,
  LatestEnding,
  NewEvent,
  NewExecution,
  UndoFacts,
  WorkflowChange,
  WorkflowFacts,
} from '../../../src/store/change.ts'
import type {
  ActiveExecution,
  DecisionRecord,
  LetterRecord,
  SignalRecord,
  WorkflowRecord,
} from '../../../src/store/records.ts'
import type { ChangeTarget } from '../../../src/store/store.ts'
import { completed, facts, row } from './facts.ts'

/** These decisions bring their own ids. */
const noReserve = new IdReserve({ takeIds: async () => [] })

const goesOn = ['scheduled', 'in_progress', 'suspended']

export class PlayedWorkflow {
  graph: Graph
  generation = 1
  workflow: WorkflowRecord = { ...facts({}).workflow, generation: 1 }
  readonly rows = new Map<string, ActiveExecution>()
  readonly history: Ending[] = []
  readonly counters = new Map<string, number>()
  readonly events: string[] = []
  /** The same, with all that they say. */
  readonly record: NewEvent[] = []
  /** Those that are open. */
  readonly letters = new Map<string, LetterRecord>()
  readonly handled: LetterRecord[] = []
  readonly decisions: DecisionRecord[] = []
  readonly signals: SignalRecord[] = []
  #earlier: Graph | null = null
  #ids = 100

  constructor(graph: Graph) {
    this.graph = graph
    for (const node of graph.entries) {
      this.#write({
        ...row({ owner: null, startedAt: null, fence: 0 }),
        node: node.id,
        slot: slotOf(graph, node.id),
        id: String(this.#ids++),
        state: 'scheduled',
        queue: node.queue,
        priority: node.priority,
        generation: 1,
        due: { inMs: node.waitMs },
        ancestry: ancestryOf(node.id, 1, []),
      })
    }
  }

  /** Nodes and the states of their rows: `a scheduled, b paused`. */
  get standing(): string {
    const steps = [...this.rows.values()].filter(({ kind }) => kind !== 'timer')
    return steps.map(({ node, state }) => `${node} ${state}`).join(', ')
  }

  /** How attempts have ended, in order: `a completed, b failed`. */
  get story(): string {
    return this.history
      .map(({ execution, state }) => `${execution.kind === 'compensate' ? 'undo ' : ''}${execution.node} ${state}`)
      .join(', ')
  }

  /** What has become of dead letters, in the order they were opened: `a open, b requeued`. */
  get mail(): string {
    const all = [...this.handled, ...this.letters.values()].toSorted((a, b) => Number(a.id) - Number(b.id))
    return all.map(({ node, state }) => `${node} ${state}`).join(', ')
  }

  attemptsAt(node: string): Ending[] {
    return this.history.filter(({ execution }) => execution.node === node && execution.kind === 'forward')
  }

  /** Of all nodes of a kind. */
  attemptsOf(kind: NodeKind): Ending[] {
    return this.graph.nodes.filter(node => node.kind === kind).flatMap(({ id }) => this.attemptsAt(id))
  }

  rowOf(node: string): ActiveExecution {
    const found = [...this.rows.values()].find(active => active.node === node && active.kind === 'forward')
    if (found === undefined) throw new Error(`${node} has no row; there are: ${this.standing}`)
    return found
  }

  /** The graph of the newest code. */
  deploy(graph: Graph): void {
    this.#earlier = this.graph
    this.graph = graph
    this.generation++
  }

  /** A worker claims the row of the node. */
  begin(node: string): ActiveExecution {
    const idle = this.rowOf(node)
    if (idle.state === 'in_progress') return idle
    if (!goesOn.includes(idle.state)) throw new Error(`${node} is ${idle.state}`)
    const running: ActiveExecution = {
      ...idle,
      state: 'in_progress',
      owner: 'worker',
      fence: idle.fence + 1,
      startedAt: 2000,
      progress: { ...idle.progress, runs: idle.progress.runs + 1 },
    }
    this.rows.set(idle.slot, running)
    return running
  }

  /** A worker claims the compensation that is due. */
  beginUndo(): ActiveExecution {
    const idle = this.rows.get(undoSlot)
    if (idle === undefined) throw new Error(`nothing is being undone; there are: ${this.standing}`)
    const running = { ...idle, state: 'in_progress' as const, owner: 'worker', fence: idle.fence + 1, startedAt: 2000 }
    this.rows.set(undoSlot, running)
    return running
  }

  /** Tells the node whose compensation has ended so. */
  undo(report: StepReport = completed): string {
    const execution = this.beginUndo()
    this.#finish([this.#request(execution, report)])
    return execution.node
  }

  /** Claims what is to be claimed, and reports that it has completed: all in one transaction. */
  complete(...nodes: string[]): void {
    this.report(...nodes.map(node => [node, completed] as const))
  }

  report(...reports: readonly (readonly [node: string, report: StepReport])[]): void {
    this.#finish(reports.map(([node, report]) => this.#request(this.begin(node), report)))
  }

  /** A timer has fallen due, and a worker has claimed it. */
  fire(slot: string): void {
    const timer = this.rows.get(slot)
    if (timer === undefined) throw new Error(`there is no timer in ${slot}`)
    const running = { ...timer, state: 'in_progress' as const, owner: 'worker', fence: timer.fence + 1 }
    this.rows.set(slot, running)
    this.#decide(this.#asked({ workflowId: '7', lockRows: true }), draft => {
      draft.dropTimer(slot)
      if (slot === stopTimerSlot) decideStopTimer(draft, this.#plan())
      else fireWaitTimer(draft, this.#plan(), running)
    })
  }

  #request(execution: ActiveExecution, report: StepReport): FinishRequest {
    const claimed = { execution, workflow: this.workflow, input: null }
    return { claimed, report, progress: null, emitted: [], runOn: null, ids: new IdPool(noReserve), repeated: false }
  }

  #finish(requests: readonly FinishRequest[]): void {
    const course = this.#course()
    const seen = this.#look(targetFor(course, requests))
    const look = closerLook(course, seen, requests)
    const parents = new Map((look?.parents ?? []).flatMap(node => this.#latest().get(node) ?? []).map(e => [e.node, e]))
    const waiting = (look?.waiting ?? []).flatMap(({ prefix, count }) =>
      this.#sorted()
        .filter(({ slot, state }) => slot.startsWith(prefix) && state === 'waiting')
        .slice(0, count),
    )
    const facts = {
      ...seen,
      parents,
      active: [...seen.active, ...waiting],
      othersGoOn: look?.others ? this.#othersGoOn(seen.active) : seen.othersGoOn,
      undo: look?.undo ? this.#undo() : null,
      decisions: this.decisions.filter(({ executionId }) => look?.decided?.includes(executionId)),
      signals: this.#kept().filter(({ node }) => look?.signaled?.includes(node)),
    }
    const plan = this.#plan(needsHealing(course, requests))
    this.#decide(facts, draft => {
      for (const { claimed, report } of requests) {
        const found = facts.active.find(active => active.id === claimed.execution.id)
        // What was decided on its neighbours may have ended it.
        if (found && draft.rowIn(found.slot)?.id === found.id) decideFinish(draft, found, report, { plan, runOn: null })
      }
    })
  }

  #othersGoOn(seen: readonly ActiveExecution[]): boolean {
    const known = new Set(seen.map(({ slot }) => slot))
    return [...this.rows.values()].some(
      ({ slot, kind, state }) => !known.has(slot) && kind !== 'timer' && goesOn.includes(state),
    )
  }

  /** Signals that no node has taken. */
  #kept(): SignalRecord[] {
    return this.signals.filter(({ takenBy }) => takenBy === null)
  }

  /** Somebody outside asks for something. */
  ask(decide: (draft: ChangeDraft, plan: Plan) => void): void {
    const facts = this.#asked({ workflowId: '7', withLatest: true, lockRows: true })
    this.#decide(facts, draft => decide(draft, this.#plan()))
  }

  /** What requests and timers are decided on. */
  #asked(target: ChangeTarget): WorkflowFacts {
    const waiting = new Set([...this.rows.values()].filter(({ state }) => state === 'waiting').map(({ id }) => id))
    return {
      ...this.#look(target),
      undo: mayBeUndone(this.#course(), this.workflow) ? this.#undo() : null,
      decisions: this.decisions.filter(({ executionId }) => waiting.has(executionId)),
      signals: this.#kept(),
    }
  }

  /** The workers of the nodes are lost. */
  lose(...nodes: string[]): void {
    const lost = nodes.map(node => this.begin(node))
    this.ask((draft, plan) => {
      for (const running of lost) if (draft.rowIn(running.slot)?.id === running.id) decideTakeover(draft, running, plan)
    })
  }

  /** The worker of the compensation is lost in mid-call. */
  loseUndo(): void {
    const begun = this.beginUndo()
    // Only what is called once has the mark of a call.
    const startMark = isCalledOnce(this.graph, begun) ? (true as const) : ('turn' as const)
    const lost = { ...begun, startMark }
    this.rows.set(undoSlot, lost)
    this.ask((draft, plan) => decideTakeover(draft, lost, plan))
  }

  #decide(seen: WorkflowFacts, decide: (draft: ChangeDraft) => void): void {
    const draft = new ChangeDraft(seen, { counts: mayHaveCounters(this.#course()) })
    decide(draft)
    this.#apply(draft.build())
  }

  #course(): Course {
    const { generation, crooked } = this.workflow
    const changed = generation !== this.generation
    return {
      graph: this.graph,
      generation: this.generation,
      previous: changed ? this.#earlier : null,
      former: this.#earlier?.isSaga ? [this.#earlier] : [],
      isOwn: true,
      frozen: null,
      heals: changed || crooked,
      workflow: this.workflow,
    }
  }

  #plan(heals?: boolean): Plan {
    return planOf(this.#course(), { take: () => String(this.#ids++) }, heals)
  }

  #latest(): Map<string, LatestEnding> {
    return new Map(
      this.history
        .filter(({ execution }) => execution.kind === 'forward')
        .map(({ execution, state, outcome, reason }) => [execution.node, { ...execution, state, outcome, reason }]),
    )
  }

  #undo(): UndoFacts {
    const rows = this.history.toReversed().map(ending => ({ ...ending.execution, ...ending }))
    const forward = this.history.toReversed().filter(({ execution }) => execution.kind === 'forward')
    return {
      rows: forward.map(undoRowOf),
      tried: rows
        .filter(row => row.kind === 'compensate')
        .map(row => ({ ...row, undoes: row.ancestry.parents[0] ?? '' })),
      others: [],
      isWhole: true,
    }
  }

  #sorted(): ActiveExecution[] {
    return [...this.rows.values()].toSorted((a, b) => (a.slot < b.slot ? -1 : 1))
  }

  #look({ slots, fanIns = [], withLatest = false }: ChangeTarget): WorkflowFacts {
    const all = this.#sorted()
    const counters = [...this.counters].filter(([node]) => withLatest || fanIns.includes(node))
    return {
      ...facts({}),
      workflow: this.workflow,
      active: slots === undefined ? all : all.filter(({ slot }) => slots.includes(slot)),
      complete: slots === undefined,
      othersGoOn: slots === undefined ? false : null,
      latest: withLatest ? this.#latest() : null,
      fanIns: new Map(counters),
      letters: [...this.letters.values()],
    }
  }

  #apply(change: WorkflowChange): void {
    for (const ending of change.endings) {
      const { node, attempt, kind } = ending.execution
      refuse(
        this.history.some(({ execution: e }) => e.node === node && e.kind === kind && e.attempt === attempt),
        `attempt ${attempt} at ${node} ends twice`,
      )
      this.history.push(ending)
    }
    for (const { id, state } of change.undone) {
      const index = this.history.findIndex(({ execution }) => execution.id === id)
      const before = this.history[index]
      if (before === undefined) throw new Error(`no ended row ${id} to move`)
      this.history[index] = { ...before, state }
    }
    for (const { slot } of change.removals) refuse(!this.rows.delete(slot), `no row to remove in ${slot}`)
    for (const next of change.replacements) {
      refuse(!this.rows.has(next.slot), `no row to replace in ${next.slot}`)
      this.#write(next)
    }
    for (const next of change.insertions) {
      refuse(this.rows.has(next.slot), `there is a row in ${next.slot}`)
      this.#write(next)
    }
    for (const move of change.moves) this.#move(move)
    this.#applyCounters(change.fanIns)
    this.#applyMessages(change)
    if (change.update) this.workflow = { ...this.workflow, ...change.update }
    this.events.push(...change.events.map(({ type, node }) => (node ? `${type} ${node}` : type)))
    this.record.push(...change.events)
  }

  #applyMessages({ letters, messages }: WorkflowChange): void {
    const handled = { handledAt: null, handledBy: null, handledReason: null }
    for (const letter of letters.opened) {
      const about = { workflowId: '7', workflowType: 'Sample', state: 'open' as const, createdAt: 1000 }
      this.letters.set(letter.id, { ...letter, ...about, ...handled })
    }
    for (const { id, state } of letters.closed) {
      const letter = this.letters.get(id)
      if (letter === undefined) throw new Error(`letter ${id} is closed twice`)
      this.letters.delete(id)
      this.handled.push({ ...letter, state })
    }
    for (const decision of messages.decisions) {
      const again = this.decisions.some(
        ({ executionId, by }) => executionId === decision.executionId && by === decision.by,
      )
      refuse(again, `${decision.by} decides twice on ${decision.node}`)
      this.decisions.push({ ...decision, workflowId: '7', at: 1000 })
    }
    this.signals.push(...messages.signals.map(signal => ({ ...signal, workflowId: '7', at: 1000 })))
    for (const { id, executionId } of messages.taken) {
      const index = this.signals.findIndex(signal => signal.id === id && signal.takenBy === null)
      const signal = this.signals[index]
      if (signal === undefined) throw new Error(`signal ${id} is taken twice`)
      this.signals[index] = { ...signal, takenBy: executionId }
    }
  }

  #applyCounters({ inserted, updated, removed, cleared }: WorkflowChange['fanIns']): void {
    for (const { node } of removed) refuse(!this.counters.delete(node), `no counter to remove at ${node}`)
    if (cleared) this.counters.clear()
    for (const { node, open } of updated) {
      refuse(!this.counters.has(node), `no counter to update at ${node}`)
      this.counters.set(node, open)
    }
    for (const { node, open } of inserted) {
      refuse(this.counters.has(node), `there is a counter at ${node}`)
      this.counters.set(node, open)
    }
  }

  #write(next: NewExecution): void {
    const { due, lane = '', nodeName = null, ...rest } = next
    this.rows.set(next.slot, {
      ...rest,
      nodeName,
      lane,
      createdAt: 1000,
      dueAt: 'at' in due ? due.at : 1000 + due.inMs * 1000,
      startedAt: next.state === 'in_progress' ? 1000 : null,
      startMark: false,
      heldFrom: next.state === 'paused' ? 'scheduled' : null,
    })
  }

  #move({ slot, state, fence, heldFrom, progress, input, crashes, runs }: WorkflowChange['moves'][number]): void {
    const before = this.rows.get(slot)
    if (before === undefined) throw new Error(`no row to move in ${slot}`)
    const run = { ...before.progress, runs: runs ?? before.progress.runs }
    const kept = progress === null ? { progress: run, crashes: crashes ?? before.crashes } : { progress, crashes: 0 }
    const given = input === null ? {} : { input }
    this.rows.set(slot, { ...before, ...kept, ...given, state, fence, heldFrom, owner: null, startMark: false })
  }
}

function refuse(broken: boolean, why: string): void {
  if (broken) throw new Error(why)
}
