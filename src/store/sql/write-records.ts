/**
 * Writes history: ended executions, which only a rollback touches again, and events, which nothing does. Only old attempts
 * of a step that repeats itself go.
 */
import type { Ending, NewEvent, NewExecution, WorkflowChange } from '../change.ts'
import type { ActiveExecution } from '../records.ts'
import type { SqlContext } from './context.ts'
import { type Columns, rowSet } from './row-set.ts'
import { Counted, join, raw, type Sql, sql } from './sql.ts'

const historyColumns = {
  id: ['id', ({ execution }) => execution.id],
  workflow_id: ['id', ({ execution }) => execution.workflowId],
  node: ['text', ({ execution }) => execution.node],
  node_name: ['text', ({ execution }) => execution.nodeName],
  kind: ['text', ({ execution }) => execution.kind],
  attempt: ['int', ({ execution }) => execution.attempt],
  ordinal: ['int', ({ execution }) => execution.ordinal],
  state: ['text', ending => ending.state],
  outcome: ['text', ending => ending.outcome],
  created_at: ['int', ({ execution }) => execution.createdAt],
  due_at: ['int', ({ execution }) => execution.dueAt],
  started_at: ['int', ({ execution }) => execution.startedAt],
  owner: ['text', ({ execution }) => execution.owner],
  error_class: ['text', ({ error }) => error?.className ?? null],
  error_message: ['text', ({ error }) => error?.message ?? null],
  error_stack: ['text', ({ error }) => error?.stack ?? null],
  reason: ['text', ending => ending.reason],
  output: ['json', ending => ending.output],
  cursor_value: ['json', ({ execution }) => execution.progress.cursor],
  completed_iterations: ['int', ({ execution }) => execution.progress.completedIterations],
  total_iterations: ['int', ({ execution }) => execution.progress.total],
  runs: ['int', ({ execution }) => execution.progress.runs],
  input: ['json', ({ execution }) => execution.input],
  ancestry_hash: ['text', ({ execution }) => execution.ancestry.hash],
  parents: ['text', ({ execution }) => execution.ancestry.parents.join(' ')],
} satisfies Columns<Ending>

export function insertHistory(context: SqlContext, endings: readonly Ending[], filter: Sql | null = null): Sql {
  const names = Object.keys(historyColumns)
  // A row that is inserted already ended has no times of its own.
  const value = (name: string) =>
    name === 'created_at' || name === 'due_at' ? sql`coalesce(${raw(`r.${name}`)}, ${context.now})` : raw(`r.${name}`)
  return sql`insert into ${context.tables.history} (${raw(names.join(', '))}, ended_at)
    select ${join(names.map(value), ', ')}, ${context.now} from ${context.rows('r', rowSet(historyColumns, endings))}${filter ?? raw('')}`
}

export interface StandingEnding {
  readonly ending: Ending
  /** It still stands so. */
  readonly row: ActiveExecution
}

/** A row that ends, and what it becomes. */
export interface Handover extends StandingEnding {
  readonly next: NewExecution
}

/** Only what is new about a row that stands there. */
export const endColumns: Columns<StandingEnding> = {
  workflow_id: ['id', ({ row }) => row.workflowId, 'fan'],
  slot: ['text', ({ row }) => row.slot, 'slot'],
  state: ['text', ({ ending }) => ending.state, 'course'],
  outcome: ['text', ({ ending }) => ending.outcome, 'course'],
  error_class: ['text', ({ ending }) => ending.error?.className ?? null, 'course'],
  error_message: ['text', ({ ending }) => ending.error?.message ?? null, 'course'],
  error_stack: ['text', ({ ending }) => ending.error?.stack ?? null, 'course'],
  reason: ['text', ({ ending }) => ending.reason, 'course'],
  output: ['json', ({ ending }) => ending.output, 'output'],
}

export const historyNames = Object.keys(historyColumns)
export const copiedNames = raw(historyNames.join(', '))
const copiedValues = raw(
  historyNames.map(name => `${name in endColumns && name !== 'workflow_id' ? 'r' : 'a'}.${name}`).join(', '),
)

/** Of rows that still stand as the endings have them; the rest of what they are is copied. */
export function copyHistory(context: SqlContext, endings: readonly StandingEnding[]): Sql {
  return context.statement(copyHistory, [context.rows('r', rowSet(endColumns, endings))], copyRows)
}

function copyRows({ tables, dialect, now, sameRow }: SqlContext, rows: Sql): Sql {
  return sql`insert into ${tables.history} (${copiedNames}, ended_at)
    select ${copiedValues}, ${now} from ${rows}
    ${dialect.keyedJoin} ${tables.active} a${dialect.byKey} on ${sameRow}`
}

export const knownColumns: Columns<StandingEnding> = {
  ...endColumns,
  known_id: ['id', ({ row }) => row.id],
  known_fence: ['int', ({ row }) => row.fence, 'fan'],
}

/** The same of rows that nobody has looked at: all of them must stand as they are known. */
export function copyKnown(context: SqlContext, endings: readonly StandingEnding[]): Counted {
  const statement = context.statement(
    copyKnown,
    [context.rows('r', rowSet(knownColumns, endings))],
    (at, rows) => sql`${copyRows(at, rows)} where ${stillHeld('r.known_id', 'r.known_fence')}`,
  )
  return new Counted(statement, endings.length)
}

/**
 * The row `a` is in progress in the hands that it is known to be in. The fence tells the owner; named, it would be looked up by the
 * index of owners, which finds all rows of the worker. And the state is asked for through the fence: by itself it makes a
 * planner that knows nothing of the table expect a single row.
 */
export function stillHeld(id: string, fence: string): Sql {
  return raw(`a.id = ${id} and case when a.state = 'in_progress' and a.held_from is null then a.fence end = ${fence}`)
}

/** A rollback moves ended rows on, in their state alone. */
export function moveHistory(context: SqlContext, undone: WorkflowChange['undone']): Sql {
  const set = rowSet<WorkflowChange['undone'][number]>(
    { id: ['id', row => row.id], state: ['text', row => row.state] },
    undone,
  )
  return context.dialect.updateFrom(
    context.tables.history,
    context.rows('r', set),
    context.dialect.sameKey('a.id', 'r.id'),
    [['state', raw('r.state')]],
  )
}

export function deleteHistory(context: SqlContext, ids: readonly string[]): Sql {
  const rows = context.rows('r', { columns: { id: 'id' }, rows: ids.map(id => [id]) })
  return context.dialect.deleteFrom(context.tables.history, rows, ['id'])
}

const eventColumns: Columns<NewEvent> = {
  workflow_id: ['id', event => event.workflowId, 'fan'],
  type: ['text', event => event.type, 'code'],
  execution_id: ['id', event => event.executionId ?? null],
  node: ['text', event => event.node ?? null],
  node_name: ['text', event => event.nodeName ?? null, 'name'],
  attempt: ['int', event => event.attempt ?? null, 'course'],
  from_state: ['text', event => event.from ?? null, 'code'],
  to_state: ['text', event => event.to ?? null, 'code'],
  requested_by: ['text', event => event.by ?? null, 'code'],
  reason: ['text', event => event.reason ?? null, 'course'],
  outcome: ['text', event => event.outcome ?? null, 'code'],
  since: ['int', event => event.since ?? null, 'time'],
  payload: ['json', event => event.payload ?? null, 'course'],
}

export const eventNames = Object.keys(eventColumns)
const eventValues = raw(eventNames.map(name => `r.${name}`).join(', '))
export const namesOfEvents = raw(eventNames.join(', '))

/** Numbered in the order in which they are given. */
export function insertEvents(context: SqlContext, events: readonly NewEvent[], filter: Sql | null = null): Sql {
  const set = rowSet(eventColumns, events)
  if (filter === null) {
    return context.statement(
      insertEvents,
      [context.rows('r', set)],
      ({ tables, now }, rows) => sql`insert into ${tables.events} (${namesOfEvents}, at)
        select ${eventValues}, ${now} from ${rows}`,
    )
  }
  // A join may bring rows in another order; the rows alone come as they are.
  const placed = {
    columns: { ...set.columns, place: 'int' as const },
    rows: set.rows.map((row, index) => [...row, index]),
  }
  return sql`insert into ${context.tables.events} (${namesOfEvents}, at)
    select ${eventValues}, ${context.now} from ${context.rows('r', placed)}${filter} order by r.place`
}
