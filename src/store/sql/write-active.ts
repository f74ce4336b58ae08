/**
 * Writes the active rows: inserted, moved on in place, held, let go, removed. Due times are computed by the database.
 */
import type { Due, NewExecution, RowMove } from '../change.ts'
import { sortKey } from './aging.ts'
import type { SqlContext } from './context.ts'
import { type Columns, rowSet } from './row-set.ts'
import { join, raw, type Sql, sql } from './sql.ts'

/** States in which a row may be claimed. */
const claimable = raw(`r.state in ('scheduled', 'suspended')`)

/** A time that is known, not a delay from now. */
const isOld = raw('r.delay is null')

type Key = { readonly workflowId: string; readonly slot: string }

export const keyColumns: Columns<Key> = {
  workflow_id: ['id', key => key.workflowId, 'fan'],
  slot: ['text', key => key.slot, 'slot'],
}

/** Columns that are copied as they come; the rest is computed. */
const copiedColumns: Columns<NewExecution> = {
  ...keyColumns,
  id: ['id', row => row.id],
  // Most nodes of a graph stand in the slot of their name.
  node: ['text', row => (row.node === row.slot ? null : row.node), 'node'],
  node_name: ['text', row => row.nodeName ?? null, 'name'],
  kind: ['text', row => row.kind, 'course'],
  attempt: ['int', row => row.attempt, 'course'],
  ordinal: ['int', row => row.ordinal, 'fan'],
  state: ['text', row => row.state, 'course'],
  queue: ['text', row => row.queue, 'code'],
  handler: ['text', row => row.handler, 'code'],
  lane: ['text', row => row.lane ?? '', 'code'],
  generation: ['int', row => row.generation, 'code'],
  priority: ['int', row => row.priority, 'code'],
  owner: ['text', row => row.owner, 'course'],
  fence: ['int', row => row.fence, 'fan'],
  failures: ['int', row => row.failures, 'course'],
  crashes: ['int', row => row.crashes, 'course'],
  cursor_value: ['json', row => row.progress.cursor, 'course'],
  completed_iterations: ['int', row => row.progress.completedIterations, 'course'],
  total_iterations: ['int', row => row.progress.total, 'course'],
  runs: ['int', row => row.progress.runs, 'course'],
  input: ['json', row => row.input, 'course'],
  ancestry_hash: ['text', row => row.ancestry.hash],
  parents: ['text', row => row.ancestry.parents.join(' '), 'fan'],
}

const copied = Object.keys(copiedColumns)

/** What a row of a set has in a column. */
export function copyOf(name: string): Sql {
  return raw(name === 'node' ? 'coalesce(r.node, r.slot)' : `r.${name}`)
}

/** A due time is known, or it is a delay from now. */
export function dueColumnsOf<Item>(read: (item: Item) => Due | null): Columns<Item> {
  const known = (due: Due | null) => (due !== null && 'at' in due ? due.at : null)
  const delay = (due: Due | null) => (due !== null && 'inMs' in due ? Math.ceil(due.inMs * 1000) : null)
  return {
    known_due: ['int', item => known(read(item)), 'course'],
    delay: ['int', item => delay(read(item)), 'course'],
  }
}

const dueColumns = dueColumnsOf<{ readonly due: Due | null }>(item => item.due)

/** Made once: what is known of a set goes by the columns. */
export const newColumns: Columns<NewExecution> = {
  ...copiedColumns,
  ...dueColumns,
  known_start: ['int', row => row.startedAt ?? null, 'course'],
}

/** Of a row of a set with these columns. */
export function dueTime({ now }: SqlContext): Sql {
  return sql`coalesce(r.known_due, ${now} + r.delay)`
}

function newRows(context: SqlContext, executions: readonly NewExecution[]): Sql {
  return context.rows('r', rowSet(newColumns, executions))
}

const kept = copied.filter(name => name !== 'workflow_id' && name !== 'slot')

function computed(context: SqlContext): readonly (readonly [string, Sql])[] {
  const { now } = context
  const due = dueTime(context)
  return [
    ['created_at', now],
    ['due_at', due],
    ['sort_key', sql`case when ${claimable} then ${sortKey(context, due, raw('r.priority'), isOld)} end`],
    ['started_at', sql`case when r.state = 'in_progress' then ${now} else r.known_start end`],
    ['start_mark', raw('0')],
    // A row that begins its life held was never anything but scheduled.
    ['held_from', raw(`case when r.state = 'paused' then 'scheduled' end`)],
  ]
}

export function replaceActive(context: SqlContext, executions: readonly NewExecution[]): Sql {
  return context.statement(replaceActive, [newRows(context, executions)], (at, rows) => writeOver(at, rows, at.sameRow))
}

/** Makes another row of one: the rows `r` of the set have `newColumns` at least, and `read` says what is in one of them. */
export function writeOver(context: SqlContext, rows: Sql, on: Sql, read = copyOf): Sql {
  const assignments = [...kept.map(name => [name, read(name)] as const), ...computed(context)]
  return context.dialect.updateFrom(context.tables.active, rows, on, assignments)
}

export function insertActive(context: SqlContext, executions: readonly NewExecution[], filter: Sql | null = null): Sql {
  const rows = newRows(context, executions)
  return filter === null
    ? context.statement(insertActive, [rows], writeActive)
    : sql`${writeActive(context, rows)}${filter}`
}

/** In a statement that goes by what was inserted, all that an event tells of it. */
export function insertReturning(
  context: SqlContext,
  executions: readonly NewExecution[],
  make: (context: SqlContext, insertion: Sql) => Sql,
): Sql {
  return context.statement(make, [newRows(context, executions)], (at, rows) =>
    make(at, sql`${writeActive(at, rows)} returning workflow_id, id, node, node_name, attempt, owner`),
  )
}

function writeActive(context: SqlContext, rows: Sql): Sql {
  const extra = computed(context)
  const names = raw([...copied, ...extra.map(([name]) => name)].join(', '))
  const values = join([...copied.map(copyOf), ...extra.map(([, value]) => value)], ', ')
  return sql`insert into ${context.tables.active} (${names}) select ${values} from ${rows}`
}

export function deleteActive(context: SqlContext, keys: readonly Key[]): Sql {
  return context.statement(deleteActive, [context.rows('r', rowSet(keyColumns, keys))], (at, rows) =>
    at.dialect.deleteFrom(at.tables.active, rows, ['workflow_id', 'slot']),
  )
}

/** The flag stands where a held row keeps what it goes back to; a running one is not held. */
export function stopActive(context: SqlContext, keys: readonly Key[]): Sql {
  const rows = context.rows('r', rowSet(keyColumns, keys))
  const same = sql`${context.sameRow} and a.state = 'in_progress'`
  return context.dialect.updateFrom(context.tables.active, rows, same, [['held_from', raw(`'stopping'`)]])
}

const moveColumns: Columns<RowMove & Key> = {
  ...keyColumns,
  ...dueColumns,
  state: ['text', move => move.state],
  fence: ['int', move => move.fence],
  held_from: ['text', move => move.heldFrom],
  input: ['json', move => move.input],
  moved: ['int', move => (move.progress === null ? 0 : 1)],
  cursor_value: ['json', move => move.progress?.cursor ?? null],
  completed_iterations: ['int', move => move.progress?.completedIterations ?? null],
  total_iterations: ['int', move => move.progress?.total ?? null],
  runs: ['int', move => move.runs ?? move.progress?.runs ?? null],
  crashes: ['int', move => move.crashes ?? null],
}

/** The row stays what it is. One that was never begun, or is released, counts as not started. */
export function moveActive(context: SqlContext, moves: readonly (RowMove & Key)[]): Sql {
  const due = sql`coalesce(r.known_due, ${context.now} + r.delay, a.due_at)`
  const ifMoved = (name: string) => raw(`case when r.moved = 1 then r.${name} else a.${name} end`)
  return context.dialect.updateFrom(
    context.tables.active,
    context.rows('r', rowSet(moveColumns, moves)),
    context.sameRow,
    [
      ['state', raw('r.state')],
      ['fence', raw('r.fence')],
      ['owner', raw('null')],
      ['start_mark', raw('0')],
      ['started_at', raw(`case when coalesce(r.held_from, r.state) in ('suspended', 'waiting') then a.started_at end`)],
      ['held_from', raw('r.held_from')],
      ['due_at', due],
      ['sort_key', sql`case when ${claimable} then ${sortKey(context, due, raw('a.priority'), isOld)} end`],
      ['input', raw('coalesce(r.input, a.input)')],
      ['cursor_value', ifMoved('cursor_value')],
      ['completed_iterations', ifMoved('completed_iterations')],
      ['total_iterations', ifMoved('total_iterations')],
      ['runs', raw('coalesce(r.runs, a.runs)')],
      // Whoever brings progress has not crashed.
      ['crashes', raw('case when r.moved = 1 then 0 else coalesce(r.crashes, a.crashes) end')],
    ],
  )
}
