/**
 * Counts what the engine sends, in the driver, because not every server can tell it from what others send: statements, and how often
 * an answer had to be waited for. For the embedded database it counts commits and written rows as well: there is no server to ask.
 */
import type { EventEmitter } from 'node:events'
import mysql from 'mysql2'
import pg from 'pg'
import {
  ownLibrary,
  type SqliteHandle,
  type SqliteLibrary,
  type SqliteStatement,
} from '../src/store/sqlite/sqlite-driver.ts'

export interface DriverCount {
  statements: number
  /** How often something was sent on a connection that owed no answer: what goes out together, or behind it, waits for nothing else. */
  roundTrips: number
}

interface Wire extends EventEmitter {
  startup(config: { readonly application_name?: string }): void
  execute(...args: unknown[]): void
  query(...args: unknown[]): void
  sync(): void
}

const onPostgres: DriverCount = { statements: 0, roundTrips: 0 }
let isPostgresPatched = false

/** From the first call on, on all connections that engines in this process open to PostgreSQL. Whoever looks on uses another name. */
export function countPostgres(): DriverCount {
  if (!isPostgresPatched) {
    isPostgresPatched = true
    const wire = pg.Connection.prototype as unknown as Wire
    const { startup } = wire
    wire.startup = function (this: Wire, config) {
      if (config.application_name === 'geneva-drive') countOn(this)
      startup.call(this, config)
    }
  }
  return onPostgres
}

/** On the wire, where a batch is as many statements as it has, with one barrier behind them. Each barrier is answered once. */
function countOn(connection: Wire): void {
  const { execute, query, sync } = connection
  let unanswered = 0
  const barrier = () => {
    if (unanswered++ === 0) onPostgres.roundTrips++
  }
  // The first says that the connection stands, and answers nothing.
  connection.prependListener('readyForQuery', () => {
    unanswered = Math.max(0, unanswered - 1)
  })
  connection.execute = (...args) => {
    onPostgres.statements++
    execute.apply(connection, args)
  }
  connection.sync = () => {
    barrier()
    sync.call(connection)
  }
  connection.query = (...args) => {
    onPostgres.statements++
    barrier()
    query.apply(connection, args)
  }
}

const onMysql = { roundTrips: 0 }
let isMysqlPatched = false

/** The same for MySQL and MariaDB, which count statements themselves. The driver sends a packet when the one before it is answered. */
export function countMysql(): Pick<DriverCount, 'roundTrips'> {
  if (!isMysqlPatched) {
    isMysqlPatched = true
    const { prototype } = mysql.Connection as unknown as { prototype: Queried }
    const { query } = prototype
    prototype.query = function (this: Queried, ...args) {
      // Whoever looks on sends one statement at a time.
      if (this.config.multipleStatements) onMysql.roundTrips++
      return query.apply(this, args)
    }
  }
  return onMysql
}

interface Queried {
  readonly config: { readonly multipleStatements: boolean }
  query(...args: unknown[]): unknown
}

export interface CountingSqlite {
  statements: number
  commits: number
  readonly driver: SqliteLibrary
  /** Rows that were inserted, updated and deleted, over all connections that were ever open. */
  rows(): number
}

export async function countingSqlite(): Promise<CountingSqlite> {
  const Library = await ownLibrary()
  const open = new Set<SqliteHandle>()
  const changesOf = (handle: SqliteHandle) =>
    Number((handle.prepare('select total_changes() as rows').all()[0] as { rows: number }).rows)
  let closedRows = 0
  const count: CountingSqlite = {
    statements: 0,
    commits: 0,
    driver: class implements SqliteHandle {
      readonly #handle: SqliteHandle
      #reads = true
      constructor(path: string) {
        this.#handle = new Library(path)
        open.add(this.#handle)
      }
      exec(text: string): void {
        this.#note(text)
        this.#handle.exec(text)
      }
      prepare(text: string): SqliteStatement {
        const statement = this.#handle.prepare(text)
        return {
          all: (...values) => {
            this.#note(text)
            return statement.all(...values)
          },
          run: (...values) => {
            this.#note(text)
            return statement.run(...values)
          },
        }
      }
      /** Every transaction that is to write begins so. */
      #note(text: string): void {
        count.statements++
        if (/^\s*begin/i.test(text)) this.#reads = !/immediate|exclusive/i.test(text)
        if (/^\s*commit/i.test(text) && !this.#reads) count.commits++
      }
      close(): void {
        closedRows += changesOf(this.#handle)
        open.delete(this.#handle)
        this.#handle.close()
      }
    },
    rows: () => [...open].reduce((sum, handle) => sum + changesOf(handle), closedRows),
  }
  return count
}
