/**
 * SQLite: one writer at a time, so nothing is locked row by row; sets travel as JSON; the clock has milliseconds.
 */
import { pauseFor } from '../../primitives/pause-for.ts'
import { int, text } from '../sql/decode.ts'
import type { Dialect, Failure, KeyType, MigrationLock } from '../sql/dialect.ts'
import { join, param, raw, sql } from '../sql/sql.ts'
import { idValue, mostBoundRows, valueRows } from './value-rows.ts'

const busyCode = 5
const lockedCode = 6
/** About the machine, and may pass. */
const passingCodes = new Set([7, 8, 9, 10, 13, 14, 15])
/** As better-sqlite3 names them, and more closely behind that: SQLITE_IOERR_WRITE. */
const codeNames: Readonly<Record<string, number>> = {
  BUSY: busyCode,
  LOCKED: lockedCode,
  NOMEM: 7,
  READONLY: 8,
  INTERRUPT: 9,
  IOERR: 10,
  FULL: 13,
  CANTOPEN: 14,
  PROTOCOL: 15,
}
/** @photostructure/sqlite 1.2 leaves the code out of errors that reading rows meets. */
const codeTexts: Readonly<Record<string, number>> = {
  'database is locked': busyCode,
  'database table is locked': lockedCode,
  'out of memory': 7,
  'attempt to write a readonly database': 8,
  interrupted: 9,
  'disk I/O error': 10,
  'database or disk is full': 13,
  'unable to open database file': 14,
  'locking protocol': 15,
}
const migrationTimeoutMs = 60_000

function primaryCode(error: unknown): number | null {
  if (typeof error !== 'object' || error === null) return null
  const { errcode, code, message } = error as { errcode?: unknown; code?: unknown; message?: unknown }
  if (typeof errcode === 'number') return errcode & 0xff
  const named = typeof code === 'string' ? codeNames[/^SQLITE_([A-Z]+)/.exec(code)?.[1] ?? ''] : undefined
  return named ?? codeTexts[String(message)] ?? null
}

function classify(error: unknown): Failure {
  const code = primaryCode(error)
  if (code === busyCode || code === lockedCode) return 'transient'
  return code !== null && passingCodes.has(code) ? 'connection' : 'lasting'
}

const migrationLock: MigrationLock = {
  async acquire(session) {
    for (let waited = 0; ; waited += 20) {
      try {
        await session.run(raw('begin immediate'))
        return
      } catch (error) {
        if (classify(error) !== 'transient' || waited > migrationTimeoutMs) throw error
        await pauseFor(20)
      }
    }
  },
  async commit(session) {
    await session.run(raw('commit'))
  },
  async rollback(session) {
    await session.run(raw('rollback'))
  },
  async release() {},
}

export const sqliteDialect: Dialect = {
  placeholder: () => '?',
  now: raw(`cast(round(unixepoch('now', 'subsec') * 1000) as integer) * 1000`),
  tableOptions: '',
  // The rows stand in the index over their key, which is all that they are looked up by.
  changingTable: ' without rowid',
  columnTypes: (keyType: KeyType) => ({
    id: keyType === 'uuid' ? 'text' : 'integer',
    key: 'text',
    text: 'text',
    json: 'text',
    int: 'integer',
    serial: 'integer primary key autoincrement',
  }),
  timeParam: param,
  idParam: (id, keyType) => (keyType === 'uuid' ? id : Number(id)),
  jsonParam: text => sql`${text}`,

  rows: valueRows,
  among: (column, ids) => sql`${column} in (select value from json_each(${JSON.stringify(ids.map(idValue))}))`,
  // Without the condition the parser takes ON for the beginning of a join.
  insertNew: (table, columns, select) =>
    sql`insert into ${table} (${raw(columns.join(', '))}) ${select} where true on conflict do nothing`,
  updateFrom: (table, set, on, assignments) =>
    sql`update ${table} as a set ${join(
      assignments.map(([column, value]) => sql`${raw(column)} = ${value}`),
      ', ',
    )} from ${set} where ${on}`,
  deleteFrom: (table, set, keys) => {
    const names = raw(keys.join(', '))
    return sql`delete from ${table} where (${names}) in (select ${names} from ${set})`
  },

  sameKey: (column, named) => raw(`${column} = ${named}`),
  // A cross join is carried out in the order in which it is written.
  keyedJoin: raw('cross join'),
  countsWrites: true,

  mostRows: mostBoundRows,
  byKey: raw(''),
  lock: raw(''),
  lockFree: raw(''),
  lockNamed: (table, rows, further) =>
    sql`select w.id from ${rows} cross join ${table} w on w.id = r.id and ${further} order by w.id`,
  lockShared: raw(''),
  lockSkipping: raw(''),
  // Nobody else writes in between.
  lockFound: raw(''),
  freshRead: raw(''),
  holdsPlace: raw(`w.allow_multiple = 0 and w.state not in ('finished', 'failed', 'canceled', 'aborted')`),

  // There is one writer at a time, and whoever writes later has the higher numbers.
  settle: async (_session, _table, { upTo }) => ({ settled: upTo, memory: null }),
  highestNumber: table => sql`select max(id) as highest from ${table}`,

  // Nobody else writes while it is open.
  keepsSnapshot: async () => false,
  async allocateBlocks(executor, counter, count) {
    const found = await executor.query(sql`update ${counter} set next = next + ${count} returning next`)
    const next = found[0] ? int(found[0], 'next') : 0
    return Array.from({ length: count }, (_, index) => next - count + index)
  },
  createCounter: counter => [
    raw(`create table if not exists ${counter} (only integer primary key check (only = 1), next integer not null)`),
    raw(`insert into ${counter} (only, next) values (1, 1) on conflict do nothing`),
  ],
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
  timeIndex: ({ name, table, column }) => raw(`create index if not exists ${name} on ${table} (${column})`),
  appendOnlyIndex: () => [],

  async applicationKeyTypes(executor, tables) {
    const found = await executor.query(
      sql`select c.type from sqlite_master m join pragma_table_info(m.name) c
        where m.type = 'table' and c.name = 'id' and substr(m.name, 1, ${tables.prefix.length}) <> ${tables.prefix}
          and m.name not like 'schema\\_%' escape '\\' and m.name not like 'ar\\_%' escape '\\'`,
    )
    return found.map(row => text(row, 'type'))
  },
  createSchema: () => [],
  migrationLock,
  alreadyDone: () => false,
  classify,
  lostTransaction: error => /no such savepoint/i.test(String((error as { message?: unknown }).message)),
}
