/**
 * MySQL 8 and MariaDB 10.6, inside what both share. Here: what an error means, and the two halves put together.
 */
import type { Dialect, Failure } from '../sql/dialect.ts'
import { isOfTheLine } from '../sql/is-of-the-line.ts'
import { type MysqlFlavor, mysqlSchema } from './mysql-schema.ts'
import { mysqlStatements } from './mysql-statements.ts'

/** Lock wait, deadlock, snapshot too old, lock not available at once: the transaction may be run again. */
const transientNumbers = new Set([1205, 1213, 1020, 3572])
/**
 * Errors that lie in the statement or its values: by class (cardinality, data, constraints, syntax and names, what a trigger
 * has raised), and those that the servers put into the general class: packets, variables, collations, characters, truncated values. All
 * others (connection, resources, disk, shutdown, read-only after a failover, credentials) are about the server, and may pass.
 */
const lastingClasses = new Set(['0A', '21', '22', '23', '42', '45'])
const lastingNumbers = new Set([1153, 1193, 1265, 1267, 1270, 1271, 1273, 1292, 1300, 1364, 1366, 1411, 3819, 4025])
/** The servers count these among mistakes in syntax: what is denied, and limits of connections, users and statements. */
const passingNumbers = new Set([1044, 1045, 1142, 1143, 1203, 1226, 1227, 1370, 1461])
/** Codes of the driver, for what it met on the way. */
const ofTheDriver = /^(PROTOCOL|HANDSHAKE)_|^AUTH_SWITCH_PLUGIN_ERROR$/

function classify(error: unknown): Failure {
  if (typeof error !== 'object' || error === null) return 'lasting'
  const { errno, sqlState, code, message } = error as Record<string, unknown>
  if (typeof errno === 'number' && typeof sqlState === 'string') {
    if (transientNumbers.has(errno)) return 'transient'
    if (lastingNumbers.has(errno)) return 'lasting'
    return lastingClasses.has(sqlState.slice(0, 2)) && !passingNumbers.has(errno) ? 'lasting' : 'connection'
  }
  if (isOfTheLine(error) || (typeof code === 'string' && ofTheDriver.test(code))) return 'connection'
  return typeof message === 'string' && /closed state|connection lost/i.test(message) ? 'connection' : 'lasting'
}

function waitedInVain(error: unknown): boolean {
  return (error as { errno?: unknown } | null)?.errno === 1205
}

/** There is no such savepoint. */
function lostTransaction(error: object): boolean {
  return (error as { errno?: unknown }).errno === 1305
}

export function mysqlDialect(flavor: MysqlFlavor): Dialect {
  return { ...mysqlStatements, ...mysqlSchema(flavor), classify, waitedInVain, lostTransaction }
}
