/** Timers: rows that wake the engine itself. Any worker may fire them, since they run no code of the application. */
import type { Due } from '../store/change.ts'
import { noProgress } from '../store/records.ts'
import type { ChangeDraft } from './change-draft.ts'
import { type Plan, timerHandler, timerQueue } from './plan.ts'

export interface Timer {
  readonly slot: string
  readonly due: Due
  /** Empty: it is for the workflow as a whole. */
  readonly node?: string
  readonly input?: string
  /** Executions that it belongs to. */
  readonly parents?: readonly string[]
}

export function insertTimer(draft: ChangeDraft, plan: Plan, timer: Timer): void {
  draft.insert({
    slot: timer.slot,
    id: plan.takeId(),
    node: timer.node ?? '',
    kind: 'timer',
    attempt: 1,
    ordinal: 0,
    state: 'scheduled',
    queue: timerQueue,
    handler: timerHandler,
    generation: 0,
    priority: 0,
    due: timer.due,
    owner: null,
    fence: 0,
    failures: 0,
    crashes: 0,
    progress: noProgress,
    input: timer.input ?? null,
    ancestry: { hash: '', parents: timer.parents ?? [] },
  })
}
