/**
 * The order in which many events are written: first those of one type with which each workflow begins, then those of the next
 * type of each, and so on. Events of one type go together, because they have most of their columns in common, and those of
 * one workflow keep their order.
 */
import type { NewEvent } from '../change.ts'
import type { SqlContext } from './context.ts'
import { inPieces } from './row-set.ts'
import type { Sql } from './sql.ts'
import { insertEvents } from './write-records.ts'

/** Written one after another; what is in one is in any order. */
export type Turns = readonly (readonly (readonly NewEvent[])[])[]

/** Fewer than these go together, whatever they are. */
const many = 32
/** A workflow whose events change their type more often than that is not taken apart. */
const mostTurns = 4

/** `lists`: the events of one workflow each. */
export function eventTurns(lists: readonly (readonly NewEvent[])[]): Turns {
  const count = lists.reduce((sum, events) => sum + events.length, 0)
  if (count === 0) return []
  const turns: Map<string, NewEvent[]>[] = []
  for (const events of count < many ? [] : lists) {
    let turn = -1
    let type: string | null = null
    for (const event of events) {
      if (event.type !== type) turn++
      type = event.type
      place(turns, turn, event)
    }
  }
  return turns.length === 0 || turns.length > mostTurns ? [[lists.flat()]] : turns.map(turn => [...turn.values()])
}

function place(turns: Map<string, NewEvent[]>[], index: number, event: NewEvent): void {
  const turn = turns[index] ?? new Map<string, NewEvent[]>()
  turns[index] = turn
  const same = turn.get(event.type)
  if (same === undefined) turn.set(event.type, [event])
  else same.push(event)
}

/** Statements of which none goes by what another one writes, and the events that go with them. */
export function withEvents(
  context: SqlContext,
  statements: readonly Sql[],
  lists: readonly (readonly NewEvent[])[],
): readonly Sql[] {
  const [first = [], ...later] = eventTurns(lists).map(turn => writtenTurn(context, turn))
  return [...context.together([...statements, ...first]), ...later.flatMap(turn => context.together(turn))]
}

/** The events by themselves, in their order. */
export function eventStatements(context: SqlContext, turns: Turns): readonly Sql[] {
  return turns.flatMap(turn => writtenTurn(context, turn))
}

function writtenTurn(context: SqlContext, turn: Turns[number]): Sql[] {
  return turn.flatMap(events => inPieces(context, events, (at, piece) => insertEvents(at, piece)))
}
