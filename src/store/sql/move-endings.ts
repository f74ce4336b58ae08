/**
 * Copies rows that end to history and takes them away, or gives them to what follows, in one go: each is looked up once. For databases whose
 * writes return what was there.
 */
import { invariant } from '../../primitives/invariant.ts'
import type { NewExecution } from '../change.ts'
import type { SqlContext } from './context.ts'
import { rowSet, sideBySide } from './row-set.ts'
import { Counted, raw, type Sql, sql } from './sql.ts'
import { keyColumns, newColumns, writeOver } from './write-active.ts'
import { copiedNames, endColumns, historyNames, knownColumns, type StandingEnding, stillHeld } from './write-records.ts'

/** What the first and the second write of a statement have returned. */
const returnedBy = [raw('s0'), raw('s1')] as const

const isNew = (name: string) => name in endColumns && !(name in keyColumns)

/** What is copied, as a write of the rows returns it: `row` is the row as it was, `prefix` stands before what is new about it. */
function returning(row: string, prefix: string): Sql {
  return raw(historyNames.map(name => `${isNew(name) ? `r.${prefix}${name}` : `${row}.${name}`} as ${name}`).join(', '))
}

const returnedRow = returning('a', '')

/** Rows that go as they are copied. Not every database can do that. */
export function moveToHistory(context: SqlContext, endings: readonly StandingEnding[]): Sql {
  return context.statement(moveToHistory, [context.rows('r', rowSet(endColumns, endings))], (at, rows) => {
    const { takeDeleted } = at.dialect
    invariant(takeDeleted !== undefined, 'What is deleted cannot be taken by another write here.')
    return takeDeleted(deleteReturning(at, rows, raw('')), insertReturned(at, returnedBy[0]))
  })
}

/** The same of rows that nobody has looked at: all of them must stand as they are known. `place`: which of the writes it is. */
export function moveKnown(context: SqlContext, endings: readonly StandingEnding[], place: 0 | 1 = 0): Counted {
  const statement = context.statement(moveKnown, [context.rows('r', rowSet(knownColumns, endings))], (at, rows) =>
    deleteReturning(at, rows, sql` and ${stillHeld('r.known_id', 'r.known_fence')}`),
  )
  return new Counted(statement, endings.length, takerAt(context, place))
}

function deleteReturning({ tables, sameRow }: SqlContext, rows: Sql, further: Sql): Sql {
  return sql`delete from ${tables.active} as a using ${rows} where ${sameRow}${further} returning ${returnedRow}`
}

function takerAt(context: SqlContext, place: 0 | 1): Sql {
  return context.statement(takerAt, [returnedBy[place]], insertReturned)
}

function insertReturned({ tables, now }: SqlContext, returned: Sql): Sql {
  return sql`insert into ${tables.history} (${copiedNames}, ended_at) select ${copiedNames}, ${now} from ${returned}`
}

/** Stands before what is new about the row that ends, in a set that has what follows it as well. */
const ended = 'ended_'

const handoverSet = sideBySide(
  newColumns,
  Object.fromEntries(
    Object.entries(knownColumns)
      .filter(([name]) => !(name in keyColumns))
      .map(([name, column]) => [isNew(name) ? ended + name : name, column]),
  ),
)

const returnedOld = returning('old', ended)

/** A row that ends, and what it becomes. */
export interface Handover extends StandingEnding {
  readonly next: NewExecution
}

/** Rows that nobody has looked at are given to what follows as they are copied: all of them must stand as they are known. */
export function handOver(context: SqlContext, handovers: readonly Handover[]): Counted {
  const set = handoverSet(
    handovers.map(({ next }) => next),
    handovers,
  )
  const statement = context.statement(handOver, [context.rows('r', set)], (at, rows) => {
    const on = sql`${at.sameRow} and ${stillHeld('r.known_id', 'r.known_fence')}`
    return sql`${writeOver(at, rows, on)} returning ${returnedOld}`
  })
  return new Counted(statement, handovers.length, takerAt(context, 0))
}
