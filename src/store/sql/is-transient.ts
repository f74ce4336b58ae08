/**
 * Whether an error says that a transaction may be run again, or may pass at least, also where a library of the application has wrapped
 * the driver's.
 */
import { isGenevaError } from '../../errors.ts'
import { someCause } from '../../primitives/some-cause.ts'
import type { Dialect } from './dialect.ts'

/** What Prisma calls a deadlock or a write conflict, whatever the database calls it. */
const conflicts = new Set(['P2034', 'TransactionWriteConflict'])

/** What postgres.js and Prisma call a server that is away, a connection that has ended, or none that was free. */
const lostConnections = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'P1001',
  'P1017',
  'P2024',
])
/** The driver of MariaDB below Prisma, which counts that among what triggers raise, and Prisma where none was free in time. */
const saysClosed = /Cannot execute new commands: connection closed|Unable to start a transaction in the given time/

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
  return someCause(error, cause => dialect.lostTransaction(asDriverError(cause)))
}

export function isTransient(dialect: Dialect, error: unknown): boolean {
  return someCause(error, cause => {
    const { code, kind } = cause as { code?: unknown; kind?: unknown }
    if (cause instanceof StaleSnapshot || conflicts.has(String(code)) || conflicts.has(String(kind))) return true
    return dialect.classify(asDriverError(cause)) === 'transient'
  })
}

/** It lies in the statement or its values, so that it will not pass, as far as anything in it can tell. */
export function isLasting(dialect: Dialect, error: unknown): boolean {
  return !(error instanceof OpenedAgain) && !isTransient(dialect, error) && !isOfTheConnection(dialect, error)
}

/** The server was away, or has ended the connection: it may pass. What is said by an error of ours does not go by its cause. */
export function isOfTheConnection(dialect: Dialect, error: unknown): boolean {
  return someCause(error, cause => saysLost(cause) || dialect.classify(asSent(cause)) === 'connection', isGenevaError)
}

function saysLost(error: object): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return lostConnections.has(String(code)) || saysClosed.test(String(message))
}

/** Prisma's codes look like those of PostgreSQL. Without its class the number of an error of MySQL tells nothing. */
function asSent(error: object): object {
  const { code, originalCode } = error as { code?: unknown; originalCode?: unknown }
  if (/^P[1-9]\d{3}$/.test(String(code))) return {}
  return typeof originalCode === 'string' ? { code: originalCode } : error
}

/** Prisma keeps the driver's code apart, as a text. */
function asDriverError(error: object): object {
  const { originalCode } = error as { originalCode?: unknown }
  if (typeof originalCode !== 'string') return error
  const errno = Number(originalCode)
  return Number.isNaN(errno) ? { code: originalCode } : { code: originalCode, errno, sqlState: 'HY000', errcode: errno }
}
