/**
 * MySQL 8 and MariaDB 10.6, inside what both share: sets travel as JSON through JSON_TABLE, uniqueness has a generated
 * column that is null where the rule does not hold, DDL commits by itself.
 */
import { InvariantError } from '../../errors.ts'
import { int, text } from '../sql/decode.ts'
import type { ColumnType, Dialect, Failure, KeyType, MigrationLock, RowSet } from '../sql/dialect.ts'
import { join, raw, type Sql, sql } from '../sql/sql.ts'

export interface MysqlFlavor {
  /** The collation that compares bytes and counts trailing spaces; the two servers name it differently. */
  readonly binaryCollation: string
}

const migrationTimeoutSeconds = 60

const migrationLock: MigrationLock = {
  async acquire(session, name) {
    const rows = await session.query(sql`select get_lock(${lockName(name)}, ${migrationTimeoutSeconds}) as locked`)
    if (!rows[0] || int(rows[0], 'locked') !== 1)
      throw new InvariantError('The migration lock was not granted in time.')
  },
  async commit() {},
  async rollback() {},
  async release(session, name) {
    await session.query(sql`select release_lock(${lockName(name)}) as released`)
  },
}

/** Lock names are global to the server and at most 64 characters long. */
function lockName(name: string): Sql {
  return sql`concat('geneva_', md5(concat(database(), ${name})))`
}

/** Lock wait, deadlock, snapshot too old, lock not available at once: the transaction may be run again. */
const transientNumbers = new Set([1205, 1213, 1020, 3572])
/** Read-only after a failover, shutdown, too many connections, connection killed: another connection may do. */
const connectionNumbers = new Set([1290, 1836, 1053, 1040, 1927, 2006, 2013])
const duplicateIndex = 1061
const networkCodes = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
])

function classify(error: unknown): Failure {
  const { errno, code, message } = error as { errno?: unknown; code?: unknown; message?: unknown }
  if (typeof errno === 'number' && transientNumbers.has(errno)) return 'transient'
  if (typeof errno === 'number' && connectionNumbers.has(errno)) return 'connection'
  if (typeof code === 'string' && networkCodes.has(code)) return 'connection'
  return typeof message === 'string' && /closed state|connection lost/i.test(message) ? 'connection' : 'lasting'
}

function idColumn(keyType: KeyType): string {
  return keyType === 'uuid' ? 'char(36) character set ascii collate ascii_bin' : 'bigint'
}

function idValue(id: string, keyType: KeyType): string | number {
  return keyType === 'uuid' ? id : Number(id)
}

export function mysqlDialect({ binaryCollation }: MysqlFlavor): Dialect {
  const binaryText = (type: string) => `${type} character set utf8mb4 collate ${binaryCollation}`
  const setColumn = (type: ColumnType, keyType: KeyType) => {
    if (type === 'id') return keyType === 'uuid' ? 'char(36)' : 'bigint'
    return type === 'int' ? 'bigint' : 'longtext'
  }

  function rows(alias: string, set: RowSet, keyType: KeyType): Sql {
    const entries = Object.entries(set.columns)
    const columns = entries.map(
      ([name, type], index) => `${name} ${setColumn(type, keyType)} path '$[${index}]' null on empty`,
    )
    const types = entries.map(([, type]) => type)
    const data = set.rows.map(row =>
      row.map((value, index) => (types[index] === 'id' && value !== null ? idValue(String(value), keyType) : value)),
    )
    return sql`json_table(${JSON.stringify(data)}, '$[*]' columns (${raw(columns.join(', '))})) ${raw(alias)}`
  }

  return {
    placeholder: () => '?',
    now: raw('cast(unix_timestamp(now(6)) * 1000000 as signed)'),
    tableOptions: ` engine = InnoDB, character set utf8mb4, collate ${binaryCollation}`,
    columnTypes: keyType => ({
      id: idColumn(keyType),
      key: binaryText('varchar(191)'),
      text: binaryText('mediumtext'),
      json: 'json',
      int: 'bigint',
      serial: 'bigint not null auto_increment primary key',
    }),
    idParam: (id, keyType) => idValue(id, keyType),

    rows,
    among: (column, ids, keyType) =>
      sql`${column} in (${join(
        padded(ids).map(id => sql`${idValue(id, keyType)}`),
        ', ',
      )})`,
    insertNew: (table, columns, select) => {
      const first = `${table.parts.join('')}.${columns[0]}`
      return sql`insert into ${table} (${raw(columns.join(', '))}) ${select} on duplicate key update ${raw(`${first} = ${first}`)}`
    },
    // The set comes first, so that the rows of the table are found by key and no others are locked.
    updateFrom: (table, set, on, assignments) =>
      sql`update ${set} straight_join ${table} a on ${on} set ${join(
        assignments.map(([column, value]) => sql`${raw(`a.${column}`)} = ${value}`),
        ', ',
      )}`,
    deleteFrom: (table, set, keys) =>
      sql`delete a from ${set} straight_join ${table} a on ${raw(keys.map(key => `a.${key} = r.${key}`).join(' and '))}`,

    keyedJoin: raw('straight_join'),

    lock: raw(' for update'),
    lockShared: raw(' lock in share mode'),
    lockSkipping: raw(' for update skip locked'),
    freshRead: raw(' lock in share mode'),

    async allocateBlocks(executor, counter, count) {
      const blocks: number[] = []
      for (let i = 0; i < count; i++) {
        await executor.run(sql`insert into ${counter} (taken) values (1)`)
        const found = await executor.query(raw('select last_insert_id() as block'))
        blocks.push(found[0] ? int(found[0], 'block') : 0)
      }
      const last = blocks.at(-1) ?? 0
      if (last % 100 === 0) await executor.run(sql`delete from ${counter} where block < ${last - 1000} limit 1000`)
      return blocks
    },
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
    alreadyDone,
    classify,
  }
}

/** A schema statement that was carried out before a crash: duplicate column, index or key. */
function alreadyDone(error: unknown): boolean {
  const { errno } = error as { errno?: unknown }
  return errno === duplicateIndex || errno === 1060
}

/** Lists are filled up to powers of two with their last element, so that there are few different statements. */
function padded(ids: readonly string[]): string[] {
  const length = 2 ** Math.ceil(Math.log2(Math.max(ids.length, 1)))
  const last = ids.at(-1) ?? '0'
  return [...ids, ...Array.from({ length: length - ids.length }, () => last)]
}
