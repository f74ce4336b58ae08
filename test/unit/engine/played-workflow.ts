/**
 * A workflow that is played through in memory: decisions are made from what the store would show them, and their changes
 * are applied as the store would, with every key that a database enforces. It has no clock: whatever is scheduled may run.
 */
import type { Graph } from '../../../src/definition/graph.ts'
import { ancestryOf } from '../../../src/engine/ancestry.ts'
import { ChangeDraft } from '../../../src/engine/change-draft.ts'
import { type Course, mayHaveCounters, planOf } from '../../../src/engine/courses.ts'
import { decideFinish } from '../../../src/engine/decide-finish.ts'
import { decideTakeover } from '../../../src/engine/decide-recovery.ts'
import type { FinishRequest } from '../../../src/engine/finish-request.ts'
import { closerLook, needsHealing, targetFor } from '../../../src/engine/finish-targets.ts'
import { IdPool, IdReserve } from '../../../src/engine/id-pool.ts'
import { type Plan, slotOf } from '../../../src/engine/plan.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import type { Ending, LatestEnding, NewExecution, WorkflowChange, WorkflowFacts } from '../../../src/store/change.ts'
import type { ActiveExecution, LetterRecord, WorkflowRecord } from '../../../src/store/records.ts'
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
  readonly letters = new Map<string, LetterRecord>()
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
    return this.history.map(({ execution, state }) => `${execution.node} ${state}`).join(', ')
  }

  /** What has become of dead letters, in the order they were opened: `a open, b requeued`. */
  get mail(): string {
    return [...this.letters.values()].map(({ node, state }) => `${node} ${state}`).join(', ')
  }

  attemptsAt(node: string): Ending[] {
    return this.history.filter(ending => ending.execution.node === node)
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

  /** Claims what is to be claimed, and reports that it has completed: all in one transaction. */
  complete(...nodes: string[]): void {
    this.report(...nodes.map(node => [node, completed] as const))
  }

  report(...reports: readonly (readonly [node: string, report: StepReport])[]): void {
    const requests = reports.map(([node, report]): FinishRequest => {
      const execution = this.begin(node)
      const claimed = { execution, workflow: this.workflow, input: null }
      return { claimed, report, progress: null, runOn: null, ids: new IdPool(noReserve), repeated: false }
    })
    const course = this.#course()
    const seen = this.#look(targetFor(course, requests))
    const look = closerLook(course, seen, requests)
    const parents = new Map((look?.parents ?? []).flatMap(node => this.#latest().get(node) ?? []).map(e => [e.node, e]))
    const waiting = (look?.waiting ?? []).flatMap(({ prefix, count }) =>
      this.#sorted()
        .filter(({ slot, state }) => slot.startsWith(prefix) && state === 'waiting')
        .slice(0, count),
    )
    const facts = { ...seen, parents, active: [...seen.active, ...waiting] }
    const plan = { ...this.#plan(), heals: needsHealing(course, requests) }
    this.#decide(facts, draft => {
      for (const { claimed, report } of requests) {
        const found = facts.active.find(active => active.id === claimed.execution.id)
        if (found) decideFinish(draft, found, report, { plan, runOn: null })
      }
    })
  }

  /** Somebody outside asks for something. */
  ask(decide: (draft: ChangeDraft, plan: Plan) => void): void {
    const target = { workflowId: '7', withLatest: true, lockRows: true }
    this.#decide(this.#look(target), draft => decide(draft, this.#plan()))
  }

  /** The workers of the nodes are lost. */
  lose(...nodes: string[]): void {
    const lost = nodes.map(node => this.begin(node))
    this.ask((draft, plan) => {
      for (const running of lost) decideTakeover(draft, running, plan)
    })
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
      isOwn: true,
      frozen: null,
      heals: changed || crooked,
      workflow: this.workflow,
    }
  }

  #plan(): Plan {
    return planOf(this.#course(), () => String(this.#ids++))
  }

  #latest(): Map<string, LatestEnding> {
    return new Map(
      this.history.map(({ execution, state, outcome }) => [execution.node, { ...execution, state, outcome }]),
    )
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
      othersGoOn:
        slots !== undefined &&
        all.some(({ slot, kind, state }) => !slots.includes(slot) && kind !== 'timer' && goesOn.includes(state)),
      latest: withLatest ? this.#latest() : null,
      fanIns: new Map(counters),
      letters: [...this.letters.values()].filter(({ state }) => state === 'open'),
    }
  }

  #apply(change: WorkflowChange): void {
    for (const ending of change.endings) {
      const { node, attempt } = ending.execution
      refuse(
        this.attemptsAt(node).some(({ execution }) => execution.attempt === attempt),
        `attempt ${attempt} at ${node} ends twice`,
      )
      this.history.push(ending)
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
    this.#applyLetters(change.letters)
    if (change.update) this.workflow = { ...this.workflow, ...change.update }
    this.events.push(...change.events.map(({ type, node }) => (node ? `${type} ${node}` : type)))
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

  #applyLetters({ opened, closed }: WorkflowChange['letters']): void {
    const fresh = { workflowId: '7', workflowType: 'Sample', state: 'open', createdAt: 1000, handledAt: null } as const
    for (const letter of opened)
      this.letters.set(letter.id, { ...letter, ...fresh, handledBy: null, handledReason: null })
    for (const { id, state, by, reason } of closed) {
      const letter = this.letters.get(id)
      if (letter?.state !== 'open') throw new Error(`no open letter ${id} to close`)
      this.letters.set(id, { ...letter, state, handledAt: 2000, handledBy: by, handledReason: reason })
    }
  }

  #write(next: NewExecution): void {
    const { due, lane = '', ...rest } = next
    this.rows.set(next.slot, {
      ...rest,
      lane,
      createdAt: 1000,
      dueAt: 'at' in due ? due.at : 1000 + due.inMs * 1000,
      startedAt: next.state === 'in_progress' ? 1000 : null,
      startMark: false,
      heldFrom: next.state === 'paused' ? 'scheduled' : null,
    })
  }

  #move({ slot, state, fence, heldFrom, progress }: WorkflowChange['moves'][number]): void {
    const before = this.rows.get(slot)
    if (before === undefined) throw new Error(`no row to move in ${slot}`)
    const kept = progress === null ? {} : { progress, crashes: 0 }
    this.rows.set(slot, { ...before, ...kept, state, fence, heldFrom, owner: null, startMark: false })
  }
}

function refuse(broken: boolean, why: string): void {
  if (broken) throw new Error(why)
}
