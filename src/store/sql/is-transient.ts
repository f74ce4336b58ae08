/**
 * Whether an error says that a transaction may be run again, also where a library of the application has wrapped the driver's.
 */
import type { Dialect } from './dialect.ts'

/** How deep libraries wrap errors, at most. */
const maxDepth = 5

/** What Prisma calls a deadlock or a write conflict, whatever the database calls it. */
const conflicts = new Set(['P2034', 'TransactionWriteConflict'])

/** The state of the transaction has changed under it: another try sees the new one. */
export class StaleSnapshot extends Error {
  constructor() {
    super(
      'The workflow was changed by others since the transaction of the step began, and the transaction cannot see it. With READ COMMITTED it could.',
    )
  }
}

/**
 * The application's function has opened another transaction for work that was through. Whether the first was committed only the
 * database can tell: if not, all of the work is to be done again.
 */
export class OpenedAgain extends Error {
  constructor() {
    super(
      'The function `transactions` has called again after its transaction could not be committed. Let it throw instead: the code is then called again in a transaction of its own.',
    )
  }
}

/** The transaction that was begun is not open any more, or has failed. */
export function hasLostTransaction(dialect: Dialect, error: unknown): boolean {
  return some(error, maxDepth, cause => dialect.lostTransaction(asDriverError(cause)))
}

export function isTransient(dialect: Dialect, error: unknown): boolean {
  return some(error, maxDepth, cause => {
    const { code, kind } = cause as { code?: unknown; kind?: unknown }
    if (cause instanceof StaleSnapshot || conflicts.has(String(code)) || conflicts.has(String(kind))) return true
    return dialect.classify(asDriverError(cause)) === 'transient'
  })
}

function some(error: unknown, depth: number, test: (cause: object) => boolean): boolean {
  if (typeof error !== 'object' || error === null || depth === 0) return false
  const { cause, meta, driverAdapterError } = error as Record<string, unknown>
  return test(error) || [cause, meta, driverAdapterError].some(inner => some(inner, depth - 1, test))
}

/** Prisma keeps the driver's code apart, as a text. */
function asDriverError(error: object): object {
  const { originalCode } = error as { originalCode?: unknown }
  if (typeof originalCode !== 'string') return error
  const errno = Number(originalCode)
  return Number.isNaN(errno) ? { code: originalCode } : { code: originalCode, errno, sqlState: 'HY000', errcode: errno }
}
