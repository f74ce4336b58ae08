/**
 * Opens the store on PostgreSQL.
 */
import type { DatabaseOptions } from '../database-options.ts'
import { SqlStore } from '../sql/sql-store.ts'
import type { Store } from '../store.ts'
import { openPostgres } from './postgres-database.ts'

export async function openPostgresStore(options: DatabaseOptions): Promise<Store> {
  const database = await openPostgres({
    url: options.url,
    poolSize: options.poolSize ?? 10,
    preparedStatements: options.preparedStatements ?? true,
    notify: options.notify ?? options.preparedStatements ?? true,
  })
  return new SqlStore(database, options)
}
