/**
 * Plain SQL on the three databases, beside the engine and on connections of its own: for the journal that steps write,
 * and for an auditor who must not depend on the code that he audits.
 */
import { setTimeout as pause } from 'node:timers/promises'

export type DatabaseKind = 'sqlite' | 'postgres' | 'mysql'
export type Value = string | number | null
export type PlainRow = Readonly<Record<string, unknown>>

export interface PlainAccess {
  readonly kind: DatabaseKind
  /** Microseconds of the database's clock. */
  readonly now: string
  /** The name of a table in the database of the URL. */
  table(name: string): string
  /** Placeholders are `?` on all three. */
  query(statement: string, values?: readonly Value[]): Promise<PlainRow[]>
  close(): Promise<void>
}

export function kindOf(url: string): DatabaseKind {
  const scheme = url.slice(0, url.indexOf(':'))
  if (scheme.startsWith('postgres')) return 'postgres'
  return scheme === 'mysql' || scheme === 'mariadb' ? 'mysql' : 'sqlite'
}

/** These connections can be told from the engine's: by their application name, or by having no default database. */
export function openAccess(url: string): Promise<PlainAccess> {
  const kind = kindOf(url)
  if (kind === 'postgres') return openPostgres(url)
  return kind === 'mysql' ? openMysql(url) : openSqlite(url)
}

// Drivers are loaded when they are needed, as many short-lived processes need one of them.
async function openPostgres(url: string): Promise<PlainAccess> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: url, application_name: 'crash-harness', max: 1 })
  pool.on('error', () => {})
  return {
    kind: 'postgres',
    now: '(extract(epoch from clock_timestamp()) * 1000000)::bigint',
    table: name => name,
    async query(statement, values = []) {
      let position = 0
      return (
        await pool.query(
          statement.replaceAll('?', () => `$${++position}`),
          [...values],
        )
      ).rows
    },
    close: () => pool.end(),
  }
}

async function openMysql(url: string): Promise<PlainAccess> {
  const { default: mysql } = await import('mysql2/promise')
  const address = new URL(url)
  const database = address.pathname.slice(1)
  address.pathname = '/'
  const connection = await mysql.createConnection(address.href)
  connection.on('error', () => {})
  // Without it an INSERT ... SELECT would lock the rows that it reads.
  await connection.query('set session transaction isolation level read committed')
  return {
    kind: 'mysql',
    now: 'cast(unix_timestamp(now(6)) * 1000000 as signed)',
    table: name => `${database}.${name}`,
    query: async (statement, values = []) => (await connection.query(statement, [...values]))[0] as PlainRow[],
    close: () => connection.end(),
  }
}

const busyTimeoutMs = 60_000

async function openSqlite(url: string): Promise<PlainAccess> {
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const handle = new DatabaseSync(url.replace(/^(sqlite|file):/, ''))
  const patiently = async <T>(work: () => T): Promise<T> => {
    const until = performance.now() + busyTimeoutMs
    for (;;) {
      try {
        return work()
      } catch (error) {
        if (!(error instanceof Error && /locked/.test(error.message)) || performance.now() > until) throw error
        await pause(1 + Math.random() * 4)
      }
    }
  }
  const prepared = new Map<string, ReturnType<typeof handle.prepare>>()
  const prepare = (statement: string) => {
    const found = prepared.get(statement) ?? handle.prepare(statement)
    prepared.set(statement, found)
    return found
  }
  await patiently(() => handle.exec('pragma busy_timeout = 0; pragma journal_mode = wal; pragma synchronous = full'))
  return {
    kind: 'sqlite',
    now: `cast(round(unixepoch('now', 'subsec') * 1000) as integer) * 1000`,
    table: name => name,
    query: (statement, values = []) => patiently(() => prepare(statement).all(...values) as PlainRow[]),
    close: async () => handle.close(),
  }
}
