/**
 * Opens the store on MySQL or MariaDB.
 */
import type { DatabaseOptions } from '../database-options.ts'
import { SqlStore } from '../sql/sql-store.ts'
import type { Store } from '../store.ts'
import { openMysql } from './mysql-database.ts'

export async function openMysqlStore(options: DatabaseOptions): Promise<Store> {
  return new SqlStore(await openMysql({ url: options.url, poolSize: options.poolSize ?? 10 }), options)
}
