/**
 * Migration 2: what people call a node, beside its id, wherever executions are stored. Null where both are the same, as they are in
 * classes; rows from before go by the ids of their nodes for good.
 */
import { raw } from '../sql.ts'
import type { Migration } from './migration.ts'

const tables = ['active_executions', 'step_executions', 'dead_letters', 'events']

export const nodeNames: Migration = {
  version: 2,
  name: 'node names',
  compatibleFrom: 1,
  statements: ({ dialect, tables: names, keyType }) =>
    tables.map(table =>
      raw(`alter table ${names.name(table)} add column node_name ${dialect.columnTypes(keyType).key}`),
    ),
}
