/**
 * A transaction of the application on our file, made sure of before anything is written: it must keep our own
 * connections from writing. One on another file does not, and neither does one from a second copy of the SQLite library
 * in this process, because the system grants a lock to the process. With two such writers the file would be damaged.
 */
import { InvalidArgumentError } from '../../errors.ts'
import type { Executor, Row } from '../sql/dialect.ts'
import { raw, type Sql } from '../sql/sql.ts'

/** Takes the lock of the one writer and changes nothing. Our tables see to it that the table is there. */
const emptyWrite = raw('delete from sqlite_sequence where false')

export class ExcludingTransaction implements Executor {
  readonly pipelines = false
  readonly #executor: Executor
  readonly #isLockedOut: () => boolean
  #sure = false

  constructor(executor: Executor, isLockedOut: () => boolean) {
    this.#executor = executor
    this.#isLockedOut = isLockedOut
  }

  async query(statement: Sql): Promise<Row[]> {
    await this.#makeSure()
    return this.#executor.query(statement)
  }

  async run(statement: Sql): Promise<number> {
    await this.#makeSure()
    return this.#executor.run(statement)
  }

  async #makeSure(): Promise<void> {
    if (this.#sure) return
    await this.#executor.run(emptyWrite).catch(error => {
      throw isMissingTable(error) ? refusal() : error
    })
    if (!this.#isLockedOut()) throw refusal()
    this.#sure = true
  }
}

function isMissingTable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return /no such table/i.test(error.message) || isMissingTable(error.cause)
}

function refusal(): InvalidArgumentError {
  return new InvalidArgumentError(
    'The `transaction` option holds a transaction on another file than the one of the workflows, or one of another copy of SQLite in this process, whose locks do not count. Let Geneva use the same library: `database: { url, driver: Database }`.',
  )
}
