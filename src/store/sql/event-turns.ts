/**
 * The order in which many events are written: first the first of each workflow, then the second of each, and so on. In each
 * turn those of one type go together, because they have most of their columns in common. Events of one workflow keep their order.
 */
import type { NewEvent } from '../change.ts'

/** Fewer than these go together, whatever they are. */
const many = 32

/** `lists`: the events of one workflow each. The turns must be written one after another, what is in one in any order. */
export function eventTurns(lists: readonly (readonly NewEvent[])[]): (readonly NewEvent[])[][] {
  const count = lists.reduce((sum, events) => sum + events.length, 0)
  if (count === 0) return []
  if (count < many) return [[lists.flat()]]
  const turns: Map<string, NewEvent[]>[] = []
  for (const events of lists) {
    for (let index = 0; index < events.length; index++) place(turns, index, events[index] as NewEvent)
  }
  return turns.map(turn => [...turn.values()])
}

function place(turns: Map<string, NewEvent[]>[], index: number, event: NewEvent): void {
  const turn = turns[index] ?? new Map<string, NewEvent[]>()
  turns[index] = turn
  const same = turn.get(event.type)
  if (same === undefined) turn.set(event.type, [event])
  else same.push(event)
}
