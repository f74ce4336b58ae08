/**
 * Connections to PostgreSQL through `pg`, pipelined: the statements of a transaction go out without waiting for the
 * answers before them wherever their text does not depend on those.
 */
import type pg from 'pg'
import { DriverMissingError, UnsupportedDatabaseError } from '../../errors.ts'
import type { Hints } from '../hints.ts'
import type { PoolUse } from '../housekeeping-store.ts'
import {
  type Database,
  type Dialect,
  type Executor,
  type OpenUserTransaction,
  type Row,
  runAll,
  type SessionOptions,
  type Transaction,
} from '../sql/dialect.ts'
import { borrowHandle } from '../sql/handles/borrow-handle.ts'
import { raw, type Sql } from '../sql/sql.ts'
import { findStepMark, setStepMark } from '../sql/step-mark.ts'
import { keptConnections, Turnstile } from '../sql/turnstile.ts'
import { limitAnswers } from './limit-answers.ts'
import { postgresDialect } from './postgres-dialect.ts'
import { PostgresHints } from './postgres-hints.ts'
import { PostgresSession, PostgresTransaction, StatementNames } from './postgres-session.ts'
import { namePooler, refusePooler } from './refuse-pooler.ts'
import { resetSession, setForSession, setForTransaction } from './session-settings.ts'

export interface PostgresOptions {
  readonly url: string
  readonly poolSize: number
  /** Off behind a pooler that hands out a connection per transaction. */
  readonly preparedStatements: boolean
  /** Whether processes pass word to each other. */
  readonly notify?: boolean
  /** How long an answer is waited for. */
  readonly answerMs?: number
}

const oldestVersion = 130000

/** Longer than any statement of ours takes, lock waits included. */
const usualAnswerMs = 30_000

const beginSnapshot = raw('begin isolation level repeatable read read only')
const beginPooledSnapshot = raw(`${beginSnapshot.parts.join('')}; ${setForTransaction}`)

/** The application's own code may take longer: so far it has locked nothing of ours. */
const beginUser = [
  raw('begin isolation level read committed'),
  raw(`set local idle_in_transaction_session_timeout = '60s'`),
  raw('set local enable_seqscan to default'),
  // Nor is it begun again lightly.
  raw('set local lock_timeout to default'),
  setStepMark,
]
const closeUser = [
  findStepMark,
  raw(`set local idle_in_transaction_session_timeout = '5s'`),
  raw('set local enable_seqscan = off'),
]

export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const driver = await import('pg').catch(error => {
    throw new DriverMissingError('PostgreSQL', 'pg', { cause: error })
  })
  const { answerMs = usualAnswerMs } = options
  const connection = {
    connectionString: options.url,
    // A server that vanished without a word must not be waited for until a worker has lost its lease unnoticed.
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
    application_name: 'geneva-drive',
  }
  const pool = new driver.default.Pool({
    ...connection,
    max: options.poolSize,
    pipeline: true,
    // Idle connections do not keep a process alive that has nothing left to do.
    allowExitOnIdle: true,
  } as pg.PoolConfig)
  // A connection that breaks, idle or in use, is replaced. Its statements fail; without listeners the process would end.
  pool.on('error', () => {})
  pool.on('connect', client => {
    client.on('error', () => {})
  })
  const names = options.preparedStatements ? new StatementNames(driver.default.Query) : null
  const connect = () => new driver.default.Client(connection)
  const database = new PostgresDatabase(pool, names, options.notify ? connect : null)
  try {
    if (options.preparedStatements) await setUpSessions(pool, connect)
    database.dialect = dialectOf(await readVersion(database))
  } catch (error) {
    await pool.end()
    throw error
  }
  return database
}

/** Nothing is set before it is known that it will not be set for others. */
async function setUpSessions(pool: pg.Pool, connect: () => pg.Client): Promise<void> {
  const setUp = (client: pg.ClientBase) => void client.query(setForSession).catch(() => {})
  const first = await pool.connect()
  try {
    await refusePooler(first, connect)
    setUp(first)
    pool.on('connect', setUp)
  } finally {
    first.release()
  }
}

async function readVersion(database: Database): Promise<number> {
  const rows = await database.query(raw(`select current_setting('server_version_num') as version`))
  const version = Number(rows[0]?.version)
  if (version < oldestVersion) {
    throw new UnsupportedDatabaseError(`PostgreSQL 13 or newer is needed; this server reports ${version}.`)
  }
  return version
}

/** An update tells what was there before. */
const returnsOldFrom = 180000

function dialectOf(version: number): Dialect {
  return version < returnsOldFrom ? postgresDialect : { ...postgresDialect, returnsOld: true }
}

class PostgresDatabase implements Database {
  /** Of the oldest server, until it is known which this one is. */
  dialect: Dialect = postgresDialect
  readonly pipelines = false
  readonly #pool: pg.Pool
  readonly #names: StatementNames | null
  readonly #users: Turnstile
  readonly #answerMs: number
  readonly hints?: (channel: string) => Hints

  constructor(pool: pg.Pool, names: StatementNames | null, connect: (() => pg.Client) | null) {
    if (connect !== null) this.hints = channel => new PostgresHints({ pool, connect, channel })
    this.#pool = pool
    this.#users = new Turnstile(pool.options.max - keptConnections)
    this.#names = names
    this.#answerMs = pool.options.query_timeout ?? usualAnswerMs
  }

  query(statement: Sql): Promise<Row[]> {
    return this.session(session => session.query(statement))
  }

  run(statement: Sql): Promise<number> {
    return this.session(session => session.run(statement))
  }

  async session<T>(work: (executor: Executor) => Promise<T>, options: SessionOptions = {}): Promise<T> {
    const client = await this.#pool.connect()
    let failure: unknown
    try {
      return await work(new PostgresSession(client, this.#names, options))
    } catch (error) {
      failure = error
      throw namePooler(error)
    } finally {
      client.release(this.#mustDiscard(failure))
    }
  }

  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.session(async session => {
      const transaction = new PostgresTransaction(session as PostgresSession)
      try {
        const result = await work(transaction)
        await transaction.finish()
        return result
      } catch (error) {
        if (!this.#mustDiscard(error)) await transaction.undo()
        throw error
      }
    })
  }

  /** After a statement that failed the commit is a rollback, so the connection can be used again in any case. */
  snapshot(statements: readonly Sql[]): Promise<Row[][]> {
    return this.session(async session => {
      const all = [this.#names === null ? beginPooledSnapshot : beginSnapshot, ...statements, raw('commit')]
      const answers = await Promise.allSettled(all.map(statement => session.query(statement)))
      const failed = answers.find(answer => answer.status === 'rejected')
      if (failed) throw failed.reason
      return answers.slice(1, -1).map(answer => (answer.status === 'fulfilled' ? answer.value : []))
    })
  }

  userTransaction<T>(work: (opened: OpenUserTransaction) => Promise<T>): Promise<T> {
    return this.#users.through(() => this.#runUserTransaction(work))
  }

  async #runUserTransaction<T>(work: (opened: OpenUserTransaction) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect()
    const session = new PostgresSession(client, this.#names)
    const query = async (text: string, values: readonly unknown[] = []) => (await client.query(text, [...values])).rows
    let discard = false
    try {
      await runAll(session, beginUser)
      limitAnswers(client, null)
      const result = await work({
        transaction: { query, handle: client },
        executor: session,
        closing: () => {
          limitAnswers(client, this.#answerMs)
          return runAll(session, closeUser)
        },
        runAll: statements => runAll(session, statements),
        abandon: () => {
          discard = true
        },
      }).finally(() => limitAnswers(client, this.#answerMs))
      await new PostgresTransaction(session, true).commitWith([])
      return result
    } catch (error) {
      discard ||= this.#mustDiscard(error)
      if (!discard) await client.query('rollback').catch(() => {})
      throw namePooler(error)
    } finally {
      void this.#takeBack(client, discard)
    }
  }

  /** Nobody waits for it. Behind a pooler the server's connection is with somebody else by now. */
  async #takeBack(client: pg.PoolClient, discard: boolean): Promise<void> {
    const isReset = discard || this.#names === null || (await client.query(resetSession).catch(() => null)) !== null
    client.release(discard || !isReset)
  }

  borrow(handle: unknown): Executor {
    return borrowHandle(handle, { kind: 'postgres', placeholder: this.dialect.placeholder })
  }

  poolUse(): PoolUse {
    const { totalCount, idleCount, waitingCount, options } = this.#pool
    return { used: totalCount - idleCount, waiting: waitingCount, limit: options.max }
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  #mustDiscard(error: unknown): boolean {
    return error !== undefined && this.dialect.classify(error) === 'connection'
  }
}
