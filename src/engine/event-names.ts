/** How the events of rows are called: after what happened, not after the state alone. */
import type { NewExecution, RowMove } from '../store/change.ts'
import type { ActiveState } from '../store/records.ts'

/** A held row that is let go was suspended before, and is not suspended by that. */
export function moveName(from: ActiveState, to: RowMove['state']): string {
  if (to === 'paused') return 'held'
  if (to === 'waiting') return 'waiting'
  return from === 'in_progress' && to === 'suspended' ? 'suspended' : 'released'
}

export function eventName(state: NewExecution['state']): string {
  if (state === 'in_progress') return 'started'
  if (state === 'paused') return 'held'
  return state === 'waiting' ? 'waiting' : 'scheduled'
}
