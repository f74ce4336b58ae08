/**
 * A stand-in for better-sqlite3, whose binaries need a newer Node than we do (version 13) or a script that fetches them (12): its
 * interface and its refusals, over the SQLite library that is installed. Checked once against version 12.11.
 */
import { DatabaseSync, type SqliteConnection } from './sqlite-library.ts'

type PreparedStatement = ReturnType<SqliteConnection['prepare']>

class Statement {
  readonly #statement: PreparedStatement
  readonly reader: boolean

  constructor(statement: PreparedStatement) {
    this.#statement = statement
    this.reader = statement.columns().length > 0
  }

  all(...values: unknown[]): unknown[] {
    if (!this.reader) throw new TypeError('This statement does not return data. Use run() instead')
    return this.#statement.all(...bindable(values))
  }

  iterate(...values: unknown[]): IterableIterator<unknown> {
    return this.all(...values).values()
  }

  run(...values: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint } {
    return this.#statement.run(...bindable(values))
  }
}

/** One array may stand for all values. */
function bindable(values: unknown[]): any[] {
  const all = values.flat()
  if (all.some(value => !['number', 'string', 'bigint'].includes(typeof value) && value !== null)) {
    throw new TypeError('SQLite3 can only bind numbers, strings, bigints, buffers, and null')
  }
  return all
}

export class BetterSqlite {
  readonly #handle: SqliteConnection

  constructor(path: string, _options?: object) {
    this.#handle = new DatabaseSync(path, { timeout: 5000 })
  }

  get open(): boolean {
    return this.#handle.isOpen
  }

  get inTransaction(): boolean {
    return this.#handle.isOpen && this.#handle.isTransaction
  }

  prepare(text: string): Statement {
    return new Statement(this.#handle.prepare(text))
  }

  exec(text: string): this {
    this.#handle.exec(text)
    return this
  }

  /** The real one runs functions in transactions, but no asynchronous ones. */
  transaction(): never {
    throw new TypeError('Transaction function cannot return a promise')
  }

  close(): this {
    this.#handle.close()
    return this
  }
}
