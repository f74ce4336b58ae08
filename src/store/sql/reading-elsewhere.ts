/**
 * A transaction of the application, used for a decision: it takes the locks and gets the writes, and what the decision goes by
 * is read on a connection of ours. While the lock on a workflow is held nobody changes what belongs to it, so what others
 * have committed by then is all there is.
 */
import type { SqlContext } from './context.ts'
import { int } from './decode.ts'
import type { Executor, OpenTransaction, Row } from './dialect.ts'
import { StaleSnapshot } from './is-transient.ts'
import { raw, Sql, sql } from './sql.ts'

interface Ends {
  /** The application's transaction. */
  readonly executor: Executor
  readonly reader: Executor
  readonly workflowIds: readonly string[]
  /** Rejects if the transaction is not there any more: what is written then would be final at once. */
  beforeWrites(): Promise<void>
}

export class ReadingElsewhere implements OpenTransaction {
  readonly pipelines = false
  readonly #context: SqlContext
  readonly #ends: Ends
  /** The end of the queue: what is asked for at once is answered in order, since the first question is the lock. */
  #turn: Promise<unknown> = Promise.resolve()
  #isFresh: boolean | null = null

  constructor(context: SqlContext, ends: Ends) {
    this.#context = context
    this.#ends = ends
  }

  query(statement: Sql): Promise<Row[]> {
    return this.#next(async () => {
      const { executor, reader } = this.#ends
      const plain = this.#withoutLocks(statement)
      if (plain !== statement) await executor.query(statement)
      this.#isFresh ??= await this.#checkFresh()
      return reader.query(plain)
    })
  }

  run(statement: Sql): Promise<number> {
    return this.#next(async () => {
      const { executor, beforeWrites } = this.#ends
      await beforeWrites()
      return executor.run(statement)
    })
  }

  /** Whoever has opened the transaction commits it. */
  async commitWith(statements: readonly Sql[]): Promise<void> {
    for (const statement of statements) await this.run(statement)
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => {})
    return result
  }

  #withoutLocks(statement: Sql): Sql {
    const { lock, lockShared } = this.#context.dialect
    const locks = [lock, lockShared].flatMap(({ parts }) => parts[0] || [])
    if (!statement.parts.some(part => locks.some(each => part.includes(each)))) return statement
    const parts = statement.parts.map(part => locks.reduce((text, each) => text.replaceAll(each, ''), part))
    return new Sql(parts, statement.values)
  }

  /**
   * Where the transaction keeps to the state that it has seen first, its writes would pass over rows that came later. Every
   * change leaves an event, so the last one tells whether there are any.
   */
  async #checkFresh(): Promise<true> {
    const { executor, reader, workflowIds } = this.#ends
    const { tables, dialect } = this.#context
    if (!(await dialect.keepsSnapshot(executor))) return true
    const last = sql`select coalesce(max(v.id), 0) as last from ${tables.events} v
      where ${this.#context.among(raw('v.workflow_id'), workflowIds)}`
    const [seen, current] = [await executor.query(last), await reader.query(last)]
    if (seen[0] === undefined || current[0] === undefined || int(seen[0], 'last') !== int(current[0], 'last')) {
      throw new StaleSnapshot()
    }
    return true
  }
}
