/** What a store makes of errors that libraries of applications have wrapped, or have a name of their own for. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { InvalidArgumentError } from '../../src/errors.ts'
import type { Store } from '../../src/store/store.ts'
import { type DatabaseName, forEachDatabase } from '../support/databases.ts'
import { openTestStore } from '../support/open-store.ts'

const named = (code: unknown, message: string, more: object = {}) =>
  Object.assign(new Error(message), { code, ...more })

/** As the driver says it. */
const goneOf: Readonly<Record<DatabaseName, object>> = {
  sqlite: named('SQLITE_IOERR', 'disk I/O error', { errcode: 10 }),
  postgres: named('57P01', 'terminating connection due to administrator command'),
  mysql: named('PROTOCOL_CONNECTION_LOST', 'Connection lost: The server closed the connection.'),
}
const doubledOf: Readonly<Record<DatabaseName, object>> = {
  sqlite: named('SQLITE_CONSTRAINT', 'UNIQUE constraint failed', { errcode: 19 }),
  postgres: named('23505', 'duplicate key value violates unique constraint'),
  mysql: named('ER_DUP_ENTRY', 'Duplicate entry', { errno: 1062, sqlState: '23000' }),
}

forEachDatabase('an error of a library', database => {
  let store: Store
  beforeAll(async () => {
    store = await openTestStore(database)
  })
  afterAll(() => store.close())

  const gone = goneOf[database.name]
  const doubled = doubledOf[database.name]

  it('may pass where what has caused it may', () => {
    expect(store.isLasting(gone)).toBe(false)
    expect(store.isLasting(new Error('Failed query: rollback', { cause: gone }))).toBe(false)
    expect(store.isLasting(new Error('not committed', { cause: new Error('Failed query', { cause: gone }) }))).toBe(
      false,
    )
  })

  it('may pass where it has a name of its own for a connection that is gone', () => {
    expect(store.isLasting(named('CONNECTION_CLOSED', 'write CONNECTION_CLOSED 127.0.0.1:5432'))).toBe(false)
    expect(store.isLasting(named('P1017', 'Server has closed the connection.'))).toBe(false)
    expect(store.isLasting(named('P2028', 'Unable to start a transaction in the given time.'))).toBe(false)
  })

  it('will not pass where nothing in it would', () => {
    expect(store.isLasting(new Error('Failed query: insert', { cause: doubled }))).toBe(true)
    const code = String((doubled as { errno?: number; code: string }).errno ?? (doubled as { code: string }).code)
    const driverAdapterError = {
      name: 'DriverAdapterError',
      cause: { originalCode: code, kind: 'UniqueConstraintViolation' },
    }
    expect(store.isLasting(named('P2002', 'Unique constraint failed', { meta: { driverAdapterError } }))).toBe(true)
    // Called again it would take as long.
    expect(store.isLasting(named('P2028', 'A query cannot be executed on an expired transaction.'))).toBe(true)
  })

  it('will not pass where it is an error of ours, whatever has caused that', () => {
    expect(store.isLasting(new InvalidArgumentError('The transaction has ended.', { cause: gone }))).toBe(true)
  })
})
