/**
 * A database that asks for the plans of the statements sent through it, each on the connection that carries it out, with what is set
 * there, and before any row has changed by it. It asks only while it is told to.
 */
import { guardedStatements, transactionTime } from '../../src/store/postgres/guard-statements.ts'
import type { Database, Executor, Guard, OpenUserTransaction, Transaction } from '../../src/store/sql/dialect.ts'
import { param, raw, render, Sql } from '../../src/store/sql/sql.ts'
import { type Access, type Indexes, indexesOf, type Planner } from './planners.ts'
import { explain } from './recording-database.ts'

export interface Explained {
  readonly text: string
  readonly plan: readonly string[]
  readonly accesses: readonly Access[]
}

export interface Explaining {
  readonly database: Database
  /** What the call sends, with the plans: where a plan may be kept, that one as well as the one for the values. */
  during(call: () => Promise<unknown>): Promise<Explained[]>
}

export async function explainingDatabase(inner: Database, planner: Planner): Promise<Explaining> {
  const explainer = new Explainer(inner, planner, await indexesOf(inner, planner))
  const database: Database = {
    ...explainer.executor(inner),
    dialect: inner.dialect,
    transaction: work => inner.transaction(real => work(explainer.transaction(real))),
    snapshot: async statements => {
      for (const statement of statements) await explainer.ask(inner, statement)
      return inner.snapshot(statements)
    },
    session: (work, options) => inner.session(real => work(explainer.executor(real)), options),
    userTransaction: work => inner.userTransaction(opened => work(explainer.opened(opened))),
    borrow: handle => explainer.executor(inner.borrow(handle), { keepsPlans: false }),
    close: () => inner.close(),
  }
  return { database, during: call => explainer.during(call) }
}

class Explainer {
  readonly #inner: Database
  readonly #planner: Planner
  readonly #indexes: Indexes
  #found: Explained[] | null = null

  constructor(inner: Database, planner: Planner, indexes: Indexes) {
    this.#inner = inner
    this.#planner = planner
    this.#indexes = indexes
  }

  async during(call: () => Promise<unknown>): Promise<Explained[]> {
    const found: Explained[] = []
    this.#found = found
    try {
      await call()
    } finally {
      this.#found = null
    }
    return found
  }

  async ask(executor: Pick<Executor, 'query'>, statement: Sql, { keepsPlans } = { keepsPlans: true }): Promise<void> {
    const { text } = render(statement, this.#inner.dialect.placeholder)
    const found = this.#found
    if (found === null || !/^\s*(with|select|insert|update|delete)\b/i.test(text) || !text.includes('geneva_drive_'))
      return
    const { explain: asked, explainKept } = this.#planner
    const plans = [await explain(executor, statement, asked)]
    if (explainKept !== undefined && keepsPlans) plans.push(await explain(executor, raw(text), explainKept))
    for (const plan of plans) found.push({ text, plan, accesses: this.#planner.accesses(text, plan, this.#indexes) })
  }

  /** Statements may be sent without a wait for those before them. They keep their order, and each is explained right before it goes. */
  executor(real: Executor, { keepsPlans } = { keepsPlans: true }): Executor {
    let turn: Promise<unknown> = Promise.resolve()
    const inTurn = <Answer>(statement: Sql, send: () => Promise<Answer>): Promise<Answer> => {
      const answer = turn.then(() => this.ask(real, statement, { keepsPlans })).then(send)
      turn = answer.catch(() => {})
      return answer
    }
    return {
      pipelines: real.pipelines,
      query: statement => inTurn(statement, () => real.query(statement)),
      run: statement => inTurn(statement, () => real.run(statement)),
    }
  }

  transaction(real: Transaction): Transaction {
    return {
      ...this.executor(real),
      commitWith: async statements => {
        for (const statement of statements) await this.ask(real, statement)
        await real.commitWith(statements)
      },
      commitIf: async steps => {
        await this.#askAll(real, steps)
        return real.commitIf(steps)
      },
    }
  }

  /** Where all of it is sent as one nothing may come before it: then another connection is asked, which has the same settings. */
  async #askAll(real: Transaction, steps: (now: Sql) => readonly (Sql | Guard)[]): Promise<void> {
    if (this.#planner.explainKept === undefined) {
      for (const step of steps(param(0))) await this.ask(real, step instanceof Sql ? step : step.select)
    } else {
      for (const statement of guardedStatements(steps(transactionTime)).statements)
        await this.ask(this.#inner, statement)
    }
  }

  opened(own: OpenUserTransaction): OpenUserTransaction {
    return {
      ...own,
      executor: this.executor(own.executor),
      runAll: async statements => {
        for (const statement of statements) await this.ask(own.executor, statement)
        await own.runAll(statements)
      },
    }
  }
}
