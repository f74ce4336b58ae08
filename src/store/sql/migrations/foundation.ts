/**
 * Migration 1: the tables of linear workflows.
 *
 * A workflow is one row. What it does next stands in `active_executions`, small and hot: workers claim from it by
 * (queue, handler, lane, sort_key), and the row of a chain moves on in place, keyed by (workflow, slot), so that the key
 * itself allows one active execution. `lane` is empty but where a class has limits per key. What has ended stands in `step_executions`, inserted once. `events` is the
 * ordered record of every change. A lease belongs to a row of `workers`; an execution carries its owner and a fence.
 *
 * Times are microseconds of the database's clock. `sort_key` is null while a row cannot be claimed. Flags are 0 or 1.
 */
import type { ColumnTypes } from '../dialect.ts'
import { rareStateCondition } from '../rare-states.ts'
import { raw, type Sql } from '../sql.ts'
import type { Migration, MigrationContext } from './migration.ts'

export const foundation: Migration = {
  version: 1,
  name: 'foundation',
  compatibleFrom: 1,
  statements: context => {
    const shape = new Shape(context)
    return [...workflows(shape), ...active(shape), ...history(shape), ...processes(shape)]
  },
}

/** Writes tables and indexes in the types and under the names of this database. */
class Shape {
  readonly context: MigrationContext
  readonly type: ColumnTypes

  constructor(context: MigrationContext) {
    this.context = context
    this.type = context.dialect.columnTypes(context.keyType)
  }

  name(table: string): string {
    return this.context.tables.name(table)
  }

  table(name: string, columns: string, options = ''): Sql {
    const { tableOptions } = this.context.dialect
    return raw(`create table if not exists ${this.name(name)} (${columns})${tableOptions}${options}`)
  }

  index(name: string, table: string, columns: string, where?: string): Sql {
    const index = { name: `${this.context.tables.prefix}${name}`, table: this.name(table), columns }
    return this.context.dialect.index(where === undefined ? index : { ...index, where })
  }
}

function workflows(shape: Shape): Sql[] {
  const { type, context } = shape
  return [
    ...context.dialect.createCounter(shape.name('ids')),
    shape.table(
      'workflows',
      `id ${type.id} not null primary key, type ${type.key} not null, hero_type ${type.key}, hero_id ${type.key},
      hero_id_kind ${type.key}, state ${type.key} not null, pause_cause ${type.key}, allow_multiple ${type.int} not null,
      idempotency_key ${type.key}, generation ${type.int} not null, frozen ${type.key}, blocked_by ${type.key},
      finishing ${type.int} not null, rollback ${type.text}, partial ${type.int} not null default 0, rounds ${type.text},
      crooked ${type.int} not null, open_letters ${type.int} not null, watched ${type.int} not null, lane ${type.key} not null, parent_id ${type.id}, parent_node ${type.key}, input ${type.json}, trace_parent ${type.key},
      continuation ${type.json}, continued_as ${type.id}, continues ${type.id}, deadline_at ${type.int}, version ${type.int} not null default 0,
      created_at ${type.int} not null, paused_at ${type.int}, ended_at ${type.int}`,
    ),
    shape.table(
      'watches',
      `workflow_id ${type.id} not null, watcher_id ${type.id} not null, node ${type.key} not null, timer_id ${type.id} not null,
      first_id ${type.id}, primary key (workflow_id, watcher_id, node)`,
    ),
    shape.table(
      'graphs',
      `workflow_id ${type.id} not null primary key, signature ${type.key} not null, graph ${type.json} not null`,
    ),
    ...[context.dialect.keepWhole?.({ table: shape.name('graphs'), column: 'graph' }) ?? []].flat(),
    ...context.dialect.uniqueWorkflows({ table: shape.name('workflows'), prefix: context.tables.prefix }),
    shape.index('workflows_hero', 'workflows', 'hero_type, hero_id', 'hero_id is not null'),
    shape.index('workflows_parent', 'workflows', 'parent_id', 'parent_id is not null'),
    shape.index('workflows_rare', 'workflows', 'state, id', rareStateCondition),
    shape.table('tags', `tag ${type.key} not null, workflow_id ${type.id} not null, primary key (tag, workflow_id)`),
    shape.index('tags_workflow', 'tags', 'workflow_id'),
  ]
}

function active(shape: Shape): Sql[] {
  const { type } = shape
  return [
    shape.table(
      'active_executions',
      `workflow_id ${type.id} not null, slot ${type.key} not null, id ${type.id} not null, node ${type.key} not null,
      kind ${type.key} not null, attempt ${type.int} not null, ordinal ${type.int} not null, state ${type.key} not null,
      queue ${type.key} not null, handler ${type.key} not null, lane ${type.key} not null, generation ${type.int} not null,
      priority ${type.int} not null, created_at ${type.int} not null, due_at ${type.int} not null, sort_key ${type.int},
      started_at ${type.int}, owner ${type.key}, fence ${type.int} not null, failures ${type.int} not null,
      crashes ${type.int} not null, start_mark ${type.int} not null, held_from ${type.key}, cursor_value ${type.json},
      completed_iterations ${type.int} not null, total_iterations ${type.int}, runs ${type.int} not null,
      input ${type.json}, ancestry_hash ${type.key} not null, parents ${type.text} not null,
      primary key (workflow_id, slot)`,
      shape.context.dialect.changingTable,
    ),
    shape.table(
      'fan_ins',
      `workflow_id ${type.id} not null, node ${type.key} not null, open_parents ${type.int} not null,
      primary key (workflow_id, node)`,
    ),
    shape.index('active_claimable', 'active_executions', 'queue, handler, lane, sort_key', 'sort_key is not null'),
    shape.index('active_owner', 'active_executions', 'owner', 'owner is not null'),
  ]
}

function history(shape: Shape): Sql[] {
  const { type, context } = shape
  return [
    shape.table(
      'step_executions',
      `id ${type.id} not null primary key, workflow_id ${type.id} not null, node ${type.key} not null,
      kind ${type.key} not null, attempt ${type.int} not null, ordinal ${type.int} not null, state ${type.key} not null,
      outcome ${type.key} not null, created_at ${type.int} not null, due_at ${type.int} not null, started_at ${type.int},
      ended_at ${type.int} not null, owner ${type.key}, error_class ${type.text}, error_message ${type.text},
      error_stack ${type.text}, reason ${type.text}, output ${type.json}, cursor_value ${type.json},
      completed_iterations ${type.int} not null, total_iterations ${type.int}, runs ${type.int} not null,
      input ${type.json}, ancestry_hash ${type.key} not null, parents ${type.text} not null,
      unique (workflow_id, node, kind, attempt)`,
    ),
    context.dialect.timeIndex({
      name: `${context.tables.prefix}history_ended`,
      table: shape.name('step_executions'),
      column: 'ended_at',
    }),
    shape.table(
      'dead_letters',
      `id ${type.id} not null primary key, workflow_id ${type.id} not null, execution_id ${type.id} not null,
      node ${type.key} not null, kind ${type.key} not null, attempt ${type.int} not null, reason ${type.key} not null,
      error_class ${type.text}, error_message ${type.text}, error_stack ${type.text}, state ${type.key} not null,
      created_at ${type.int} not null, handled_at ${type.int}, handled_by ${type.text}, handled_reason ${type.text}`,
    ),
    shape.table(
      'decisions',
      `id ${type.id} not null primary key, workflow_id ${type.id} not null, execution_id ${type.id} not null,
      node ${type.key} not null, decided_by ${type.key} not null, decision ${type.key} not null, comment_text ${type.text},
      data ${type.json}, decided_at ${type.int} not null, unique (execution_id, decided_by)`,
    ),
    shape.index('decisions_workflow', 'decisions', 'workflow_id'),
    shape.table(
      'signals',
      `id ${type.id} not null primary key, workflow_id ${type.id} not null, node ${type.key} not null,
      payload ${type.json}, sent_by ${type.text}, dedup_key ${type.key}, taken_by ${type.id}, sent_at ${type.int} not null,
      unique (workflow_id, node, dedup_key)`,
    ),
    shape.index('dead_letters_workflow', 'dead_letters', 'workflow_id'),
    shape.index('dead_letters_open', 'dead_letters', 'id', `state = 'open'`),
    shape.table(
      'events',
      `id ${type.serial}, workflow_id ${type.id} not null, type ${type.key} not null, execution_id ${type.id},
      node ${type.key}, attempt ${type.int}, from_state ${type.key}, to_state ${type.key}, at ${type.int} not null,
      requested_by ${type.text}, reason ${type.text}, outcome ${type.key}, since ${type.int}, payload ${type.json}`,
    ),
    shape.index('events_workflow', 'events', 'workflow_id, id'),
    ...context.dialect.appendOnlyIndex({
      name: `${context.tables.prefix}events_order`,
      table: shape.name('events'),
      column: 'id',
    }),
  ]
}

function processes(shape: Shape): Sql[] {
  const { type } = shape
  return [
    shape.table(
      'definitions',
      `type ${type.key} not null, signature ${type.key} not null, generation ${type.int} not null,
      graph ${type.json} not null, created_at ${type.int} not null, primary key (type, signature), unique (type, generation)`,
    ),
    shape.table(
      'workers',
      `id ${type.key} not null primary key, host ${type.text} not null, pid ${type.int} not null, state ${type.key} not null,
      started_at ${type.int} not null, lease_until ${type.int} not null, handlers ${type.json} not null, serves ${type.json}`,
    ),
    shape.table(
      'schedules',
      `name ${type.key} not null primary key, type ${type.key} not null, timing ${type.text} not null,
      catch_up ${type.key} not null, next_at ${type.int} not null, since ${type.int} not null, paused ${type.int} not null,
      paused_by ${type.text}, pause_reason ${type.text}, last_tick_at ${type.int}, last_workflow_id ${type.id},
      started ${type.int} not null, skipped ${type.int} not null, last_error ${type.text}`,
    ),
    shape.table(
      'requests',
      `id ${type.key} not null primary key, action ${type.key} not null, name ${type.key}, requested_by ${type.text},
      reason ${type.text}, detail ${type.text}, at ${type.int} not null`,
    ),
    ...limits(shape),
  ]
}

/** One row per queue or class that has limits or is paused; `lane` is a key of a class. The row without a name counts changes. */
function limits(shape: Shape): Sql[] {
  const { type } = shape
  const name = shape.name('limits')
  return [
    shape.table(
      'limits',
      `scope ${type.key} not null, name ${type.key} not null, lane ${type.key} not null, revision ${type.int} not null,
      declared ${type.text}, concurrency ${type.int}, rate_limit ${type.int}, rate_per ${type.int}, lane_concurrency ${type.int},
      lane_rate_limit ${type.int}, lane_rate_per ${type.int}, has_lanes ${type.int} not null, starts ${type.text}, kept_until ${type.int},
      paused ${type.int} not null, paused_by ${type.text}, pause_reason ${type.text}, paused_at ${type.int},
      primary key (lane, scope, name)`,
    ),
    shape.context.dialect.insertNew(
      raw(name),
      ['scope', 'name', 'lane', 'revision', 'has_lanes', 'paused'],
      raw(
        `select '' as scope, '' as name, '' as lane, 0 as revision, 0 as has_lanes, 0 as paused from (select 1 as one) o`,
      ),
    ),
  ]
}
