/**
 * Connections to MySQL or MariaDB through `mysql2`. Every session of ours runs READ COMMITTED in UTC; the last writes
 * of a transaction and its commit travel in one packet.
 */
import type { Socket } from 'node:net'
import type { Pool, PoolConnection, ResultSetHeader } from 'mysql2/promise'
import { DriverMissingError, UnsupportedDatabaseError } from '../../errors.ts'
import { invariant } from '../../primitives/invariant.ts'
import type { PoolUse } from '../housekeeping-store.ts'
import type { Database, Dialect, Executor, Guard, OpenUserTransaction, Row, Transaction } from '../sql/dialect.ts'
import { borrowHandle } from '../sql/handles/borrow-handle.ts'
import { Counted, raw, render, Sql, sql } from '../sql/sql.ts'
import { findStepMark, setStepMark } from '../sql/step-mark.ts'
import { keptConnections, Turnstile } from '../sql/turnstile.ts'
import { mysqlDialect } from './mysql-dialect.ts'
import type { MysqlFlavor } from './mysql-schema.ts'
import { mysqlStatements } from './mysql-statements.ts'

export interface MysqlOptions {
  readonly url: string
  readonly poolSize: number
}

const sessionSettings = [
  'set session transaction isolation level read committed',
  `set session time_zone = '+00:00'`,
  // Strict, and with backslash escapes, which the driver relies on when it quotes values.
  `set session sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'`,
  'set session innodb_lock_wait_timeout = 20',
]

/** A process that was stopped in mid-transaction keeps its locks no longer than that. MySQL has no such setting. */
const limitIdleTransactions = 'set session idle_transaction_timeout = 5'
/** The application's own code may take longer: so far it has locked nothing of ours. */
const letUsersIdle = 'set session idle_transaction_timeout = 60'

/** The level holds for this one transaction. */
const beginSnapshot = [
  raw('set transaction isolation level repeatable read'),
  raw('start transaction with consistent snapshot, read only'),
]

export async function openMysql(options: MysqlOptions): Promise<Database> {
  const driver = await import('mysql2/promise').catch(error => {
    throw new DriverMissingError('MySQL', 'mysql2', { cause: error })
  })
  const pool = driver.createPool({
    uri: options.url.replace(/^mariadb:/, 'mysql:'),
    connectionLimit: options.poolSize,
    // A server that vanished without a word must not be waited for until a worker has lost its lease unnoticed.
    enableKeepAlive: true,
    keepAliveInitialDelay: 5000,
    connectTimeout: 10_000,
    multipleStatements: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    jsonStrings: true,
    charset: 'utf8mb4',
    timezone: 'Z',
  } as Parameters<typeof driver.createPool>[0])
  try {
    const flavor = await probe(pool)
    const settings = flavor.limitsIdleTransactions ? [...sessionSettings, limitIdleTransactions] : sessionSettings
    return new MysqlDatabase(pool, mysqlDialect(flavor), {
      session: settings.join('; '),
      limit: options.poolSize,
      mayIdle: flavor.limitsIdleTransactions ? [raw(letUsersIdle)] : [],
      mustGoOn: flavor.limitsIdleTransactions ? [raw(limitIdleTransactions)] : [],
    })
  } catch (error) {
    await pool.end()
    throw error
  }
}

/** Learns which of the two servers this is, and refuses what is too old by name. */
async function probe(pool: Pool): Promise<MysqlFlavor> {
  const [rows] = await pool.query('select version() as version')
  const version = String((rows as { version: string }[])[0]?.version)
  const [major = 0, minor = 0] = version.split('.').map(part => Number.parseInt(part, 10))
  if (/mariadb/i.test(version)) {
    if (major < 10 || (major === 10 && minor < 6)) {
      throw new UnsupportedDatabaseError(`MariaDB 10.6 or newer is needed; this server reports ${version}.`)
    }
    return { binaryCollation: 'utf8mb4_nopad_bin', limitsIdleTransactions: true }
  }
  if (major < 8) throw new UnsupportedDatabaseError(`MySQL 8.0 or newer is needed; this server reports ${version}.`)
  return { binaryCollation: 'utf8mb4_0900_bin', limitsIdleTransactions: false }
}

interface MysqlSettings {
  /** What is said on every connection first. */
  readonly session: string
  readonly limit: number
  /** Said where code of the application begins to use a transaction, and where it has ended. */
  readonly mayIdle: readonly Sql[]
  readonly mustGoOn: readonly Sql[]
}

class MysqlDatabase implements Database {
  readonly dialect: Dialect
  readonly pipelines = false
  readonly #pool: Pool
  readonly #settings: MysqlSettings
  readonly #users: Turnstile
  #used = 0
  #waiting = 0
  readonly #prepared = new WeakSet<object>()

  constructor(pool: Pool, dialect: Dialect, settings: MysqlSettings) {
    this.#users = new Turnstile(settings.limit - keptConnections)
    this.#pool = pool
    this.dialect = dialect
    this.#settings = settings
  }

  query(statement: Sql): Promise<Row[]> {
    return this.session(session => session.query(statement))
  }

  run(statement: Sql): Promise<number> {
    return this.session(session => session.run(statement))
  }

  async session<T>(work: (executor: Executor) => Promise<T>): Promise<T> {
    const connection = await this.#connect()
    let discard = false
    try {
      return await work(new MysqlSession(connection))
    } catch (error) {
      discard = this.dialect.classify(error) === 'connection'
      throw error
    } finally {
      if (discard) this.#discard(connection)
      else this.#release(connection)
    }
  }

  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.session(async session => {
      const transaction = new MysqlTransaction(session as MysqlSession)
      try {
        const result = await work(transaction)
        await transaction.finish()
        return result
      } catch (error) {
        if (this.dialect.classify(error) !== 'connection') await session.run(raw('rollback'))
        throw error
      }
    })
  }

  snapshot(statements: readonly Sql[]): Promise<Row[][]> {
    return this.session(async session => {
      try {
        const all = [...beginSnapshot, ...statements, raw('commit')]
        const answers = await (session as MysqlSession).queryTogether(all)
        return answers.slice(beginSnapshot.length, -1) as Row[][]
      } catch (error) {
        if (this.dialect.classify(error) !== 'connection') await session.run(raw('rollback'))
        throw error
      }
    })
  }

  userTransaction<T>(work: (opened: OpenUserTransaction) => Promise<T>): Promise<T> {
    return this.#users.through(() => this.#runUserTransaction(work))
  }

  async #runUserTransaction<T>(work: (opened: OpenUserTransaction) => Promise<T>): Promise<T> {
    const connection = await this.#connect()
    const session = new MysqlSession(connection)
    const query = async (text: string, values: readonly unknown[] = []) => {
      const [rows] = await connection.query(text, [...values])
      return (Array.isArray(rows) ? rows : []) as Record<string, unknown>[]
    }
    const together = async (statements: readonly Sql[]) => void (await session.queryTogether(statements))
    const { mayIdle, mustGoOn } = this.#settings
    let discard = false
    try {
      await together([...mayIdle, raw('start transaction'), setStepMark])
      const result = await work({
        transaction: { query, handle: connection },
        executor: session,
        closing: () => together([findStepMark, ...mustGoOn]),
        // In one packet: after a deadlock the transaction is gone, and further statements would be committed one by one.
        runAll: together,
        abandon: () => {
          discard = true
        },
      })
      await session.run(raw('commit'))
      return result
    } catch (error) {
      discard ||= this.dialect.classify(error) === 'connection'
      if (!discard) {
        await together([raw('rollback'), ...mustGoOn]).catch(() => {
          discard = true
        })
      }
      throw error
    } finally {
      if (discard) this.#discard(connection)
      else this.#release(connection)
    }
  }

  borrow(handle: unknown): Executor {
    return borrowHandle(handle, { kind: 'mysql', placeholder: this.dialect.placeholder })
  }

  poolUse(): PoolUse {
    return { used: this.#used, waiting: this.#waiting, limit: this.#settings.limit }
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  async #connect(): Promise<PoolConnection> {
    this.#waiting++
    const connection = await this.#pool.getConnection().finally(() => this.#waiting--)
    this.#used++
    const underlying = connection.connection
    streamOf(connection)?.ref()
    if (!this.#prepared.has(underlying)) {
      try {
        await connection.query(this.#settings.session)
      } catch (error) {
        this.#discard(connection)
        throw error
      }
      this.#prepared.add(underlying)
    }
    return connection
  }

  /** An idle connection does not keep a process alive that has nothing left to do. */
  #release(connection: PoolConnection): void {
    this.#used--
    streamOf(connection)?.unref()
    connection.release()
  }

  #discard(connection: PoolConnection): void {
    this.#used--
    connection.destroy()
  }
}

function streamOf(connection: PoolConnection): Socket | undefined {
  return (connection.connection as unknown as { stream?: Socket }).stream
}

const placeholder = () => '?'

class MysqlSession implements Executor {
  readonly pipelines = true
  readonly #connection: PoolConnection

  constructor(connection: PoolConnection) {
    this.#connection = connection
  }

  async query(statement: Sql): Promise<Row[]> {
    return (await this.#send([statement])) as Row[]
  }

  async run(statement: Sql): Promise<number> {
    return ((await this.#send([statement])) as ResultSetHeader).affectedRows
  }

  /** Several statements in one packet; the server stops at the first that fails. */
  async queryTogether(statements: readonly Sql[]): Promise<unknown[]> {
    const answer = await this.#send(statements)
    return statements.length === 1 ? [answer] : (answer as unknown[])
  }

  async #send(statements: readonly Sql[]): Promise<unknown> {
    const rendered = statements.map(statement => render(statement, placeholder))
    const [result] = await this.#connection.query(
      rendered.map(part => part.text).join(';\n'),
      rendered.flatMap(part => part.values as unknown[]),
    )
    return result
  }
}

interface Gathered {
  readonly statement: Sql
  resolve(answer: unknown): void
  reject(error: unknown): void
}

class MysqlTransaction implements Transaction {
  readonly pipelines = true
  readonly #session: MysqlSession
  #begun = false
  #ended = false
  #gathered: Gathered[] = []

  constructor(session: MysqlSession) {
    this.#session = session
  }

  async query(statement: Sql): Promise<Row[]> {
    return (await this.#gather(statement)) as Row[]
  }

  async run(statement: Sql): Promise<number> {
    return ((await this.#gather(statement)) as ResultSetHeader).affectedRows
  }

  async commitWith(statements: readonly Sql[]): Promise<void> {
    const all = [...statements, raw('commit')].map(statement => this.#gather(statement))
    await Promise.all(all)
    this.#ended = true
  }

  /** What stands between two looks at answers travels together. */
  async commitIf(steps: (now: Sql) => readonly (Sql | Guard)[]): Promise<number | null> {
    void this.run(sql`set @geneva_now = ${mysqlStatements.now}`).catch(() => {})
    const time = this.query(raw('select @geneva_now as now'))
    time.catch(() => {})
    const all = steps(raw('@geneva_now'))
    invariant(!all.some(step => step instanceof Counted), 'What is written is not counted here.')
    for (let next = 0; next < all.length; ) {
      const answers: { readonly count: number; readonly rows: Promise<Row[]> }[] = []
      const written: Promise<unknown>[] = []
      for (; next < all.length; next++) {
        const step = all[next]
        if (step instanceof Sql) {
          if (answers.length > 0) break
          written.push(this.run(step))
        } else if (step !== undefined) answers.push({ count: step.count, rows: this.query(step.select) })
      }
      // The last writes go out with the commit.
      if (next === all.length && answers.length === 0) written.push(this.commitWith([]))
      await Promise.all([...written, ...answers.map(({ rows }) => rows)])
      for (const { count, rows } of answers) {
        if ((await rows).length === count) continue
        await this.run(raw('rollback'))
        this.#ended = true
        return null
      }
    }
    if (!this.#ended) await this.commitWith([])
    return Number((await time)[0]?.now)
  }

  async finish(): Promise<void> {
    if (this.#begun && !this.#ended) await this.commitWith([])
  }

  /** The driver sends a statement when the one before is answered, so those of one turn go out as one. */
  #gather(statement: Sql): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#gathered.length === 0) process.nextTick(() => void this.#send())
      this.#gathered.push({ statement, resolve, reject })
    })
  }

  /** The server stops at the first that fails, and the transaction is over then in any case. */
  async #send(): Promise<void> {
    const gathered = this.#gathered
    this.#gathered = []
    const begin = this.#begun ? [] : [raw('start transaction')]
    this.#begun = true
    try {
      const answers = await this.#session.queryTogether([...begin, ...gathered.map(each => each.statement)])
      gathered.forEach((each, index) => each.resolve(answers[begin.length + index]))
    } catch (error) {
      for (const each of gathered) each.reject(error)
    }
  }
}
