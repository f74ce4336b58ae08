/**
 * A database that remembers the statements sent through it, so that a test can ask the real one how it would carry each
 * of them out.
 */
import { guardedStatements } from '../../src/store/postgres/guard-statements.ts'
import { postgresDialect } from '../../src/store/postgres/postgres-dialect.ts'
import type { Database, Executor, Transaction } from '../../src/store/sql/dialect.ts'
import { Sql } from '../../src/store/sql/sql.ts'

export interface Recording {
  readonly database: Database
  /** The statements since the last call. */
  take(): Sql[]
  /** How many rows were read in all. */
  answered(): number
}

export function recordingDatabase(inner: Database): Recording {
  let statements: Sql[] = []
  let answered = 0
  const note = (statement: Sql) => {
    statements.push(statement)
    return statement
  }
  const executor = (real: Executor): Executor => ({
    pipelines: real.pipelines,
    query: async statement => {
      const rows = await real.query(note(statement))
      answered += rows.length
      return rows
    },
    run: statement => real.run(note(statement)),
  })
  const transaction = (real: Transaction): Transaction => ({
    ...executor(real),
    commitWith: all => real.commitWith(all.map(note)),
    commitIf: steps =>
      real.commitIf(now => {
        const all = steps(now)
        // What is sent to PostgreSQL is put together of them.
        const sent = inner.dialect.placeholder === postgresDialect.placeholder ? guardedStatements(all).statements : all
        for (const step of sent) note(step instanceof Sql ? step : step.select)
        return all
      }),
  })
  const database: Database = {
    ...executor(inner),
    dialect: inner.dialect,
    transaction: work => inner.transaction(real => work(transaction(real))),
    snapshot: all => inner.snapshot(all.map(note)),
    session: work => inner.session(real => work(executor(real))),
    userTransaction: work => inner.userTransaction(work),
    borrow: handle => inner.borrow(handle),
    close: () => inner.close(),
  }
  return {
    database,
    take: () => {
      const taken = statements
      statements = []
      return taken
    },
    answered: () => answered,
  }
}

/** The plan of a statement as text, one line per part, in the words of the database. */
export async function explain(database: Pick<Executor, 'query'>, statement: Sql, prefix: string): Promise<string[]> {
  const [first = '', ...rest] = statement.parts
  const rows = await database.query(new Sql([`${prefix} ${first}`, ...rest], statement.values))
  return rows.map(row =>
    Object.entries(row)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
  )
}
