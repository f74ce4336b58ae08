/**
 * Migration 1: the tables of linear workflows.
 *
 * A workflow is one row. What it does next stands in `active_executions`, small and hot: workers claim from it by
 * (queue, handler, sort_key), and the row of a chain moves on in place, keyed by (workflow, slot), so that the key
 * itself allows one active execution. What has ended stands in `step_executions`, inserted once. `events` is the
 * ordered record of every change. A lease belongs to a row of `workers`; an execution carries its owner and a fence.
 *
 * Times are microseconds of the database's clock. `sort_key` is null while a row cannot be claimed. Flags are 0 or 1.
 */
import { raw, type Sql } from '../sql.ts'
import type { Migration, MigrationContext } from './migration.ts'

export const foundation: Migration = { version: 1, name: 'foundation', statements }

function statements({ dialect, tables, keyType }: MigrationContext): Sql[] {
  const type = dialect.columnTypes(keyType)
  const table = (name: string, columns: string) =>
    raw(`create table if not exists ${tables.name(name)} (${columns})${dialect.tableOptions}`)
  const indexName = (name: string) => `${tables.prefix}${name}`
  return [
    ...dialect.createCounter(tables.name('ids')),
    table(
      'workflows',
      `id ${type.id} not null primary key, type ${type.key} not null, hero_type ${type.key}, hero_id ${type.key},
      hero_id_kind ${type.key}, state ${type.key} not null, pause_cause ${type.key}, allow_multiple ${type.int} not null,
      idempotency_key ${type.key}, input ${type.json}, created_at ${type.int} not null, paused_at ${type.int},
      ended_at ${type.int}`,
    ),
    ...dialect.uniqueWorkflows({ table: tables.name('workflows'), prefix: tables.prefix }),
    dialect.index({
      name: indexName('workflows_hero'),
      table: tables.name('workflows'),
      columns: 'hero_type, hero_id',
      where: 'hero_id is not null',
    }),
    dialect.index({
      name: indexName('workflows_attention'),
      table: tables.name('workflows'),
      columns: 'state, id',
      where: `state in ('paused', 'rolling_back', 'dlq')`,
    }),
    table(
      'active_executions',
      `workflow_id ${type.id} not null, slot ${type.key} not null, id ${type.id} not null, node ${type.key} not null,
      kind ${type.key} not null, attempt ${type.int} not null, ordinal ${type.int} not null, state ${type.key} not null,
      queue ${type.key} not null, handler ${type.key} not null, generation ${type.int} not null,
      priority ${type.int} not null, created_at ${type.int} not null, due_at ${type.int} not null, sort_key ${type.int},
      started_at ${type.int}, owner ${type.key}, fence ${type.int} not null, failures ${type.int} not null,
      crashes ${type.int} not null, start_mark ${type.int} not null, primary key (workflow_id, slot)`,
    ),
    dialect.index({
      name: indexName('active_claimable'),
      table: tables.name('active_executions'),
      columns: 'queue, handler, sort_key',
      where: 'sort_key is not null',
    }),
    dialect.index({
      name: indexName('active_owner'),
      table: tables.name('active_executions'),
      columns: 'owner',
      where: 'owner is not null',
    }),
    table(
      'step_executions',
      `id ${type.id} not null primary key, workflow_id ${type.id} not null, node ${type.key} not null,
      kind ${type.key} not null, attempt ${type.int} not null, ordinal ${type.int} not null, state ${type.key} not null,
      outcome ${type.key} not null, created_at ${type.int} not null, due_at ${type.int} not null, started_at ${type.int},
      ended_at ${type.int} not null, owner ${type.key}, error_class ${type.text}, error_message ${type.text},
      error_stack ${type.text}, reason ${type.text}, output ${type.json}, unique (workflow_id, node, kind, attempt)`,
    ),
    table(
      'events',
      `id ${type.serial}, workflow_id ${type.id} not null, type ${type.key} not null, execution_id ${type.id},
      node ${type.key}, attempt ${type.int}, from_state ${type.key}, to_state ${type.key}, at ${type.int} not null,
      requested_by ${type.text}, reason ${type.text}`,
    ),
    dialect.index({ name: indexName('events_workflow'), table: tables.name('events'), columns: 'workflow_id, id' }),
    ...dialect.appendOnlyIndex({ name: indexName('events_order'), table: tables.name('events'), column: 'id' }),
    table('tags', `tag ${type.key} not null, workflow_id ${type.id} not null, primary key (tag, workflow_id)`),
    dialect.index({ name: indexName('tags_workflow'), table: tables.name('tags'), columns: 'workflow_id' }),
    table(
      'definitions',
      `type ${type.key} not null, signature ${type.key} not null, generation ${type.int} not null,
      graph ${type.json} not null, created_at ${type.int} not null, primary key (type, signature), unique (type, generation)`,
    ),
    table(
      'workers',
      `id ${type.key} not null primary key, host ${type.text} not null, pid ${type.int} not null, state ${type.key} not null,
      started_at ${type.int} not null, lease_until ${type.int} not null, handlers ${type.json} not null`,
    ),
  ]
}
