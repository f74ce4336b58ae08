/**
 * Which events are written by the statements that write the rows they are about, and in what order the others stand around those. Only many
 * of a kind are, and only if they say nothing that the rows do not.
 */
import type { NewEvent, NewExecution } from '../change.ts'
import type { SqlContext } from './context.ts'
import type { Turns } from './event-turns.ts'
import { manyBranches } from './row-set.ts'
import { saysBegin, saysEnd } from './told-events.ts'
import type { StandingEnding } from './write-records.ts'

export interface ToldByRows {
  /** That the rows have ended is told as they go to history, before everything else. */
  readonly ends: boolean
  /** That rows begin is told as they are inserted, behind `before`. */
  readonly begins: boolean
  readonly before: Turns
  readonly after: Turns
}

interface Rows {
  /** That are known to stand so, and to go. */
  readonly ends: readonly StandingEnding[]
  readonly begins: readonly NewExecution[]
}

export function toldByRows({ dialect }: SqlContext, turns: Turns, { ends, begins }: Rows): ToldByRows {
  if (dialect.takeReturned === undefined) return { ends: false, begins: false, before: [], after: turns }
  const [first = [], ...later] = turns
  const end = tellsAll(first, ends, saysEnd)
  const open = end === null ? turns : [without(first, end), ...later]
  for (const [index, turn] of open.entries()) {
    const begin = tellsAll(turn, begins, saysBegin)
    if (begin === null) continue
    const after = [without(turn, begin), ...open.slice(index + 1)]
    return { ends: end !== null, begins: true, before: open.slice(0, index), after }
  }
  return { ends: end !== null, begins: false, before: [], after: open }
}

type Turn = Turns[number]

/** The events of which each says what its row does, and no row is left out. */
function tellsAll<Row>(turn: Turn, rows: readonly Row[], says: (event: NewEvent, row: Row) => boolean) {
  if (rows.length < manyBranches) return null
  const isTold = (event: NewEvent, index: number) => {
    const row = rows[index]
    return row !== undefined && says(event, row)
  }
  return turn.find(events => events.length === rows.length && events.every(isTold)) ?? null
}

function without(turn: Turn, told: readonly NewEvent[]): Turn {
  return turn.filter(events => events !== told)
}
