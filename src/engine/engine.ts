/**
 * Moves workflows on: brings the store's facts and the pure decisions together. It holds no state of its own but the
 * code it knows, so any number of engines may work on one database.
 */
import { FormRegistry } from '../definition/form-registry.ts'
import type { JobRegistry } from '../definition/job-registry.ts'
import type { Registry } from '../definition/registry.ts'
import { isGenevaError, LetterNotFoundError, WorkflowNotFoundError } from '../errors.ts'
import type { WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { ActiveExecution, LetterRecord, WorkflowRecord } from '../store/records.ts'
import type { ChangeCall, ChangeTarget, CloserLook, OpenApplicationTransaction, Store } from '../store/store.ts'
import { RecentArrivals } from './arrivals.ts'
import { ChangeDraft, type Request } from './change-draft.ts'
import { endedIn, wakeNode } from './child-nodes.ts'
import { type Course, Courses, isOnCourse, mayHaveCounters, planOf } from './courses.ts'
import {
  type AfterDiscard,
  decideRequeue,
  discardLetter,
  endFromLetters,
  goOnFromOvertaken,
  openLetter,
  type Requeue,
} from './dead-letters.ts'
import { decideDeadline } from './deadlines.ts'
import { decideDecision, decideSignal, type GivenDecision, type GivenSignal } from './decide-message.ts'
import { decideStopTimer } from './decide-recovery.ts'
import {
  decideAbort,
  decideCancel,
  decidePause,
  decideReattempt,
  decideResolve,
  decideResume,
  decideSkip,
  type Resolution,
} from './decide-request.ts'
import { EndWatch } from './end-watch.ts'
import { mayBeUndone } from './finish-targets.ts'
import { IdPool, IdReserve, withEnoughIds } from './id-pool.ts'
import { Openings } from './openings.ts'
import { namesOf } from './parents.ts'
import { cascadeSlotPrefix, deadlineSlot, type Plan, waitSlotPrefix, wakeSlotPrefix } from './plan.ts'
import { type Tried, wasDone, wasTold } from './settle-request.ts'
import type { Tracing } from './tracing.ts'
import { fireWaitTimer } from './waits.ts'
import { childrenIn, type StopRequest, stopTimerSlot } from './wind-down.ts'

/** How often the graph of a workflow may change between the look at it and the lock. */
const maxRounds = 10
/** Timers that wait take the room of steps. What is left of them is found by the heartbeat. */
const timerPatienceMs = 3000

/** What an engine may know besides its code. */
export interface EngineExtras {
  readonly forms?: FormRegistry
  readonly tracing?: Tracing | null
  readonly transactions?: OpenApplicationTransaction | null
}

export class Engine {
  readonly store: Store
  readonly registry: Registry
  readonly jobs: JobRegistry
  readonly forms: FormRegistry
  readonly courses: Courses
  readonly ids: IdReserve
  /** Tells whoever waits in this process that a workflow has ended. */
  readonly ends = new EndWatch()
  readonly arrivals = new RecentArrivals()
  /** Room in the workers of this process. */
  readonly openings = new Openings()
  /** `null` while nobody traces. */
  readonly tracing: Tracing | null
  /** Opens transactions of the application; `null`: they are ours. */
  readonly transactions: OpenApplicationTransaction | null

  constructor(store: Store, registry: Registry, jobs: JobRegistry, extras: EngineExtras = {}) {
    const { forms, tracing, transactions } = extras
    this.tracing = tracing ?? null
    this.transactions = transactions ?? null
    this.store = store
    this.registry = registry
    this.jobs = jobs
    this.forms = forms ?? new FormRegistry([])
    this.courses = new Courses(store, registry)
    this.ids = new IdReserve(store)
    this.ends.onEnd(id => this.courses.dropFrozen(id))
  }

  /** Makes the code of this process known. Must be called before anything else. */
  async register(): Promise<void> {
    await this.courses.register()
  }

  async pause(id: string, request: Request): Promise<void> {
    await this.#changeOne(id, { lockRows: true }, draft => decidePause(draft, request))
  }

  async resume(id: string, request: Request): Promise<void> {
    await this.#changeOne(id, { withLatest: true }, (draft, plan) => decideResume(draft, request, plan))
  }

  async cancel(id: string, request: Request): Promise<void> {
    await this.#changeOne(id, { withLatest: true }, (draft, plan) => decideCancel(draft, request, plan))
  }

  async abort(id: string, request: Request): Promise<void> {
    await this.#changeOne(id, { withLatest: true }, (draft, plan) => decideAbort(draft, request, plan))
  }

  async skip(id: string, node: string, request: Request): Promise<void> {
    await this.#changeOne(id, { withLatest: true }, (draft, plan) =>
      decideSkip(draft, plan.graph.idOf(node), request, plan),
    )
  }

  async resolve(id: string, resolution: Resolution): Promise<void> {
    await this.#changeOne(id, { withLatest: true }, (draft, plan) =>
      decideResolve(draft, { ...resolution, node: plan.graph.idOf(resolution.node) }, plan),
    )
  }

  async reattempt(id: string, node: string, request: Request): Promise<void> {
    await this.#changeOne(id, { withLatest: true }, (draft, plan) =>
      decideReattempt(draft, plan.graph.idOf(node), request, plan),
    )
  }

  /** A person has decided on a node that waits for people. */
  async decide(id: string, node: string, decision: GivenDecision): Promise<void> {
    await this.#changeOne(id, { withLatest: true }, (draft, plan) =>
      decideDecision(draft, plan, plan.graph.idOf(node), decision),
    )
  }

  /** A message has come for a node that waits for it, or will. */
  async signal(id: string, node: string, signal: GivenSignal): Promise<void> {
    await this.#changeOne(id, { withLatest: true, signalKey: signal.key }, (draft, plan) =>
      decideSignal(draft, plan, plan.graph.idOf(node), signal),
    )
  }

  /** The work of a dead letter goes on. */
  async requeue(requeue: Requeue): Promise<void> {
    const letter = await this.findLetter(requeue.letterId)
    await this.#changeOne(letter.workflowId, lookFor(letter), (draft, plan) => decideRequeue(draft, requeue, plan))
  }

  /** A dead letter is given up for good, and the workflow with it, unless only its step is left out. */
  async discard(letterId: string, then: AfterDiscard, request: Request): Promise<void> {
    const letter = await this.findLetter(letterId)
    const { workflowId, node, kind } = letter
    await this.#changeOne(workflowId, lookFor(letter), (draft, plan) => {
      openLetter(draft, letterId, 'discard')
      if (kind === 'forward' && then === 'skip') {
        decideSkip(draft, node, request, plan)
        return
      }
      discardLetter(draft, letterId, request)
      // The workflow goes its way: what could not be undone is not.
      if (kind !== 'compensate') endFromLetters(draft, then, request, plan)
    })
  }

  async findLetter(id: string): Promise<LetterRecord> {
    const [found] = this.store.isId(id) ? await this.store.listLetters({ id, limit: 1 }) : []
    if (found === undefined) throw new LetterNotFoundError(id)
    return found
  }

  /** Changes what a workflow goes by, with everything in sight. */
  async changeCourse(id: string, decide: (draft: ChangeDraft, plan: Plan) => void): Promise<void> {
    await this.#changeOne(id, { withLatest: true }, decide)
  }

  /** Decides on a workflow with everything in sight, and writes nothing. */
  async look<T>(id: string, see: (draft: ChangeDraft, plan: Plan) => T): Promise<T> {
    const workflow = await this.find(id)
    const course = await this.courses.one(workflow)
    const seen: T[] = []
    const look = (facts: WorkflowFacts) => {
      seen.push(see(new ChangeDraft(facts), planOf(course, { take: () => '0' })))
      return null
    }
    await this.store.change([{ workflowId: id, withLatest: true }], look, { look: historyToo, inLine: true })
    const [found] = seen.slice(-1)
    if (found === undefined) throw new WorkflowNotFoundError(id)
    return found
  }

  /** A timer has fallen due and was claimed. Rejects where others have its workflow locked for more than a moment: it can be fired later. */
  async fireTimer(timer: ActiveExecution): Promise<void> {
    if (timer.slot.startsWith(cascadeSlotPrefix)) await this.#cancelChild(timer)
    if (timer.slot === deadlineSlot) {
      const target = { withLatest: true, patienceMs: timerPatienceMs }
      await this.#changeOne(timer.workflowId, target, (draft, plan) => decideDeadline(draft, timer, plan))
      return
    }
    const wakes = timer.slot.startsWith(wakeSlotPrefix)
    const states = wakes ? [endedIn(timer).id] : []
    // One that people have confirmed enough by now ends with its time, and what follows goes by all that was done.
    const withLatest = timer.slot.startsWith(waitSlotPrefix)
    const target = { lockRows: true, states, withLatest, patienceMs: timerPatienceMs }
    await this.#changeOne(timer.workflowId, target, (draft, plan) => {
      if (!holds(draft.facts, timer)) return
      // First: its place may be taken by the next one.
      draft.dropTimer(timer.slot)
      if (timer.slot === stopTimerSlot) decideStopTimer(draft, plan)
      else if (timer.slot.startsWith(waitSlotPrefix)) fireWaitTimer(draft, plan, timer)
      else if (wakes) wakeNode(draft, plan, timer.node, endedIn(timer))
      goOnFromOvertaken(draft, plan)
    })
  }

  /** Comes before the timer is dropped: a process that dies in between does it again. */
  async #cancelChild(timer: ActiveExecution): Promise<void> {
    const { child, by, reason, how = 'cancel' } = JSON.parse(timer.input ?? '{}') as { child: string } & StopRequest
    for (let id: string | null = child; id !== null; ) {
      try {
        await this[how](id, { by, reason })
        return
      } catch (error) {
        // It has ended by itself meanwhile, or was removed.
        if (!isGenevaError(error, 'INVALID_STATE') && !isGenevaError(error, 'WORKFLOW_NOT_FOUND')) throw error
        id = (await this.store.findWorkflow(id))?.workflow.continuedAs ?? null
      }
    }
  }

  async #changeOne(id: string, target: Looked, decide: (draft: ChangeDraft, plan: Plan) => void): Promise<void> {
    let found: WorkflowRecord | null = await this.find(id)
    for (let round = 0; found !== null && round < maxRounds; round++) {
      found = await this.#tryOne(found, target, decide)
    }
  }

  async find(id: string): Promise<WorkflowRecord> {
    const found = this.store.isId(id) ? await this.store.findWorkflow(id) : null
    if (found === null) throw new WorkflowNotFoundError(id)
    return found.workflow
  }

  /** The last of the workflows that go on from one another, from this one on. */
  async findLast(id: string): Promise<WorkflowRecord> {
    let found = await this.find(id)
    while (found.continuedAs !== null) found = await this.find(found.continuedAs)
    return found
  }

  /** Gives the workflow back if it has taken another course meanwhile; nothing was changed then. */
  async #tryOne(
    workflow: WorkflowRecord,
    { undo = true, signalKey = null, states = [], patienceMs, ...target }: Looked,
    decide: (draft: ChangeDraft, plan: Plan) => void,
  ): Promise<WorkflowRecord | null> {
    const course = await this.courses.one(workflow)
    const pool = new IdPool(this.ids)
    const outcome: { seen: boolean; moved: WorkflowRecord | null; tried: Tried | null } = {
      seen: false,
      moved: null,
      tried: null,
    }
    const once = (facts: WorkflowFacts): WorkflowChange | null => {
      outcome.seen = true
      // A try before this one may have been committed without its answer: then it is as it was asked for.
      if (outcome.tried !== null && wasTold(outcome.tried, facts)) return null
      if (!isOnCourse(course, facts.workflow)) {
        outcome.moved = facts.workflow
        return null
      }
      pool.rewind()
      const draft = new ChangeDraft(facts, { counts: mayHaveCounters(course) })
      try {
        decide(draft, planOf(course, pool))
      } catch (error) {
        if (outcome.tried !== null && wasDone(outcome.tried, facts)) return null
        throw error
      }
      const change = draft.build()
      outcome.tried = { facts, asked: change }
      return isEmpty(change) ? null : change
    }
    const look = (facts: WorkflowFacts): CloserLook => {
      const history = historyToo(facts)
      return {
        ...history,
        states: [...history.states, ...states],
        undo: mayBeUndone(course, facts.workflow) && undo,
        ...messagesFor(course, facts, outcome.tried),
        signalKey,
      }
    }
    const call: ChangeCall = { look, inLine: true, ...(patienceMs === undefined ? {} : { patienceMs }) }
    const changes = await withEnoughIds(this.ids, () =>
      this.store.change([{ ...target, workflowId: workflow.id }], once, call),
    )
    if (!outcome.seen) throw new WorkflowNotFoundError(workflow.id)
    this.ends.noteAll(changes)
    return outcome.moved
  }
}

/** What a request looks at, and how long it waits for that. */
type Looked = Omit<ChangeTarget, 'workflowId'> &
  Partial<Pick<CloserLook, 'undo' | 'signalKey' | 'states'>> &
  Pick<ChangeCall, 'patienceMs'>

/** Whatever becomes of the letter of a compensation concerns what that undoes, and nothing else. */
function lookFor({ id, kind, executionId }: LetterRecord): Looked {
  if (kind === 'forward') return { withLatest: true }
  return { lockRows: true, letters: [id], undo: { of: [executionId], waiting: 0 } }
}

/** A request may end in a rollback, which goes by what the workflow has done, and its children. */
export function historyToo({ active }: WorkflowFacts): CloserLook {
  return { parents: [], starts: [], states: childrenIn(active), waiting: [], outworn: [], others: false, undo: true }
}

/** What people and others have said: to nodes that wait, under every name that they have had, and what a try before this one would have written. */
function messagesFor({ graph }: Course, { active }: WorkflowFacts, tried: Tried | null): Partial<CloserLook> {
  const waiting = active.filter(row => row.state === 'waiting').map(row => row.id)
  const { decisions = [], signals = [] } = tried?.asked.messages ?? {}
  return {
    decided: [...new Set([...waiting, ...decisions.map(decision => decision.executionId)])],
    signaled: graph.nodes.flatMap(node => (node.kind === 'signal' ? namesOf(graph, node.id) : [])),
    signals: signals.map(signal => signal.id),
  }
}

function isEmpty(change: WorkflowChange): boolean {
  return change.update === null && change.events.length === 0 && change.removals.length === 0
}

/** The row is still what it was when it was found: same attempt, same claim. */
export function holds(facts: WorkflowFacts, row: ActiveExecution): boolean {
  return facts.active.some(active => active.id === row.id && isSameClaim(active, row))
}

/** The row is still under the claim that it was under then. */
export function isSameClaim(now: ActiveExecution, then: ActiveExecution): boolean {
  return now.state === 'in_progress' && now.fence === then.fence && now.owner === then.owner
}
