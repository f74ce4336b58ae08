/** One connection to PostgreSQL while it is lent out, and the transaction on it. */
import { createHash } from 'node:crypto'
import type pg from 'pg'
import { InvariantError } from '../../errors.ts'
import type { Executor, Guard, Row, SessionOptions, Transaction } from '../sql/dialect.ts'
import { raw, render, type Sql } from '../sql/sql.ts'
import { type BatchAnswer, type PreparedStatement, sendBatch, type Wire } from './batch-query.ts'
import { guardedStatements, isBrokenGuard, transactionTime } from './guard-statements.ts'
import { plansAreOld } from './old-plans.ts'
import { setPlanMode } from './plan-mode.ts'
import { postgresDialect } from './postgres-dialect.ts'
import { setForTransaction } from './session-settings.ts'

const begin = raw('begin isolation level read committed')
/** One statement to the driver, which has no values to send with it. */
const beginPooled = raw(`${begin.parts.join('')}; ${setForTransaction}`)
const commit = raw('commit')

/** These have no values, but are part of nearly every transaction. Their names say what they are to whoever reads along. */
const alwaysNamed: ReadonlyMap<string, string> = new Map([
  [begin.parts.join(''), 'geneva_begin'],
  [commit.parts.join(''), 'geneva_commit'],
])

/** Statements beyond this many different texts are sent without a name, so that the server's memory stays bounded. */
const maxNamed = 500

/** What `pg` has, but does not declare. */
interface WithWire {
  readonly connection?: Wire
}

const gathering = new WeakSet<object>()

/** Statements that are sent in one turn leave in one packet: each write costs more than what it carries. */
function gatherWrites(client: pg.PoolClient): void {
  const stream = (client as unknown as WithWire).connection?.stream
  if (stream === undefined || gathering.has(stream)) return
  gathering.add(stream)
  stream.cork()
  process.nextTick(() => {
    gathering.delete(stream)
    stream.uncork()
  })
}

/** Values stay text: the records decide what a column means. */
const textOnly = { getTypeParser: () => (value: string) => value }

/** The driver takes 0 for what it was told for all. */
const longestAnswerMs = 24 * 3600 * 1000

export class PostgresSession implements Executor {
  readonly pipelines = true
  readonly #client: pg.PoolClient
  readonly #names: StatementNames | null
  readonly #answer: { readonly query_timeout?: number }
  readonly begin: Sql

  /** Without names nothing is left in the session, and every transaction sets for itself what it needs. */
  constructor(client: pg.PoolClient, names: StatementNames | null, { mayTakeLong = false }: SessionOptions = {}) {
    this.#answer = mayTakeLong ? { query_timeout: longestAnswerMs } : {}
    this.#client = client
    this.#names = names
    this.begin = names === null ? beginPooled : begin
  }

  async query(statement: Sql): Promise<Row[]> {
    this.plan('each')
    return (await this.send(statement)).rows
  }

  async run(statement: Sql): Promise<number> {
    this.plan('each')
    return (await this.send(statement)).rowCount ?? 0
  }

  /** Never in a transaction that may be undone, and the setting with it. */
  plan(mode: 'kept' | 'each'): void {
    if (this.#names !== null) setPlanMode(this.#client, mode)
  }

  send(statement: Sql): Promise<pg.QueryResult> {
    gatherWrites(this.#client)
    const { text, values } = render(statement, postgresDialect.placeholder)
    const name = values.length > 0 || alwaysNamed.has(text) ? this.#names?.nameOf(text) : undefined
    const config = { text, values: values as unknown[], types: textOnly, ...this.#answer, ...(name ? { name } : {}) }
    return this.#client.query(config as pg.QueryConfig)
  }

  /** Plans are thrown away while tables may have grown since they were made. */
  renewPlans(): void {
    if (this.#names === null || !plansAreOld(this.#client)) return
    // If it fails, so does whatever comes behind it.
    this.#client.query('discard plans').catch(() => {})
  }

  /** All with one barrier behind them; `null`: not every one is prepared on this connection yet, and nothing was sent. */
  sendTogether(statements: readonly Sql[], reads: number | null = null): Promise<BatchAnswer> | null {
    const { parsedStatements } = (this.#client as unknown as WithWire).connection ?? {}
    if (this.#names === null || parsedStatements === undefined) return null
    const prepared: PreparedStatement[] = []
    for (const statement of statements) {
      const { text, values } = render(statement, postgresDialect.placeholder)
      const name = this.#names.find(text)
      // Arrays are written by the driver.
      if (name === undefined || parsedStatements[name] !== text || values.some(Array.isArray)) return null
      prepared.push({ name, text, values })
    }
    gatherWrites(this.#client)
    return sendBatch(this.#names.Query, this.#client, prepared, reads)
  }
}

export class PostgresTransaction implements Transaction {
  readonly pipelines = true
  readonly #session: PostgresSession
  #open: Promise<unknown> | null = null
  #ended = false
  #failedBy: { readonly error: unknown } | null = null

  /** `open`: the transaction has begun already. */
  constructor(session: PostgresSession, open = false) {
    this.#session = session
    if (open) this.#open = Promise.resolve()
  }

  query(statement: Sql): Promise<Row[]> {
    this.#begin()
    return this.#answer(this.#session.query(statement))
  }

  run(statement: Sql): Promise<number> {
    this.#begin()
    return this.#answer(this.#session.run(statement))
  }

  /** Of statements that are under way together those behind one that fails fail for that alone, and may be heard of first. */
  async #answer<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (error) {
      this.#failedBy ??= { error }
      throw this.#failedBy.error
    }
  }

  async commitWith(statements: readonly Sql[]): Promise<void> {
    const all = [...this.#opening(), ...statements, commit]
    this.#ended = true
    const together = this.#session.sendTogether(all)
    const last =
      together === null
        ? (await Promise.all(all.map(statement => this.#session.send(statement)))).at(-1)?.command
        : (await together).commands.at(-1)
    if (last !== 'COMMIT') throw new InvariantError('A transaction was rolled back without an error.')
  }

  /**
   * All in one packet: a guard that fails makes everything behind it fail, and nothing is committed. What stands before one
   * barrier is a transaction of its own, so it need not be begun or committed; only the first time each statement goes by itself.
   */
  async commitIf(steps: (now: Sql) => readonly (Sql | Guard)[]): Promise<number | null> {
    const { statements, reads } = guardedStatements(steps(transactionTime))
    if (this.#open !== null) throw new InvariantError('Something came before a transaction that is sent as one.')
    this.#session.renewPlans()
    this.#session.plan('kept')
    this.#open = Promise.resolve()
    this.#ended = true
    const together = this.#session.sendTogether(statements, reads)
    try {
      const value = together === null ? await this.#commitOneByOne(statements, reads) : (await together).value
      return Number(value)
    } catch (error) {
      if (isBrokenGuard(error)) return null
      throw error
    }
  }

  /** Also prepares them for the next time. A transaction in which something failed ends with its commit, too. */
  async #commitOneByOne(statements: readonly Sql[], reads: number): Promise<unknown> {
    const answers = await Promise.allSettled(
      [this.#session.begin, ...statements, commit].map(each => this.#session.send(each)),
    )
    const results = answers.map(answer => {
      if (answer.status === 'rejected') throw answer.reason
      return answer.value
    })
    if (results.at(-1)?.command !== 'COMMIT')
      throw new InvariantError('A transaction was rolled back without an error.')
    return Object.values(results[reads + 1]?.rows[0] ?? {})[0]
  }

  async finish(): Promise<void> {
    if (this.#open !== null && !this.#ended) await this.commitWith([])
  }

  async undo(): Promise<void> {
    if (this.#open !== null) await this.#session.send(raw('rollback')).catch(() => {})
  }

  /** Sent with the first statement. If it fails, so does that statement. */
  #begin(): void {
    if (this.#open !== null) return
    this.#session.renewPlans()
    this.#open = this.#session.run(this.#session.begin)
    this.#open.catch(() => {})
  }

  /** What comes before everything else, unless it was sent already. */
  #opening(): readonly Sql[] {
    if (this.#open !== null) return []
    this.#session.renewPlans()
    this.#open = Promise.resolve()
    return [this.#session.begin]
  }
}

/** The names of prepared statements, the same on all connections. */
export class StatementNames {
  readonly #names = new Map<string, string>()
  /** The driver's own. */
  readonly Query: typeof pg.Query

  constructor(Query: typeof pg.Query) {
    this.Query = Query
  }

  find(text: string): string | undefined {
    return this.#names.get(text)
  }

  nameOf(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known !== undefined || this.#names.size >= maxNamed) return known
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 32)
    const name = alwaysNamed.get(text) ?? `geneva_${hash}`
    this.#names.set(text, name)
    return name
  }
}
