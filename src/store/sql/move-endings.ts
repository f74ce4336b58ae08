/**
 * Copies rows that end to history and takes them away, or gives them to what follows, in one go: each is looked up once. For databases whose
 * writes return what was there.
 */
import { invariant } from '../../primitives/invariant.ts'
import type { NewExecution } from '../change.ts'
import type { SqlContext } from './context.ts'
import { type Columns, rowSet } from './row-set.ts'
import { Counted, raw, type Sql, sql } from './sql.ts'
import { tellEnds, tellHandover } from './told-events.ts'
import { copyOf, keyColumns, newColumns, writeOver } from './write-active.ts'
import {
  copiedNames,
  endColumns,
  type Handover,
  historyNames,
  knownColumns,
  type StandingEnding,
  stillHeld,
} from './write-records.ts'

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
    const { takeReturned } = at.dialect
    invariant(takeReturned !== undefined, 'What is deleted cannot be taken by another write here.')
    return takeReturned(deleteReturning(at, rows, raw('')), insertReturned(at, returnedBy[0]))
  })
}

interface Move {
  /** Which of the writes it is. */
  readonly place?: 0 | 1
  /** That the rows have ended is all that there is to be told, and is told with it. */
  readonly tells?: boolean
}

/** The same of rows that nobody has looked at: all of them must stand as they are known. */
export function moveKnown(
  context: SqlContext,
  endings: readonly StandingEnding[],
  { place = 0, tells = false }: Move = {},
): Counted {
  const statement = context.statement(moveKnown, [context.rows('r', rowSet(knownColumns, endings))], (at, rows) =>
    deleteReturning(at, rows, sql` and ${stillHeld('r.known_id', 'r.known_fence')}`),
  )
  const told = tells ? [context.statement(tellEnds, [returnedBy[place]], tellEnds)] : []
  return new Counted(statement, endings.length, [takerAt(context, place), ...told])
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

/** In a chain what follows stands one further in everything, and comes after the row that it is given. */
const further: Readonly<Record<string, { readonly column: Columns<Handover>[string]; readonly value: string }>> = {
  ordinal: {
    column: ['int', ({ row, next }) => (next.ordinal === row.ordinal + 1 ? null : next.ordinal), 'next'],
    value: 'coalesce(r.ordinal, a.ordinal + 1)',
  },
  fence: {
    column: ['int', ({ row, next }) => (next.fence === row.fence + 1 ? null : next.fence), 'next'],
    value: 'coalesce(r.fence, a.fence + 1)',
  },
  parents: {
    column: ['text', ({ row, next }) => (isAfter(next, row.id) ? null : next.ancestry.parents.join(' ')), 'next'],
    value: 'coalesce(r.parents, cast(a.id as text))',
  },
}

function isAfter({ ancestry: { parents } }: NewExecution, id: string): boolean {
  return parents.length === 1 && parents[0] === id
}

const handoverColumns: Columns<Handover> = Object.fromEntries([
  ...Object.entries(newColumns).map(([name, [type, read, alike]]) => {
    const ofNext = ({ next }: Handover) => read(next)
    const column: Columns<Handover>[string] = alike === undefined ? [type, ofNext] : [type, ofNext, alike]
    return [name, further[name]?.column ?? column]
  }),
  ...Object.entries(knownColumns)
    .filter(([name]) => !(name in keyColumns))
    .map(([name, column]) => [isNew(name) ? ended + name : name, column]),
])

/** What the events about what follows are made of. */
const following = ['id', 'node', 'node_name', 'attempt', 'owner'].map(name => `a.${name} as next_${name}`).join(', ')

const returnedOld = sql`${returning('old', ended)}, ${raw(following)}`

/**
 * Rows that nobody has looked at are given to what follows as they are copied: all of them must stand as they are known. `tell`: that the one
 * has ended and the other has begun is all that there is to be told, and is told with it.
 */
export function handOver(context: SqlContext, handovers: readonly Handover[], tell: boolean): Counted {
  const statement = context.statement(handOver, [context.rows('r', rowSet(handoverColumns, handovers))], (at, rows) => {
    const on = sql`${at.sameRow} and ${stillHeld('r.known_id', 'r.known_fence')}`
    const read = (name: string) => (further[name] === undefined ? copyOf(name) : raw(further[name].value))
    return sql`${writeOver(at, rows, on, read)} returning ${returnedOld}`
  })
  const told = tell ? [context.statement(tellHandover, [returnedBy[0]], tellHandover)] : []
  return new Counted(statement, handovers.length, [takerAt(context, 0), ...told])
}
