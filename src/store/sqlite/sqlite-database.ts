/**
 * Connections to one SQLite file: one that writes, one transaction after another, and one that reads. A busy database
 * is waited for asynchronously, never by blocking the event loop.
 */

import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { InvalidArgumentError } from '../../errors.ts'
import { pauseFor } from '../../primitives/pause-for.ts'
import {
  type Database,
  type Executor,
  type Guard,
  type OpenUserTransaction,
  type Row,
  runAll,
  type Transaction,
} from '../sql/dialect.ts'
import { borrowHandle } from '../sql/handles/borrow-handle.ts'
import { retrying } from '../sql/retrying.ts'
import { Counted, param, raw, render, Sql, sql } from '../sql/sql.ts'
import { findStepMark, setStepMark } from '../sql/step-mark.ts'
import { Turnstile } from '../sql/turnstile.ts'
import { ExcludingTransaction } from './excluding-transaction.ts'
import { sqliteDialect } from './sqlite-dialect.ts'
import { openSqliteHandle, type SqliteHandle, type SqliteLibrary, type SqliteStatement } from './sqlite-driver.ts'

export interface SqliteOptions {
  readonly path: string
  /** `full` survives a power cut; `normal` may lose the last commits then, but never corrupts. */
  readonly synchronous: 'full' | 'normal'
  /** By default our own. */
  readonly library?: SqliteLibrary
  /** How long a transaction of the application may stay open. Default: half of a worker's lease, which it keeps waiting. */
  readonly userTransactionMs?: number
}

const openTimeoutMs = 60_000
const defaultUserTransactionMs = 5000
/** Others look for the lock every tenth of a second or so: shorter than this, and they find it free soon enough. */
const longHoldMs = 30
const maxCached = 500
/** Enough for the pages that a large set touches in a large history. A connection takes only as much as it uses. */
const cacheKilobytes = 16_000

export async function openSqlite(options: SqliteOptions): Promise<Database> {
  mkdirSync(dirname(options.path), { recursive: true })
  const writer = await open(options)
  try {
    return new SqliteDatabase(writer, await open(options), options)
  } catch (error) {
    writer.handle.close()
    throw error
  }
}

async function open(options: SqliteOptions): Promise<SqliteConnection> {
  const handle = await openSqliteHandle(options.path, options.library)
  for (let waited = 0; ; waited += 10) {
    try {
      handle.exec('pragma busy_timeout = 0')
      handle.exec('pragma journal_mode = wal')
      handle.exec(`pragma cache_size = -${cacheKilobytes}`)
      handle.exec(`pragma synchronous = ${options.synchronous === 'full' ? 'full' : 'normal'}`)
      return new SqliteConnection(handle)
    } catch (error) {
      if (sqliteDialect.classify(error) !== 'transient' || waited > openTimeoutMs) {
        handle.close()
        throw error
      }
      await pauseFor(10)
    }
  }
}

class SqliteConnection implements Executor {
  readonly pipelines = true
  readonly handle: SqliteHandle
  readonly #statements = new Map<string, SqliteStatement>()

  constructor(handle: SqliteHandle) {
    this.handle = handle
  }

  async query(statement: Sql): Promise<Row[]> {
    const { text, values } = render(statement, sqliteDialect.placeholder)
    return this.#prepare(text).all(...values) as Row[]
  }

  async run(statement: Sql): Promise<number> {
    const { text, values } = render(statement, sqliteDialect.placeholder)
    return Number(this.#prepare(text).run(...values).changes)
  }

  #prepare(text: string): SqliteStatement {
    const known = this.#statements.get(text)
    if (known) return known
    if (this.#statements.size >= maxCached) this.#statements.clear()
    const statement = this.handle.prepare(text)
    this.#statements.set(text, statement)
    return statement
  }
}

type UserWork<T> = (opened: OpenUserTransaction) => Promise<T>

class SqliteDatabase implements Database {
  readonly dialect = sqliteDialect
  readonly pipelines = false
  readonly #writer: SqliteConnection
  readonly #reader: SqliteConnection
  readonly #options: SqliteOptions
  /** The end of the queue for the writing connection. */
  #turn: Promise<unknown> = Promise.resolve()
  /** The connection for the application's own statements. */
  #user: SqliteConnection | null = null
  /** One at a time joins the queue, or our own writers would stand behind all of them. */
  readonly #users = new Turnstile(1)
  /** How long to leave the file to others before it is locked for the application again. */
  #restMs = 0

  constructor(writer: SqliteConnection, reader: SqliteConnection, options: SqliteOptions) {
    this.#writer = writer
    this.#reader = reader
    this.#options = options
  }

  query(statement: Sql): Promise<Row[]> {
    return this.#reader.query(statement)
  }

  run(statement: Sql): Promise<number> {
    return this.session(session => session.run(statement))
  }

  session<T>(work: (executor: Executor) => Promise<T>): Promise<T> {
    const result = this.#turn.then(() => work(this.#writer))
    this.#turn = result.catch(() => {})
    return result
  }

  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.session(async session => {
      // The statements are answered at once, so the transaction is over before other code of this process has a turn,
      // provided that it begins in a turn of its own. Else the application could find the file locked by itself, and
      // wait for the lock without ever letting go of the thread.
      await setImmediate()
      await session.run(raw('begin immediate'))
      const transaction = new SqliteTransaction(session)
      try {
        const result = await work(transaction)
        if (!transaction.ended) await transaction.commitWith([])
        return result
      } catch (error) {
        if (!transaction.ended) await session.run(raw('rollback')).catch(() => {})
        throw error
      }
    })
  }

  /** Answered without a turn in between, so that the connection that reads is never seen in a transaction. */
  async snapshot(statements: readonly Sql[]): Promise<Row[][]> {
    this.#reader.handle.exec('begin')
    const answers = statements.map(statement => this.#reader.query(statement))
    this.#reader.handle.exec('rollback')
    return Promise.all(answers)
  }

  /**
   * On a connection of its own. Nobody else can write meanwhile, so it stands in one line with our own writers: those
   * who wait for it come next. Other processes find the file free for a while after a transaction that took long.
   */
  userTransaction<T>(work: UserWork<T>): Promise<T> {
    return this.#users.through(async () => {
      if (this.#restMs > 0) await pauseFor(this.#restMs)
      const outcome = await retrying(this.dialect, () => this.session(() => this.#runUserTransaction(work)))
      if ('error' in outcome) throw outcome.error
      return outcome.result
    })
  }

  /** Rejects only when it could not begin, so that the work is never repeated. */
  async #runUserTransaction<T>(work: UserWork<T>): Promise<{ result: T } | { error: unknown }> {
    this.#user ??= await open(this.#options)
    const connection = this.#user
    // A turn of its own, so that a loop of these leaves room for others.
    await setImmediate()
    await connection.run(raw('begin immediate'))
    const began = performance.now()
    let abandoned = false
    const limit = new TimeLimit(this.#options.userTransactionMs ?? defaultUserTransactionMs)
    try {
      await connection.run(setStepMark)
      const opened = openUser(connection, () => {
        abandoned = true
      })
      const result = await Promise.race([work(opened), limit.passed])
      await connection.run(raw('commit'))
      return { result }
    } catch (error) {
      undoUser(connection)
      if (limit.isOver || abandoned) this.#giveUpUser(connection)
      return { error }
    } finally {
      limit.end()
      const heldMs = performance.now() - began
      this.#restMs = heldMs < longHoldMs ? 0 : heldMs / 10
    }
  }

  /** The work was left behind unfinished, and may still use its connection. The next one gets another. */
  #giveUpUser(connection: SqliteConnection): void {
    this.#user = null
    connection.handle.close()
  }

  borrow(handle: unknown): Executor {
    const executor = borrowHandle(handle, { kind: 'sqlite', placeholder: this.dialect.placeholder })
    return new ExcludingTransaction(executor, () => this.#isLockedOut())
  }

  /** Asked while someone else should hold the lock. The connection that reads is never in a transaction of ours. */
  #isLockedOut(): boolean {
    try {
      this.#reader.handle.exec('begin immediate')
    } catch (error) {
      if (this.dialect.classify(error) === 'transient') return true
      throw error
    }
    this.#reader.handle.exec('rollback')
    return false
  }

  async close(): Promise<void> {
    await this.#turn
    this.#user?.handle.close()
    this.#reader.handle.close()
    this.#writer.handle.close()
  }
}

/** At once: code that was left behind must not get a turn between the end of the transaction and that of its connection. */
function undoUser({ handle }: SqliteConnection): void {
  try {
    handle.exec('rollback')
  } catch {
    // The transaction is over already.
  }
}

function openUser(connection: SqliteConnection, abandon: () => void): OpenUserTransaction {
  const query = async (text: string, values: readonly unknown[] = []) => {
    const statement = connection.handle.prepare(text)
    // better-sqlite3 refuses to read from what returns nothing.
    if (statement.reader === false) statement.run(...values)
    return (statement.reader === false ? [] : statement.all(...values)) as Record<string, unknown>[]
  }
  return {
    transaction: { query, handle: connection.handle },
    executor: connection,
    closing: async () => {
      await connection.run(findStepMark)
    },
    runAll: statements => runAll(connection, statements),
    abandon,
  }
}

/** While the application's transaction is open nobody else can write, so it must not stay open for ever. */
class TimeLimit {
  isOver = false
  /** Rejects when the time is over. */
  readonly passed: Promise<never>
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    const tooSlow = `A transaction of the application was open for ${ms} ms and was undone. Do slow work outside of it.`
    this.passed = new Promise((_, reject) => {
      this.#timer = setTimeout(() => {
        this.isOver = true
        reject(new InvalidArgumentError(tooSlow))
      }, ms)
    })
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}

class SqliteTransaction implements Transaction {
  readonly pipelines = true
  readonly #session: Executor
  ended = false

  constructor(session: Executor) {
    this.#session = session
  }

  query(statement: Sql): Promise<Row[]> {
    return this.#session.query(statement)
  }

  run(statement: Sql): Promise<number> {
    return this.#session.run(statement)
  }

  async commitWith(statements: readonly Sql[]): Promise<void> {
    for (const statement of statements) await this.#session.run(statement)
    await this.#session.run(raw('commit'))
    this.ended = true
  }

  async commitIf(steps: (now: Sql) => readonly (Sql | Guard)[]): Promise<number | null> {
    const [row] = await this.#session.query(sql`select ${sqliteDialect.now} as now`)
    const now = Number(row?.now)
    for (const step of steps(param(now))) {
      if (await this.#holds(step)) continue
      this.ended = true
      await this.#session.run(raw('rollback'))
      return null
    }
    await this.commitWith([])
    return now
  }

  async #holds(step: Sql | Guard): Promise<boolean> {
    if (!(step instanceof Sql)) return (await this.#session.query(step.select)).length === step.count
    const count = await this.#session.run(step)
    return !(step instanceof Counted) || count === step.count
  }
}
