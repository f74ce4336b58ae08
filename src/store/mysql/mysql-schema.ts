/**
 * How tables are made on MySQL and MariaDB: uniqueness has a generated column that is null where the rule does not hold,
 * and DDL commits by itself, so every statement may meet its own earlier work.
 */
import { SchemaError } from '../../errors.ts'
import { int, text } from '../sql/decode.ts'
import type { MigrationLock, SchemaDialect } from '../sql/dialect.ts'
import { raw, type Sql, sql } from '../sql/sql.ts'
import { waitBriefly, waitPatiently } from './lock-waits.ts'

export interface MysqlFlavor {
  /** The collation that compares bytes and counts trailing spaces; the two servers name it differently. */
  readonly binaryCollation: string
  /** The server can be told to end a session that leaves its transaction open. */
  readonly limitsIdleTransactions: boolean
}

/** Within the time that an answer is waited for. */
const migrationTimeoutSeconds = 25
const duplicateColumn = 1060
const duplicateIndex = 1061

const migrationLock: MigrationLock = {
  async acquire(session, name) {
    const rows = await session.query(sql`select get_lock(${lockName(name)}, ${migrationTimeoutSeconds}) as locked`)
    if (!rows[0] || int(rows[0], 'locked') !== 1)
      throw new SchemaError(
        `Another process has been bringing the tables up to date for ${migrationTimeoutSeconds} seconds. Try again when it is done.`,
      )
    await session.run(raw(waitPatiently))
  },
  async commit() {},
  async rollback() {},
  async release(session, name) {
    await session.run(raw(waitBriefly))
    await session.query(sql`select release_lock(${lockName(name)}) as released`)
  },
}

/** Lock names are global to the server and at most 64 characters long. */
function lockName(name: string): Sql {
  return sql`concat('geneva_', md5(concat(database(), ${name})))`
}

export function mysqlSchema({ binaryCollation }: MysqlFlavor): SchemaDialect {
  const binaryText = (type: string) => `${type} character set utf8mb4 collate ${binaryCollation}`
  return {
    // Rows are changed in place.
    changingTable: '',
    tableOptions: ` engine = InnoDB, character set utf8mb4, collate ${binaryCollation}`,
    columnTypes: keyType => ({
      id: keyType === 'uuid' ? 'char(36) character set ascii collate ascii_bin' : 'bigint',
      key: binaryText('varchar(191)'),
      text: binaryText('mediumtext'),
      // Their own JSON types refuse what is nested deeper than 32 (MariaDB) or 100 levels (MySQL).
      json: binaryText('longtext'),
      int: 'bigint',
      serial: 'bigint not null auto_increment primary key',
    }),
    createCounter: counter => [
      raw(
        `create table if not exists ${counter} (block bigint not null auto_increment primary key, taken tinyint not null) engine = InnoDB`,
      ),
    ],
    uniqueWorkflows: ({ table, prefix }) => [
      raw(
        `alter table ${table} add column active_flag tinyint generated always as (case when state not in
        ('finished', 'failed', 'canceled', 'aborted') and allow_multiple = 0 and hero_id is not null then 1 end) stored`,
      ),
      raw(`create unique index ${prefix}workflows_active on ${table} (type, hero_type, hero_id, active_flag)`),
      raw(`create unique index ${prefix}workflows_key on ${table} (type, idempotency_key)`),
    ],
    index: ({ name, table, columns }) => raw(`create index ${name} on ${table} (${columns})`),
    timeIndex: ({ name, table, column }) => raw(`create index ${name} on ${table} (${column})`),
    appendOnlyIndex: () => [],

    async applicationKeyTypes(executor, tables) {
      const found = await executor.query(
        sql`select column_type as type from information_schema.columns where table_schema = database()
          and column_name = 'id' and left(table_name, ${tables.prefix.length}) <> ${tables.prefix}
          and left(table_name, 7) <> 'schema_' and left(table_name, 3) <> 'ar_'`,
      )
      return found.map(row => text(row, 'type'))
    },
    createSchema: schema => (schema === null ? [] : [raw(`create database if not exists ${schema}`)]),
    migrationLock,
    alreadyDone: error => [duplicateColumn, duplicateIndex].includes((error as { errno?: number }).errno ?? 0),
  }
}
