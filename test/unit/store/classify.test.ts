/** What an error means: whether a transaction may be repeated, the server may come back, or the statement is at fault. */
import { describe, expect, it } from 'vitest'
import { mysqlDialect } from '../../../src/store/mysql/mysql-dialect.ts'
import { postgresDialect } from '../../../src/store/postgres/postgres-dialect.ts'
import type { Failure } from '../../../src/store/sql/dialect.ts'
import { sqliteDialect } from '../../../src/store/sqlite/sqlite-dialect.ts'

const network = ['ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH', 'ETIMEDOUT', 'EPIPE']
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

  it.each([
    ['40001', 'transient'],
    ['40P01', 'transient'],
    ['53100', 'connection'],
    ['53300', 'connection'],
    ['57014', 'connection'],
    ['57P01', 'connection'],
    ['25006', 'connection'],
    ['28P01', 'connection'],
    ['08006', 'connection'],
    ['22P02', 'lasting'],
    ['23505', 'lasting'],
    ['42P01', 'lasting'],
    ['54000', 'lasting'],
  ] as const)('%s of PostgreSQL is %s', (code, failure: Failure) => {
    expect(postgresDialect.classify(Object.assign(new Error(code), { code }))).toBe(failure)
  })

  it.each([
    [1205, 'HY000', 'transient'],
    [1213, '40001', 'transient'],
    [1020, 'HY000', 'transient'],
    [1021, 'HY000', 'connection'],
    [1114, 'HY000', 'connection'],
    [1290, 'HY000', 'connection'],
    [1045, '28000', 'connection'],
    [1317, '70100', 'connection'],
    [1062, '23000', 'lasting'],
    [1406, '22001', 'lasting'],
    [1366, 'HY000', 'lasting'],
    [1146, '42S02', 'lasting'],
    [1153, '08S01', 'lasting'],
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
})
