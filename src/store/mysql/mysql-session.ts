/** One connection to MySQL or MariaDB while it is lent out, and the transaction on it. */
import type { PoolConnection, ResultSetHeader } from 'mysql2/promise'
import { invariant } from '../../primitives/invariant.ts'
import type { Executor, Guard, Row, Transaction } from '../sql/dialect.ts'
import { Counted, lengthOf, type Rendered, raw, render, Sql, sql } from '../sql/sql.ts'
import { longestPacket, mysqlStatements } from './mysql-statements.ts'

const placeholder = () => '?'

/** Not by the driver's own setting, whose timer outlives a connection that breaks, and keeps the process from its end. */
export async function inTime<Answer>(answer: Promise<Answer>, ms: number | null): Promise<Answer> {
  if (ms === null) return answer
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`The server has given no answer for ${ms} ms.`)
    timer = setTimeout(() => reject(Object.assign(error, { code: 'PROTOCOL_SEQUENCE_TIMEOUT' })), ms)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

export class MysqlSession implements Executor {
  readonly pipelines = true
  readonly #connection: PoolConnection
  readonly #answerMs: number | null
  /** The connection turned out to be of no use any more. */
  isGone = false

  /** Whoever hears that the answer has not come in time must give up the connection: it may still come. */
  constructor(connection: PoolConnection, answerMs: number | null) {
    this.#connection = connection
    this.#answerMs = answerMs
  }

  async query(statement: Sql): Promise<Row[]> {
    return (await this.#send([rendered(statement)])) as Row[]
  }

  async run(statement: Sql): Promise<number> {
    return ((await this.#send([rendered(statement)])) as ResultSetHeader).affectedRows
  }

  /**
   * Several statements in one packet, or in as few as the server takes. It stops at the first that fails, and what would come after
   * that is not sent. Nothing else may be sent meanwhile.
   */
  async queryTogether(statements: readonly Sql[]): Promise<unknown[]> {
    const answers: unknown[] = []
    for (const packet of packetsOf(statements.map(rendered))) {
      const answer = await this.#send(packet)
      if (packet.length === 1) answers.push(answer)
      else for (const each of answer as unknown[]) answers.push(each)
    }
    return answers
  }

  /** After some errors, such as a packet that is too long, the server closes the connection: what it said before counts. */
  async rollBack(): Promise<void> {
    await this.run(raw('rollback')).catch(() => {
      this.isGone = true
    })
  }

  async #send(packet: readonly Rendered[]): Promise<unknown> {
    const answer = this.#connection.query(
      packet.map(part => part.text).join(';\n'),
      packet.flatMap(part => part.values as unknown[]),
    )
    const [result] = await inTime(answer, this.#answerMs)
    return result
  }
}

function rendered(statement: Sql): Rendered {
  return render(statement, placeholder)
}

function packetsOf(statements: readonly Rendered[]): Rendered[][] {
  const all: Rendered[][] = []
  let length = Number.POSITIVE_INFINITY
  for (const statement of statements) {
    const own = statement.text.length + lengthOf(statement.values)
    if (length + own > longestPacket) {
      all.push([])
      length = 0
    }
    all.at(-1)?.push(statement)
    length += own
  }
  return all
}

interface Gathered {
  readonly statement: Sql
  resolve(answer: unknown): void
  reject(error: unknown): void
}

/** What the servers say of a subquery that has more than the one row that it may have. Others that are sent with guards look up a key. */
const tooManyRows = 1242

/** Behind a select: fails unless it has found so many rows. */
function failUnlessFound(count: number): Sql {
  return sql`set @geneva_found = if(found_rows() = ${count}, 1, (select 1 union all select 2))`
}

export class MysqlTransaction implements Transaction {
  readonly pipelines = true
  readonly #session: MysqlSession
  #begun = false
  #ended = false
  #gathered: Gathered[] = []
  /** What was gathered before is through, or has failed. */
  #sent: Promise<void> = Promise.resolve()
  #failedBy: { readonly error: unknown } | null = null

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

  /** All of it travels together, so that no lock is held while an answer is under way: a guard that finds other rows fails what comes after it. */
  async commitIf(steps: (now: Sql) => readonly (Sql | Guard)[]): Promise<number | null> {
    const all = steps(raw('@geneva_now'))
    invariant(!all.some(step => step instanceof Counted), 'What is written is not counted here.')
    const answers: Promise<unknown>[] = [this.run(sql`set @geneva_now = ${mysqlStatements.now}`)]
    const time = this.query(raw('select @geneva_now as now'))
    for (const step of all) {
      if (step instanceof Sql) answers.push(this.run(step))
      else answers.push(this.query(step.select), this.run(failUnlessFound(step.count)))
    }
    try {
      await Promise.all([time, ...answers, this.commitWith([])])
    } catch (error) {
      if ((error as { errno?: unknown }).errno !== tooManyRows) throw error
      await this.#session.rollBack()
      this.#ended = true
      return null
    }
    return Number((await time)[0]?.now)
  }

  async finish(): Promise<void> {
    if (this.#begun && !this.#ended) await this.commitWith([])
  }

  /** The driver sends a statement when the one before is answered, so those of one turn go out as one. */
  #gather(statement: Sql): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#gathered.length === 0) {
        process.nextTick(() => {
          this.#sent = this.#sent.then(() => this.#send())
        })
      }
      this.#gathered.push({ statement, resolve, reject })
    })
  }

  /** The server stops at the first that fails, and the transaction is over then in any case: it would commit what followed by itself. */
  async #send(): Promise<void> {
    const gathered = this.#gathered
    this.#gathered = []
    const begin = this.#begun ? [] : [raw('start transaction')]
    this.#begun = true
    try {
      if (this.#failedBy !== null) throw this.#failedBy.error
      const answers = await this.#session.queryTogether([...begin, ...gathered.map(each => each.statement)])
      gathered.forEach((each, index) => each.resolve(answers[begin.length + index]))
    } catch (error) {
      this.#failedBy ??= { error }
      for (const each of gathered) each.reject(error)
    }
  }
}
