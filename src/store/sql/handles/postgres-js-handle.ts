/**
 * Transactions of postgres.js: what `sql.begin` hands out, or a reserved connection. The pool itself is refused.
 */
import { type Candidate, hasMethods, type Recognized } from './recognized-handle.ts'

interface TransactionSql {
  unsafe(text: string, values: unknown[]): PromiseLike<unknown>
}

export function postgresJsHandle(handle: Candidate): Recognized | null {
  if (typeof handle !== 'function' || !hasMethods(handle, 'unsafe', 'array', 'notify')) return null
  const kind = 'postgres'
  if (hasMethods(handle, 'begin')) {
    return {
      what: 'the pool of postgres.js',
      kind,
      refusal: 'instead of one of its transactions. Pass the one that `sql.begin(async transaction => ...)` hands out.',
    }
  }
  const sql = handle as unknown as TransactionSql
  return { what: 'a transaction of postgres.js', kind, send: async ({ text, values }) => sql.unsafe(text, [...values]) }
}
