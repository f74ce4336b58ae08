/**
 * Applies what was decided, as sets: one statement per kind of write, whatever the number of workflows. The caller
 * holds the locks on the workflows.
 */
import type { Ending, NewEvent, NewExecution, RowMove, WorkflowChange } from '../change.ts'
import type { SqlContext } from './context.ts'
import type { ColumnType } from './dialect.ts'
import { join, raw, type Sql, sql } from './sql.ts'

/** Ends are final for everyone but a rollback. */
export const endedStates = "('finished', 'failed', 'canceled', 'aborted')"

/** One point of priority is worth this much waiting, in microseconds. */
const priorityWeight = 2_000_000

export function changeStatements(context: SqlContext, changes: readonly WorkflowChange[]): Sql[] {
  const statements: Sql[] = []
  const add = <T>(items: readonly T[], write: (context: SqlContext, items: readonly T[]) => Sql) => {
    if (items.length > 0) statements.push(write(context, items))
  }
  add(
    changes.flatMap(change => change.endings),
    insertHistory,
  )
  add(
    changes.flatMap(change => change.removals.map(({ slot }) => ({ workflowId: change.workflowId, slot }))),
    deleteActive,
  )
  add(
    changes.flatMap(change => change.replacements),
    replaceActive,
  )
  add(
    changes.flatMap(change => change.insertions),
    insertActive,
  )
  add(
    changes.flatMap(change => change.moves.map(move => ({ ...move, workflowId: change.workflowId }))),
    moveActive,
  )
  add(
    changes.filter(change => change.state !== null),
    updateWorkflows,
  )
  add(
    changes.flatMap(change => change.events),
    insertEvents,
  )
  return statements
}

function insertHistory(context: SqlContext, endings: readonly Ending[]): Sql {
  const columns = {
    id: 'id', workflow_id: 'id', node: 'text', kind: 'text', attempt: 'int', ordinal: 'int', state: 'text',
    outcome: 'text', created_at: 'int', due_at: 'int', started_at: 'int', owner: 'text', error_class: 'text',
    error_message: 'text', error_stack: 'text', reason: 'text', output: 'json',
  } as const // biome-ignore format: a table reads better in rows
  const rows = endings.map(({ execution, state, outcome, error, reason, output }) => [
    execution.id,
    execution.workflowId,
    execution.node,
    execution.kind,
    execution.attempt,
    execution.ordinal,
    state,
    outcome,
    execution.createdAt,
    execution.dueAt,
    execution.startedAt,
    execution.owner,
    error?.className ?? null,
    error?.message ?? null,
    error?.stack ?? null,
    reason,
    output,
  ])
  const names = raw(Object.keys(columns).join(', '))
  return sql`insert into ${context.tables.history} (${names}, ended_at)
    select ${columnsOrNow(context, Object.keys(columns))}, ${context.now} from ${context.rows('r', { columns, rows })}`
}

function columnsOrNow(context: SqlContext, names: readonly string[]): Sql {
  const column = (name: string) =>
    name === 'created_at' || name === 'due_at' ? sql`coalesce(${raw(`r.${name}`)}, ${context.now})` : raw(`r.${name}`)
  return join(names.map(column), ', ')
}

function deleteActive(context: SqlContext, keys: readonly { workflowId: string; slot: string }[]): Sql {
  const rows = context.rows('r', {
    columns: { workflow_id: 'id', slot: 'text' },
    rows: keys.map(key => [key.workflowId, key.slot]),
  })
  return context.dialect.deleteFrom(context.tables.active, rows, ['workflow_id', 'slot'])
}

const activeSet: Readonly<Record<string, ColumnType>> = {
  workflow_id: 'id',
  slot: 'text',
  id: 'id',
  node: 'text',
  kind: 'text',
  attempt: 'int',
  ordinal: 'int',
  state: 'text',
  queue: 'text',
  handler: 'text',
  generation: 'int',
  priority: 'int',
  owner: 'text',
  fence: 'int',
  failures: 'int',
  crashes: 'int',
  known_due: 'int',
  delay: 'int',
}

/** Columns that are copied as they come; the rest is computed from the clock. */
const copied = Object.keys(activeSet).filter(name => name !== 'known_due' && name !== 'delay')

function activeRows(context: SqlContext, executions: readonly NewExecution[]): Sql {
  const rows = executions.map(row => [
    row.workflowId,
    row.slot,
    row.id,
    row.node,
    row.kind,
    row.attempt,
    row.ordinal,
    row.state,
    row.queue,
    row.handler,
    row.generation,
    row.priority,
    row.owner,
    row.fence,
    row.failures,
    row.crashes,
    'at' in row.due ? row.due.at : null,
    'inMs' in row.due ? Math.ceil(row.due.inMs * 1000) : null,
  ])
  return context.rows('r', { columns: activeSet, rows })
}

function computed(context: SqlContext): readonly (readonly [string, Sql])[] {
  const { now } = context
  const due = sql`coalesce(r.known_due, ${now} + r.delay)`
  return [
    ['created_at', now],
    ['due_at', due],
    ['sort_key', sql`case when r.state = 'scheduled' then ${due} - r.priority * ${raw(String(priorityWeight))} end`],
    ['started_at', sql`case when r.state = 'in_progress' then ${now} end`],
    ['start_mark', raw('0')],
  ]
}

function replaceActive(context: SqlContext, executions: readonly NewExecution[]): Sql {
  const assignments = [
    ...copied.filter(name => name !== 'workflow_id' && name !== 'slot').map(name => [name, raw(`r.${name}`)] as const),
    ...computed(context),
  ]
  const on = raw('a.workflow_id = r.workflow_id and a.slot = r.slot')
  return context.dialect.updateFrom(context.tables.active, activeRows(context, executions), on, assignments)
}

export function insertActive(context: SqlContext, executions: readonly NewExecution[]): Sql {
  return insertActiveFrom(context, executions, raw(''))
}

/** The first rows of workflows that are inserted in the same transaction: only of those that were. */
export function insertFirst(context: SqlContext, executions: readonly NewExecution[]): Sql {
  return insertActiveFrom(context, executions, sql` join ${context.tables.workflows} w on w.id = r.workflow_id`)
}

function insertActiveFrom(context: SqlContext, executions: readonly NewExecution[], filter: Sql): Sql {
  const extra = computed(context)
  const names = raw([...copied, ...extra.map(([name]) => name)].join(', '))
  const values = extra.reduce(
    (all, [, value]) => sql`${all}, ${value}`,
    raw(copied.map(name => `r.${name}`).join(', ')),
  )
  return sql`insert into ${context.tables.active} (${names})
    select ${values} from ${activeRows(context, executions)}${filter}`
}

function moveActive(context: SqlContext, moves: readonly (RowMove & { workflowId: string })[]): Sql {
  const rows = context.rows('r', {
    columns: { workflow_id: 'id', slot: 'text', state: 'text', fence: 'int' },
    rows: moves.map(move => [move.workflowId, move.slot, move.state, move.fence]),
  })
  const key = sql`a.due_at - a.priority * ${raw(String(priorityWeight))}`
  return context.dialect.updateFrom(
    context.tables.active,
    rows,
    raw('a.workflow_id = r.workflow_id and a.slot = r.slot'),
    [
      ['state', raw('r.state')],
      ['fence', raw('r.fence')],
      ['owner', raw('null')],
      ['started_at', raw('null')],
      ['start_mark', raw('0')],
      ['sort_key', sql`case when r.state = 'scheduled' then ${key} end`],
    ],
  )
}

function updateWorkflows(context: SqlContext, changes: readonly WorkflowChange[]): Sql {
  const rows = context.rows('r', {
    columns: { id: 'id', state: 'text', pause_cause: 'text' },
    rows: changes.map(change => [change.workflowId, change.state?.to ?? null, change.state?.pauseCause ?? null]),
  })
  return context.dialect.updateFrom(context.tables.workflows, rows, raw('a.id = r.id'), [
    ['state', raw('r.state')],
    ['pause_cause', raw('r.pause_cause')],
    ['paused_at', sql`case when r.state = 'paused' then ${context.now} end`],
    ['ended_at', sql`case when r.state in ${raw(endedStates)} then ${context.now} end`],
  ])
}

const eventSet: Readonly<Record<string, ColumnType>> = {
  workflow_id: 'id',
  type: 'text',
  execution_id: 'id',
  node: 'text',
  attempt: 'int',
  from_state: 'text',
  to_state: 'text',
  requested_by: 'text',
  reason: 'text',
}

export function insertEvents(context: SqlContext, events: readonly NewEvent[]): Sql {
  return insertEventsFrom(context, events, raw(''))
}

/** Events of workflows that are inserted in the same transaction: only of those that were. */
export function insertFirstEvents(context: SqlContext, events: readonly NewEvent[]): Sql {
  return insertEventsFrom(context, events, sql` join ${context.tables.workflows} w on w.id = r.workflow_id`)
}

function insertEventsFrom(context: SqlContext, events: readonly NewEvent[], filter: Sql): Sql {
  const rows = events.map(event => [
    event.workflowId,
    event.type,
    event.executionId ?? null,
    event.node ?? null,
    event.attempt ?? null,
    event.from ?? null,
    event.to ?? null,
    event.by ?? null,
    event.reason ?? null,
  ])
  const names = Object.keys(eventSet)
  return sql`insert into ${context.tables.events} (${raw(names.join(', '))}, at)
    select ${raw(names.map(name => `r.${name}`).join(', '))}, ${context.now}
    from ${context.rows('r', { columns: eventSet, rows })}${filter}`
}
