/** Every library that a transaction can be borrowed from, by database. */
import type { DatabaseName } from '../../support/databases.ts'
import type { OpenApplication } from './application.ts'
import { mysqlLibraries } from './on-mysql.ts'
import { postgresLibraries } from './on-postgres.ts'
import { sqliteLibraries } from './on-sqlite.ts'

export const libraries: Record<DatabaseName, Readonly<Record<string, OpenApplication>>> = {
  postgres: postgresLibraries,
  mysql: mysqlLibraries,
  sqlite: sqliteLibraries,
}
