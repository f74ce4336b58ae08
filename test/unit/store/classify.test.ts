/** What an error means: whether a transaction may be repeated, the server may come back, or the statement is at fault. */
import { describe, expect, it } from 'vitest'
import { mysqlDialect } from '../../../src/store/mysql/mysql-dialect.ts'
import { postgresDialect } from '../../../src/store/postgres/postgres-dialect.ts'
import type { Failure } from '../../../src/store/sql/dialect.ts'
import { sqliteDialect } from '../../../src/store/sqlite/sqlite-dialect.ts'

const network = ['ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH', 'ETIMEDOUT', 'EPIPE']
const certificates = [
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SOCKET_CLOSED',
  'ERR_STREAM_DESTROYED',
]
const dialects = {
  postgres: postgresDialect,
  mysql: mysqlDialect({ binaryCollation: 'utf8mb4_bin', limitsIdleTransactions: true }),
  sqlite: sqliteDialect,
}

describe('an error', () => {
  it.each(Object.entries(dialects))('of our own, or none at all, lasts (%s)', (_, dialect) => {
    for (const error of [new Error('mine'), new TypeError('x'), undefined, null, 'text', Symbol('s')]) {
      expect(dialect.classify(error)).toBe('lasting')
    }
  })

  it.each([dialects.postgres, dialects.mysql])('of the network passes', dialect => {
    for (const code of network) {
      expect(dialect.classify(Object.assign(new Error(code), { code, syscall: 'connect' }))).toBe('connection')
      expect(dialect.classify(Object.assign(new Error(code), { code }))).toBe('connection')
    }
  })

  it.each([dialects.postgres, dialects.mysql])('of TLS passes', dialect => {
    for (const code of certificates) {
      expect(dialect.classify(Object.assign(new Error(code), { code }))).toBe('connection')
    }
  })

  it.each(Object.entries(dialects))('of Node about an argument lasts (%s)', (_, dialect) => {
    const error = Object.assign(new TypeError('must be of type string'), { code: 'ERR_INVALID_ARG_TYPE' })
    expect(dialect.classify(error)).toBe('lasting')
  })

  it.each([
    ['40001', 'transient'],
    ['40P01', 'transient'],
    ['55P03', 'transient'],
    ['40003', 'connection'],
    ['53100', 'connection'],
    ['53200', 'connection'],
    ['53300', 'connection'],
    ['57014', 'connection'],
    ['57P01', 'connection'],
    ['57P02', 'connection'],
    ['57P03', 'connection'],
    ['57P05', 'connection'],
    ['58030', 'connection'],
    ['XX000', 'connection'],
    ['25006', 'connection'],
    ['25P03', 'connection'],
    ['28P01', 'connection'],
    ['08006', 'connection'],
    ['42501', 'connection'],
    ['22P02', 'lasting'],
    ['23505', 'lasting'],
    ['42P01', 'lasting'],
    ['54000', 'lasting'],
    ['P0001', 'lasting'],
  ] as const)('%s of PostgreSQL is %s', (code, failure: Failure) => {
    expect(postgresDialect.classify(Object.assign(new Error(code), { code }))).toBe(failure)
  })

  it.each([
    [1205, 'HY000', 'transient'],
    [1213, '40001', 'transient'],
    [1020, 'HY000', 'transient'],
    [3572, 'HY000', 'transient'],
    [1021, 'HY000', 'connection'],
    [1037, 'HY001', 'connection'],
    [1040, '08004', 'connection'],
    [1041, 'HY000', 'connection'],
    [1053, '08S01', 'connection'],
    [1114, 'HY000', 'connection'],
    [1142, '42000', 'connection'],
    [1143, '42000', 'connection'],
    [1158, '08S01', 'connection'],
    [1159, '08S01', 'connection'],
    [1160, '08S01', 'connection'],
    [1161, '08S01', 'connection'],
    [1203, '42000', 'connection'],
    [1206, 'HY000', 'connection'],
    [1226, '42000', 'connection'],
    [1227, '42000', 'connection'],
    [1290, 'HY000', 'connection'],
    [1461, '42000', 'connection'],
    [1792, '25006', 'connection'],
    [1836, 'HY000', 'connection'],
    [1927, '70100', 'connection'],
    [1969, '70100', 'connection'],
    [3024, 'HY000', 'connection'],
    [4031, 'HY000', 'connection'],
    [1045, '28000', 'connection'],
    [1317, '70100', 'connection'],
    [1062, '23000', 'lasting'],
    [1406, '22001', 'lasting'],
    [1366, 'HY000', 'lasting'],
    [1146, '42S02', 'lasting'],
    [1153, '08S01', 'lasting'],
    [1265, '01000', 'lasting'],
    [1267, 'HY000', 'lasting'],
    [1300, 'HY000', 'lasting'],
    [1644, '45000', 'lasting'],
  ] as const)('%i (%s) of MySQL is %s', (errno, sqlState, failure: Failure) => {
    const error = Object.assign(new Error('x'), { errno, sqlState, code: 'ER_SOMETHING' })
    expect(dialects.mysql.classify(error)).toBe(failure)
  })

  it.each([
    [5, 'transient'],
    [517, 'transient'],
    [6, 'transient'],
    [13, 'connection'],
    [10, 'connection'],
    [14, 'connection'],
    [19, 'lasting'],
    [2067, 'lasting'],
    [1, 'lasting'],
  ] as const)('%i of SQLite is %s', (errcode, failure: Failure) => {
    expect(sqliteDialect.classify(Object.assign(new Error('x'), { errcode }))).toBe(failure)
  })

  it.each([
    ['SQLITE_BUSY_SNAPSHOT', 'transient'],
    ['SQLITE_LOCKED', 'transient'],
    ['SQLITE_FULL', 'connection'],
    ['SQLITE_IOERR_WRITE', 'connection'],
    ['SQLITE_READONLY_DBMOVED', 'connection'],
    ['SQLITE_NOMEM', 'connection'],
    ['SQLITE_CANTOPEN', 'connection'],
    ['SQLITE_INTERRUPT', 'connection'],
    ['SQLITE_PROTOCOL', 'connection'],
    ['SQLITE_CONSTRAINT_UNIQUE', 'lasting'],
    ['SQLITE_CORRUPT', 'lasting'],
    ['SQLITE_ERROR', 'lasting'],
  ] as const)('%s of a driver that names its codes is %s', (code, failure: Failure) => {
    expect(sqliteDialect.classify(Object.assign(new Error('x'), { code }))).toBe(failure)
  })

  it.each([
    ['database is locked', 'transient'],
    ['database or disk is full', 'connection'],
    ['disk I/O error', 'connection'],
    ['attempt to write a readonly database', 'connection'],
    ['no such table: x', 'lasting'],
  ] as const)('that says no more than "%s" is %s', (message, failure: Failure) => {
    expect(sqliteDialect.classify(new Error(message))).toBe(failure)
  })

  it.each([
    'timeout expired',
    'Query read timeout',
    'There was an error establishing an SSL connection',
    'The server does not support SSL connections',
    'SASL: SCRAM-SERVER-FINAL-MESSAGE: server signature does not match',
    'Received unexpected commandComplete message from backend.',
    'Connection terminated due to connection timeout',
  ])('of pg that says "%s" passes', message => {
    expect(postgresDialect.classify(new Error(message))).toBe('connection')
  })

  it.each([
    'HANDSHAKE_SSL_ERROR',
    'HANDSHAKE_NO_SSL_SUPPORT',
    'AUTH_SWITCH_PLUGIN_ERROR',
    'PROTOCOL_SEQUENCE_TIMEOUT',
    'PROTOCOL_CONNECTION_LOST',
    'ER_CON_COUNT_ERROR',
  ])('of mysql2 with the code %s passes', code => {
    expect(dialects.mysql.classify(Object.assign(new Error('x'), { code }))).toBe('connection')
  })
})
