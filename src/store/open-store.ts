/**
 * From a URL to a store. The dialects are loaded when they are needed, so that an application installs only the driver
 * of its own database.
 */
import { InvalidArgumentError } from '../errors.ts'
import type { DatabaseOptions } from './database-options.ts'
import type { Store } from './store.ts'

/** What a database URL may look like. */
export const urlForms = 'sqlite:app.db, postgres://user@host/name or mysql://user@host/name'

type Opener = (options: DatabaseOptions) => Promise<Store>

const postgres: Opener = async options => (await import('./postgres/open-postgres-store.ts')).openPostgresStore(options)
const mysql: Opener = async options => (await import('./mysql/open-mysql-store.ts')).openMysqlStore(options)
const sqlite: Opener = async options => (await import('./sqlite/open-sqlite-store.ts')).openSqliteStore(options)

const openers: Readonly<Record<string, Opener>> = {
  postgres,
  postgresql: postgres,
  mysql,
  mariadb: mysql,
  sqlite,
  file: sqlite,
}

/** True where whoever writes holds the whole database: inside a transaction it is too late to make its tables. */
export function hasOneWriter(url: string): boolean {
  return openerFor(url) === sqlite
}

export function openerFor(url: unknown): Opener {
  const scheme = typeof url === 'string' ? /^([a-z]+):/.exec(url)?.[1] : undefined
  const opener = scheme === undefined ? undefined : openers[scheme]
  if (opener === undefined) {
    throw new InvalidArgumentError(
      `The database ${scheme === undefined ? typeof url : `scheme ${scheme}:`} is not known. Use ${urlForms}.`,
    )
  }
  return opener
}
