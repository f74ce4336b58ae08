/**
 * Connections to MySQL or MariaDB through `mysql2`. Every session of ours runs READ COMMITTED in UTC; the last writes
 * of a transaction and its commit travel in one packet.
 */
import type { Socket } from 'node:net'
import type { Pool, PoolConnection } from 'mysql2/promise'
import { DriverMissingError, UnsupportedDatabaseError } from '../../errors.ts'
import type { PoolUse } from '../housekeeping-store.ts'
import type {
  Database,
  Dialect,
  Executor,
  OpenUserTransaction,
  Row,
  SessionOptions,
  Transaction,
} from '../sql/dialect.ts'
import { borrowHandle } from '../sql/handles/borrow-handle.ts'
import { raw, type Sql } from '../sql/sql.ts'
import { findStepMark, setStepMark } from '../sql/step-mark.ts'
import { keptConnections, Turnstile } from '../sql/turnstile.ts'
import { waitBriefly, waitPatiently } from './lock-waits.ts'
import { mysqlDialect } from './mysql-dialect.ts'
import type { MysqlFlavor } from './mysql-schema.ts'
import { inTime, MysqlSession, MysqlTransaction } from './mysql-session.ts'

export interface MysqlOptions {
  readonly url: string
  readonly poolSize: number
  /** How long an answer is waited for. */
  readonly answerMs?: number
}

/** Longer than a packet of ours takes, with two whole waits for locks in it. With more of them it counts as not answered. */
const usualAnswerMs = 45_000

const sessionSettings = [
  'set session transaction isolation level read committed',
  `set session time_zone = '+00:00'`,
  // Strict, and with backslash escapes, which the driver relies on when it quotes values.
  `set session sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'`,
  waitBriefly,
  // A server may begin sessions without it: single writes would stay in a transaction that nobody commits.
  'set session autocommit = 1',
]

/** A process that was stopped in mid-transaction keeps its locks no longer than that. */
const limitIdleTransactions = 'set session idle_transaction_timeout = 5'
/** MySQL has no such setting, but can end a session in which nothing happens. One that idles in the pool is replaced. */
const limitIdleSessions = 'set session wait_timeout = 60'
/** The application's own code may take longer: so far it has locked nothing of ours. */
const letUsersIdle = 'set session idle_transaction_timeout = 60'

/**
 * After a deadlock the server has ended the transaction, and would commit what the application's code still sends, statement by
 * statement. Like this it is in another transaction, which is undone with the first, until the session begins anew.
 */
const commitNothingAlone = raw('set autocommit = 0')

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
    const { answerMs = usualAnswerMs } = options
    const flavor = await probe(pool, answerMs)
    const limitIdling = flavor.limitsIdleTransactions ? limitIdleTransactions : limitIdleSessions
    return new MysqlDatabase(pool, mysqlDialect(flavor), {
      session: [...sessionSettings, limitIdling].join('; '),
      limit: options.poolSize,
      answerMs,
      mayIdle: [raw(waitPatiently), ...(flavor.limitsIdleTransactions ? [raw(letUsersIdle)] : [])],
      mustGoOn: flavor.limitsIdleTransactions ? [raw(limitIdleTransactions)] : [],
    })
  } catch (error) {
    await pool.end()
    throw error
  }
}

/** Learns which of the two servers this is, and refuses what is too old by name. */
async function probe(pool: Pool, answerMs: number): Promise<MysqlFlavor> {
  const version = await versionOf(await pool.getConnection(), answerMs)
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

async function versionOf(connection: PoolConnection, answerMs: number): Promise<string> {
  try {
    const [rows] = await inTime(connection.query('select version() as version'), answerMs)
    connection.release()
    return String((rows as { version: string }[])[0]?.version)
  } catch (error) {
    connection.destroy()
    throw error
  }
}

interface MysqlSettings {
  /** What is said on every connection first. */
  readonly session: string
  readonly limit: number
  readonly answerMs: number
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

  async session<T>(work: (executor: Executor) => Promise<T>, options: SessionOptions = {}): Promise<T> {
    const connection = await this.#connect()
    const session = new MysqlSession(connection, options.mayTakeLong ? null : this.#settings.answerMs)
    let discard = false
    try {
      return await work(session)
    } catch (error) {
      discard = this.dialect.classify(error) === 'connection'
      throw error
    } finally {
      if (discard || session.isGone) this.#discard(connection)
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
        if (this.dialect.classify(error) !== 'connection') await (session as MysqlSession).rollBack()
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
        if (this.dialect.classify(error) !== 'connection') await (session as MysqlSession).rollBack()
        throw error
      }
    })
  }

  userTransaction<T>(work: (opened: OpenUserTransaction) => Promise<T>): Promise<T> {
    return this.#users.through(() => this.#runUserTransaction(work))
  }

  async #runUserTransaction<T>(work: (opened: OpenUserTransaction) => Promise<T>): Promise<T> {
    const connection = await this.#connect()
    const session = new MysqlSession(connection, this.#settings.answerMs)
    const query = async (text: string, values: readonly unknown[] = []) => {
      const [rows] = await connection.query(text, [...values])
      return (Array.isArray(rows) ? rows : []) as Record<string, unknown>[]
    }
    const together = async (statements: readonly Sql[]) => void (await session.queryTogether(statements))
    const { mayIdle, mustGoOn } = this.#settings
    let discard = false
    try {
      await together([...mayIdle, commitNothingAlone, raw('start transaction'), setStepMark])
      const result = await work({
        transaction: { query, handle: connection },
        executor: session,
        closing: () => together([findStepMark, ...mustGoOn]),
        runAll: together,
        abandon: () => {
          discard = true
        },
      })
      await together([raw('commit')])
      return result
    } catch (error) {
      discard ||= this.dialect.classify(error) === 'connection'
      if (!discard) {
        await together([raw('rollback')]).catch(() => {
          discard = true
        })
      }
      throw error
    } finally {
      if (discard) this.#discard(connection)
      else void this.#beginAnew(connection)
    }
  }

  /**
   * What the application's code has set, locked or made must not fall on whoever gets the connection next: the database in use, the SQL
   * mode, user locks, temporary tables. Nobody waits for it. The server forgets all of it when the same user logs in again.
   */
  async #beginAnew(connection: PoolConnection): Promise<void> {
    try {
      await inTime(connection.changeUser({}), this.#settings.answerMs)
      await this.#setUp(connection)
      this.#release(connection)
    } catch {
      this.#discard(connection)
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
        await this.#setUp(connection)
      } catch (error) {
        this.#discard(connection)
        throw error
      }
      this.#prepared.add(underlying)
    }
    return connection
  }

  async #setUp(connection: PoolConnection): Promise<void> {
    await inTime(connection.query(this.#settings.session), this.#settings.answerMs)
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
