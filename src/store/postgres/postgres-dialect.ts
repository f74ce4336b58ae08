/**
 * PostgreSQL: sets travel as arrays, rows are locked with SKIP LOCKED, uniqueness has partial indexes, DDL is
 * transactional.
 */
import { PooledConnectionError } from '../../errors.ts'
import { text } from '../sql/decode.ts'
import type { Dialect, Failure, MigrationLock } from '../sql/dialect.ts'
import { isOfTheLine } from '../sql/is-of-the-line.ts'
import { join, raw, Sql, sql } from '../sql/sql.ts'
import { arrayRows } from './array-rows.ts'
import { oneStatement } from './one-statement.ts'
import { settleByLocks } from './settle-by-locks.ts'

const migrationLock: MigrationLock = {
  async acquire(session, name) {
    await session.run(raw('begin'))
    // Another process may be at it for long, and a table in use until a long transaction ends.
    await session.run(raw('set local lock_timeout = 0'))
    await session.query(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 20261115))`)
  },
  async commit(session) {
    await session.run(raw('commit'))
  },
  async rollback(session) {
    await session.run(raw('rollback'))
  },
  async release() {},
}

/** Deadlock, serialization failure, lock not available: the transaction may be run again. */
const transientCodes = new Set(['40001', '40P01', '55P03'])
/**
 * Classes of errors that lie in the statement or its values: features, data, constraints, syntax and names, limits of a
 * statement, what a trigger has raised. All others (connection, resources, disk, shutdown, credentials) are about the server, and may pass.
 */
const lastingClasses = new Set(['0A', '21', '22', '23', '2F', '3D', '3F', '42', '44', '54', 'P0'])
/** Counted among mistakes in syntax: what this user may not do, yet. */
const denied = '42501'
/** What the driver says, without a code, of a connection that is not there, or not in order. */
const lost =
  /connection (terminated|ended)|not queryable|connection error|timeout exceeded when trying to connect|^timeout expired$|query read timeout|SSL connection|^SASL|received unexpected .* message from backend/i

function classify(error: unknown): Failure {
  if (typeof error !== 'object' || error === null) return 'lasting'
  if (error instanceof PooledConnectionError) return classify(error.cause)
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) {
    if (transientCodes.has(code)) return 'transient'
    return lastingClasses.has(code.slice(0, 2)) && code !== denied ? 'lasting' : 'connection'
  }
  if (isOfTheLine(error)) return 'connection'
  return typeof message === 'string' && lost.test(message) ? 'connection' : 'lasting'
}

/**
 * Equality would let the planner put both sides in order, or go through the whole index for every row beside it, as it does when
 * stock was taken of the table while it was empty. This it can only look up; it costs 0.2 µs more.
 */
function sameKey(column: string, named: string): Sql {
  return raw(`${column} = any(array[${named}])`)
}

/** The same wherever a time is told, so that a statement with it is known again. */
const timeParts = ['', '::bigint']

export const postgresDialect: Dialect = {
  placeholder: position => `$${position}`,
  // statement_timestamp() is stable within a statement, so comparisons with it can use an index.
  now: raw("(date_part('epoch', statement_timestamp()) * 1000000)::bigint"),
  tableOptions: '',
  // A change that finds room on its own page leaves the indexes alone: three of four changes of a chain's row do.
  changingTable: ' with (fillfactor = 50)',
  columnTypes: keyType => ({
    id: keyType,
    key: 'text collate "C"',
    text: 'text',
    json: 'json',
    int: 'bigint',
    serial: 'bigint generated always as identity',
  }),
  timeParam: time => new Sql(timeParts, [time]),
  idParam: id => id,
  // Told that a value is to be JSON, some libraries make JSON of the text.
  jsonParam: text => sql`${text}::text::json`,

  rows: arrayRows,
  // Ids have no character that an array would have to quote.
  among: (column, ids, keyType) => sql`${column} = any(${`{${ids.join(',')}}`}::${raw(keyType)}[])`,
  insertNew: (table, columns, select) =>
    sql`insert into ${table} (${raw(columns.join(', '))}) ${select} on conflict do nothing`,
  updateFrom: (table, set, on, assignments) =>
    sql`update ${table} as a set ${join(
      assignments.map(([column, value]) => sql`${raw(column)} = ${value}`),
      ', ',
    )} from ${set} where ${on}`,
  deleteFrom: (table, set, [first = '', ...others]) => {
    const further = others.map(key => ` and a.${key} = r.${key}`).join('')
    return sql`delete from ${table} as a using ${set} where ${sameKey(`a.${first}`, `r.${first}`)}${raw(further)}`
  },
  sameKey,

  countOnce: value => sql`(select ${value})`,
  together: oneStatement,
  countsWrites: true,
  takeReturned: (write, taker) => oneStatement([write, taker]),

  keyedJoin: raw('join'),

  byKey: raw(''),
  lock: raw(' for no key update'),
  lockFree: raw(' for no key update skip locked'),
  // A plain join may be turned round on a young table, which is believed to be small: every row of it would be compared with the whole set.
  lockNamed: (table, rows, further) => sql`select w.id from (select * from ${rows} order by id) r
    cross join lateral (select w.id from ${table} w where w.id = r.id and ${further} for no key update) w`,
  // Lets the heartbeat of the same row pass, but not its burial, which locks it for update.
  lockShared: raw(' for key share'),
  lockSkipping: raw(' for update of a skip locked'),
  lockFound: raw(' for update skip locked'),
  manyWriters: true,
  readInOrder: raw('set local enable_bitmapscan = off'),
  freshRead: raw(''),
  holdsPlace: raw(`w.allow_multiple = 0 and w.state not in ('finished', 'failed', 'canceled', 'aborted')`),

  settle: settleByLocks,
  // The index over blocks of rows does not know the highest.
  highestNumber: table =>
    sql`select pg_sequence_last_value(pg_get_serial_sequence(${table.parts.join('')}, 'id')::regclass) as highest`,

  async keepsSnapshot(transaction) {
    const [row] = await transaction.query(raw(`select current_setting('transaction_isolation') as isolation`))
    return row === undefined || !/^read /.test(text(row, 'isolation'))
  },
  async allocateBlocks(executor, counter, count) {
    const found = await executor.query(
      sql`select nextval(${counter.parts.join('')}::regclass) as block from generate_series(1, ${count}::int)`,
    )
    return found.map(row => Number(text(row, 'block')))
  },
  // To compress a graph of a thousand nodes takes as long as all else about its start; beside its executions it is small.
  keepWhole: ({ table, column }) => raw(`alter table ${table} alter column ${column} set storage external`),
  createCounter: counter => [raw(`create sequence if not exists ${counter}`)],
  uniqueWorkflows: ({ table, prefix }) => [
    raw(
      `create unique index if not exists ${prefix}workflows_active on ${table} (type, hero_type, hero_id)
      where state not in ('finished', 'failed', 'canceled', 'aborted') and allow_multiple = 0 and hero_id is not null`,
    ),
    raw(
      `create unique index if not exists ${prefix}workflows_key on ${table} (type, idempotency_key)
      where idempotency_key is not null`,
    ),
  ],
  index: ({ name, table, columns, where }) =>
    raw(`create index if not exists ${name} on ${table} (${columns})${where ? ` where ${where}` : ''}`),
  timeIndex: ({ name, table, column }) => raw(`create index if not exists ${name} on ${table} using brin (${column})`),
  appendOnlyIndex: ({ name, table, column }) => [
    raw(`create index if not exists ${name} on ${table} using brin (${column}) with (autosummarize = on)`),
  ],

  async applicationKeyTypes(executor, tables) {
    const found = await executor.query(
      sql`select data_type || coalesce('(' || character_maximum_length || ')', '') as type from information_schema.columns
        where column_name = 'id' and table_schema not in ('pg_catalog', 'information_schema')
          and table_name not like ${`${tables.prefix}%`} and table_name not like 'schema\\_%' and table_name not like 'ar\\_%'`,
    )
    return found.map(row => text(row, 'type'))
  },
  createSchema: schema => (schema === null ? [] : [raw(`create schema if not exists ${schema}`)]),
  migrationLock,
  alreadyDone: () => false,
  classify,
  waitedInVain: error => (error as { code?: unknown } | null)?.code === '55P03',
  lostTransaction: error => ['25P01', '25P02', '3B001'].includes(String((error as { code?: unknown }).code)),
}
