/**
 * Opens the store on PostgreSQL.
 */
import { type DatabaseOptions, poolSizeOf } from '../database-options.ts'
import { openingError } from '../sql/opening-error.ts'
import { SqlStore } from '../sql/sql-store.ts'
import type { Store } from '../store.ts'
import { openPostgres } from './postgres-database.ts'

/** By the server's code. */
const remedies: Readonly<Record<string, string>> = {
  '28P01': 'Correct user and password in the URL.',
  '28000': 'Correct the user in the URL, or let this user in from here.',
  '3D000': 'Create it, or correct its name in the URL.',
  '53300': 'Allow the server more connections, or give each process a smaller `poolSize`.',
}

export async function openPostgresStore(options: DatabaseOptions): Promise<Store> {
  const database = await openPostgres({
    url: options.url,
    poolSize: poolSizeOf(options),
    preparedStatements: options.preparedStatements ?? true,
    notify: options.notify ?? options.preparedStatements ?? true,
  }).catch(error => {
    throw openingError(options.url, error, ({ code }: { code?: unknown }) => remedies[String(code)])
  })
  return new SqlStore(database, options)
}
