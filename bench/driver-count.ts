/**
 * Counts the statements that the engine sends, in the driver, because not every server can tell them from those of
 * others. For the embedded database it counts commits and written rows as well: there is no server to ask.
 */
import pg from 'pg'
import {
  ownLibrary,
  type SqliteHandle,
  type SqliteLibrary,
  type SqliteStatement,
} from '../src/store/sqlite/sqlite-driver.ts'

export interface DriverCount {
  statements: number
  commits: number
}

const counted = { statements: 0, commits: 0 }
let isPatched = false

/** From the first call on, all statements of engines in this process to PostgreSQL. */
export function countPostgresStatements(): DriverCount {
  if (!isPatched) {
    isPatched = true
    const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
    const counting = function (this: pg.Client, ...args: unknown[]): unknown {
      // Whoever looks on uses another name.
      const { application_name: name } = (this as unknown as { connectionParameters: { application_name: string } })
        .connectionParameters
      if (name === 'geneva-drive') counted.statements++
      return Reflect.apply(query, this, args)
    }
    pg.Client.prototype.query = counting as typeof pg.Client.prototype.query
  }
  return counted
}

export interface CountingSqlite extends DriverCount {
  readonly driver: SqliteLibrary
  /** Rows that were inserted, updated and deleted, over all connections that were ever open. */
  rows(): number
}

export async function countingSqlite(): Promise<CountingSqlite> {
  const Library = await ownLibrary()
  const open = new Set<SqliteHandle>()
  const changesOf = (handle: SqliteHandle) =>
    Number((handle.prepare('select total_changes() as rows').all()[0] as { rows: number }).rows)
  let closedRows = 0
  const count: CountingSqlite = {
    statements: 0,
    commits: 0,
    driver: class implements SqliteHandle {
      readonly #handle: SqliteHandle
      #reads = true
      constructor(path: string) {
        this.#handle = new Library(path)
        open.add(this.#handle)
      }
      exec(text: string): void {
        this.#note(text)
        this.#handle.exec(text)
      }
      prepare(text: string): SqliteStatement {
        const statement = this.#handle.prepare(text)
        return {
          all: (...values) => {
            this.#note(text)
            return statement.all(...values)
          },
          run: (...values) => {
            this.#note(text)
            return statement.run(...values)
          },
        }
      }
      /** Every transaction that is to write begins so. */
      #note(text: string): void {
        count.statements++
        if (/^\s*begin/i.test(text)) this.#reads = !/immediate|exclusive/i.test(text)
        if (/^\s*commit/i.test(text) && !this.#reads) count.commits++
      }
      close(): void {
        closedRows += changesOf(this.#handle)
        open.delete(this.#handle)
        this.#handle.close()
      }
    },
    rows: () => [...open].reduce((sum, handle) => sum + changesOf(handle), closedRows),
  }
  return count
}
