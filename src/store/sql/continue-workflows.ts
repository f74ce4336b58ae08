/**
 * Workflows that go on as new ones. The new one takes the place of the old in the same transaction: its class and hero,
 * its tags, its stored graph, its parent, its schedule and whoever waits for it. Only the idempotency key stays where it was.
 */
import type { Continuation, WorkflowChange } from '../change.ts'
import type { SqlContext } from './context.ts'
import { type Columns, inPieces, rowSet } from './row-set.ts'
import { raw, type Sql, sql } from './sql.ts'
import { dueColumnsOf, dueTime, insertActive } from './write-active.ts'

interface Step {
  readonly from: string
  readonly as: Continuation
}

/** Must come after the old workflows have been ended: they hold the places that the new ones take. */
export function continuationStatements(context: SqlContext, changes: readonly WorkflowChange[]): Sql[] {
  const all = changes.flatMap(({ workflowId, continuation }) =>
    continuation === null ? [] : { from: workflowId, as: continuation.as, stage: continuation.stage },
  )
  if (all.length === 0) return []
  const planned = all.filter(({ stage }) => stage === 'planned')
  const begun = all.filter(({ stage }) => stage === 'begun')
  return [
    ...(planned.length === 0 ? [] : [plan(context, planned)]),
    ...(begun.length === 0 ? [] : begin(context, begun)),
  ]
}

function plan(context: SqlContext, steps: readonly Step[]): Sql {
  const set = rowSet<Step>({ id: ['id', ({ from }) => from], plan: ['json', ({ as }) => JSON.stringify(as)] }, steps)
  return context.dialect.updateFrom(
    context.tables.workflows,
    context.rows('r', set),
    context.dialect.sameKey('a.id', 'r.id'),
    [
      ['continuation', raw('r.plan')],
      ['version', raw('a.version + 1')],
    ],
  )
}

const pairColumns: Columns<Step> = { old_id: ['id', ({ from }) => from], new_id: ['id', ({ as }) => as.id] }

function begin(context: SqlContext, steps: readonly Step[]): Sql[] {
  const { tables, dialect } = context
  const pairs = context.rows('r', rowSet(pairColumns, steps))
  return [
    insertContinued(context, steps),
    dialect.updateFrom(tables.workflows, pairs, dialect.sameKey('a.id', 'r.old_id'), [
      ['continued_as', raw('r.new_id')],
      ['continuation', raw('null')],
      ['version', raw('a.version + 1')],
    ]),
    sql`insert into ${tables.tags} (tag, workflow_id)
      select t.tag, r.new_id from ${pairs} join ${tables.tags} t on ${dialect.sameKey('t.workflow_id', 'r.old_id')}`,
    sql`insert into ${tables.graphs} (workflow_id, signature, graph)
      select r.new_id, g.signature, g.graph from ${pairs} join ${tables.graphs} g on ${dialect.sameKey('g.workflow_id', 'r.old_id')}`,
    dialect.updateFrom(tables.watches, pairs, dialect.sameKey('a.workflow_id', 'r.old_id'), [
      ['first_id', raw('coalesce(a.first_id, r.old_id)')],
      ['workflow_id', raw('r.new_id')],
    ]),
    followInSchedules(context, steps),
    ...inPieces(
      context,
      steps.flatMap(({ as }) => as.first),
      (at, rows) => insertActive(at, rows),
    ),
  ]
}

/**
 * A schedule that waits for the workflow of its last tick waits for the one that goes on from it. There are few schedules, so no index
 * leads to them; an update of one table passes over rows that a tick has locked, where they are about others.
 */
function followInSchedules(context: SqlContext, steps: readonly Step[]): Sql {
  const pairs = context.rows('r', rowSet(pairColumns, steps))
  const old = steps.map(({ from }) => from)
  return sql`update ${context.tables.schedules}
    set last_workflow_id = (select r.new_id from ${pairs} where r.old_id = last_workflow_id)
    where ${context.among(raw('last_workflow_id'), old)}`
}

const kept =
  'type, hero_type, hero_id, hero_id_kind, allow_multiple, frozen, watched, parent_id, parent_node, trace_parent'

/** Without a look at conflicts: the old workflow has held the place until now, under a lock. */
function insertContinued(context: SqlContext, steps: readonly Step[]): Sql {
  const { workflows } = context.tables
  const columns: Columns<Step> = {
    ...pairColumns,
    generation: ['int', ({ as }) => as.generation],
    input: ['json', ({ as }) => as.input],
    lane: ['text', ({ as }) => as.lane],
    ...dueColumnsOf<Step>(({ as }) => as.deadline),
  }
  const old = kept
    .split(', ')
    .map(name => `w.${name}`)
    .join(', ')
  return sql`insert into ${workflows} (id, continues, generation, input, lane, ${raw(kept)}, state, finishing, crooked, open_letters, created_at, deadline_at)
    select r.new_id, r.old_id, r.generation, r.input, r.lane, ${raw(old)}, 'ready', 0, 0, 0, ${context.now}, ${dueTime(context)}
    from ${context.rows('r', rowSet(columns, steps))} join ${workflows} w on ${context.dialect.sameKey('w.id', 'r.old_id')}`
}
