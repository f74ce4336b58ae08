/** What the drivers throw when they want a transaction to be run again, for tests in which no real conflict can be had. */
import type { DatabaseName } from './databases.ts'

const conflicts: Record<DatabaseName, object> = {
  postgres: { code: '40001' },
  mysql: { errno: 1213, sqlState: '40001', code: 'ER_LOCK_DEADLOCK' },
  sqlite: { errcode: 5, code: 'ERR_SQLITE_ERROR' },
}

export function conflictOf(name: DatabaseName): Error {
  return Object.assign(new Error('somebody else was faster'), conflicts[name])
}
