/**
 * Rebuilds from its events where a workflow and its executions stand, and says where one event does not follow from those
 * before it. Pure: the events in, the state out.
 */
import type { EventRecord, Outcome } from '../store/records.ts'

export interface FoldedExecution {
  readonly id: string
  readonly node: string
  readonly attempt: number
  readonly state: string
  readonly isTimer: boolean
  /** How it ended; `null` while it has not. */
  readonly outcome: Outcome | null
}

export interface EventFlaw {
  readonly executionId: string | null
  readonly node: string | null
  readonly problem: string
}

export interface FoldedWorkflow {
  /** `null` where no event tells. */
  readonly state: string | null
  readonly executions: ReadonlyMap<string, FoldedExecution>
  /** Executions whose dead letters are open. */
  readonly letters: ReadonlySet<string>
  readonly flaws: readonly EventFlaw[]
}

const ends: ReadonlySet<string> = new Set(['completed', 'failed', 'skipped', 'canceled', 'compensating', 'rolled_back'])

/** What the events of executions begin with. */
const aboutExecutions: ReadonlySet<string> = new Set(['step', 'compensation', 'timer'])

export function isEndedState(state: string): boolean {
  return ends.has(state)
}

export function foldEvents(events: readonly EventRecord[]): FoldedWorkflow {
  const fold = new Fold()
  for (const event of events) fold.add(event)
  return fold
}

class Fold implements FoldedWorkflow {
  state: string | null = null
  readonly executions = new Map<string, FoldedExecution>()
  readonly letters = new Set<string>()
  readonly flaws: EventFlaw[] = []

  add(event: EventRecord): void {
    const [about] = event.type.split('.')
    // It says something of an execution, and moves nothing.
    if (event.type === 'step.unserved') return
    if (about === 'workflow') this.#moveWorkflow(event)
    else if (aboutExecutions.has(about ?? '') && event.executionId !== null) {
      this.#moveExecution(event, event.executionId)
    } else if (about === 'letter' && event.executionId !== null) {
      this.#moveLetter(event, event.executionId)
    }
  }

  #moveWorkflow(event: EventRecord): void {
    const { from, to } = event
    if (to === null) return
    if (from !== this.state)
      this.#flaw(event, `it says that the workflow was ${from ?? 'new'}, which was ${this.state}`)
    this.state = to
  }

  #moveExecution(event: EventRecord, id: string): void {
    const before = this.executions.get(id)
    const { from, to } = event
    if ((before?.state ?? null) !== from) {
      this.#flaw(event, `it says that the execution was ${from ?? 'new'}, which was ${before?.state ?? 'new'}`)
    }
    const isTimer = event.type.startsWith('timer.')
    // What is taken back was never there, and of a timer nothing is kept.
    if (to === null || (isTimer && isEndedState(to))) {
      this.executions.delete(id)
      return
    }
    this.executions.set(id, {
      id,
      node: event.node ?? '',
      attempt: event.attempt ?? 0,
      state: to,
      isTimer,
      // A rollback moves the state alone.
      outcome: event.outcome ?? (isEndedState(to) ? (before?.outcome ?? null) : null),
    })
  }

  #moveLetter(event: EventRecord, id: string): void {
    if (event.type === 'letter.opened') this.letters.add(id)
    else if (!this.letters.delete(id)) this.#flaw(event, 'it closes a dead letter that was not open')
  }

  #flaw({ id, type, executionId, node }: EventRecord, problem: string): void {
    this.flaws.push({ executionId, node, problem: `Event ${id} (${type}) does not follow: ${problem}.` })
  }
}
