/**
 * Opens the store on MySQL or MariaDB.
 */
import { InvalidArgumentError } from '../../errors.ts'
import { type DatabaseOptions, poolSizeOf } from '../database-options.ts'
import { openingError } from '../sql/opening-error.ts'
import { SqlStore } from '../sql/sql-store.ts'
import type { Store } from '../store.ts'
import { openMysql } from './mysql-database.ts'

const createIt = 'Create it, or correct its name in the URL.'
const fewer = 'Allow the server more connections, or give each process a smaller `poolSize`.'

/** By the driver's code. */
const remedies: Readonly<Record<string, string>> = {
  ER_ACCESS_DENIED_ERROR: 'Correct user and password in the URL.',
  ER_DBACCESS_DENIED_ERROR: 'Let this user use the database, or correct its name in the URL.',
  ER_BAD_DB_ERROR: createIt,
  ER_CON_COUNT_ERROR: fewer,
  ER_TOO_MANY_USER_CONNECTIONS: fewer,
}

export async function openMysqlStore(options: DatabaseOptions): Promise<Store> {
  if (URL.canParse(options.url) && /^\/?$/.test(new URL(options.url).pathname)) {
    throw new InvalidArgumentError(
      'The URL of the database names none: write it behind the host, like mysql://user@host/name.',
    )
  }
  const database = await openMysql({ url: options.url, poolSize: poolSizeOf(options) }).catch(error => {
    throw openingError(options.url, error, ({ code }: { code?: unknown }) => remedies[String(code)])
  })
  return new SqlStore(database, options)
}
