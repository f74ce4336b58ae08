/**
 * MySQL 8 and MariaDB 10.6, inside what both share. Here: what an error means, and the two halves put together.
 */
import type { Dialect, Failure } from '../sql/dialect.ts'
import { type MysqlFlavor, mysqlSchema } from './mysql-schema.ts'
import { mysqlStatements } from './mysql-statements.ts'

/** Lock wait, deadlock, snapshot too old, lock not available at once: the transaction may be run again. */
const transientNumbers = new Set([1205, 1213, 1020, 3572])
/** Read-only after a failover, shutdown, too many connections, killed in or between statements, idle too long. */
const connectionNumbers = new Set([1290, 1836, 1053, 1040, 1152, 1317, 1927, 4031, 2006, 2013])
const networkCodes = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
])

function classify(error: unknown): Failure {
  const { errno, code, message } = error as { errno?: unknown; code?: unknown; message?: unknown }
  if (typeof errno === 'number' && transientNumbers.has(errno)) return 'transient'
  if (typeof errno === 'number' && connectionNumbers.has(errno)) return 'connection'
  if (typeof code === 'string' && networkCodes.has(code)) return 'connection'
  return typeof message === 'string' && /closed state|connection lost/i.test(message) ? 'connection' : 'lasting'
}

export function mysqlDialect(flavor: MysqlFlavor): Dialect {
  return { ...mysqlStatements, ...mysqlSchema(flavor), classify }
}
