/**
 * SQLite connections of `node:sqlite`, `@photostructure/sqlite` and `better-sqlite3`. They answer at once, without a
 * promise; a transaction may still stay open while others are awaited.
 */
import { type Candidate, hasMethods, type Message, type Recognized } from './recognized-handle.ts'

interface Statement {
  /** Only in better-sqlite3: whether the statement returns rows. It refuses `all` on one that does not. */
  readonly reader?: boolean
  all(...values: readonly unknown[]): unknown
  run(...values: readonly unknown[]): unknown
  setReturnArrays?(enabled: boolean): void
}

interface Connection {
  prepare(text: string): Statement
  readonly isOpen?: boolean
  readonly isTransaction?: boolean
  /** The same two in better-sqlite3. */
  readonly open?: unknown
  readonly inTransaction?: boolean
}

export function sqliteHandle(handle: Candidate): Recognized | null {
  if (!hasMethods(handle, 'prepare', 'exec', 'close')) return null
  const connection = handle as unknown as Connection
  const what = 'a SQLite connection'
  const kind = 'sqlite'
  if (connection.isOpen === false || connection.open === false) return { what, kind, refusal: 'that is closed.' }
  if ((connection.isTransaction ?? connection.inTransaction) === false) {
    return { what, kind, refusal: 'on which no transaction is open. Run BEGIN IMMEDIATE before and COMMIT after.' }
  }
  return { what, kind, send: async (message, wanted) => send(connection, message, wanted) }
}

function send(connection: Connection, { text, values }: Message, wanted: 'rows' | 'count'): unknown {
  const statement = connection.prepare(text)
  if (wanted === 'count' || statement.reader === false) return statement.run(...values)
  statement.setReturnArrays?.(false)
  return statement.all(...values)
}
