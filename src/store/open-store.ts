/**
 * From a URL to a store. The dialects are loaded when they are needed, so that an application installs only the driver
 * of its own database.
 */
import { InvalidArgumentError } from '../errors.ts'
import type { DatabaseOptions, OpeningAim } from './database-options.ts'
import type { Store } from './store.ts'

/** What a database URL may look like. */
export const urlForms = 'sqlite:app.db, postgres://user@host/name or mysql://user@host/name'

type Opener = (options: DatabaseOptions, aim?: OpeningAim) => Promise<Store>

const postgres: Opener = async options => (await import('./postgres/open-postgres-store.ts')).openPostgresStore(options)
const mysql: Opener = async options => (await import('./mysql/open-mysql-store.ts')).openMysqlStore(options)
const sqlite: Opener = async (options, aim) =>
  (await import('./sqlite/open-sqlite-store.ts')).openSqliteStore(options, aim)

const openers: Readonly<Record<string, Opener>> = {
  postgres,
  postgresql: postgres,
  mysql,
  mariadb: mysql,
  sqlite,
  file: sqlite,
}

/** What tells that an application uses a database, and what it takes to use it from here. */
export interface DatabaseKind {
  readonly name: string
  readonly schemes: readonly string[]
  /** Packages by which an application reaches it, and words for it in the settings of other tools. */
  readonly signs: readonly string[]
  /** The package that has to be installed; `null` where none has to be. */
  readonly driver: string | null
  /** What migration tools call it. */
  readonly word: string
  /** An address to begin with. */
  readonly url: string
}

/** The last one is for an application that has none yet. */
export const databaseKinds: readonly DatabaseKind[] = [
  {
    name: 'PostgreSQL',
    schemes: ['postgres', 'postgresql'],
    signs: ['pg', 'postgres', 'postgresql', '@neondatabase/serverless', '@vercel/postgres', '@prisma/adapter-pg'],
    driver: 'pg',
    word: 'postgresql',
    url: 'postgres://localhost:5432/app',
  },
  {
    name: 'MySQL or MariaDB',
    schemes: ['mysql', 'mariadb'],
    signs: ['mysql2', 'mysql', 'mariadb', '@planetscale/database', '@prisma/adapter-mariadb'],
    driver: 'mysql2',
    word: 'mysql',
    url: 'mysql://localhost:3306/app',
  },
  {
    name: 'SQLite',
    schemes: ['sqlite', 'file'],
    signs: ['better-sqlite3', 'sqlite3', 'sqlite', 'libsql', '@prisma/adapter-better-sqlite3'],
    driver: null,
    word: 'sqlite',
    url: 'sqlite:geneva.db',
  },
]

/** True where whoever writes holds the whole database: inside a transaction it is too late to make its tables. */
export function hasOneWriter(url: string): boolean {
  return openerFor(url) === sqlite
}

export function openerFor(url: unknown): Opener {
  if (typeof url !== 'string') {
    const given = url === undefined ? 'nothing' : `a value of type ${typeof url}`
    throw new InvalidArgumentError(`The URL of a database is needed, and there is ${given}. Use ${urlForms}.`)
  }
  const scheme = /^([a-z]\w*):/i.exec(url)?.[1]
  const opener = scheme === undefined ? undefined : openers[scheme]
  if (opener !== undefined) return opener
  // The whole of it may have a password in it.
  const what =
    scheme === undefined
      ? 'The URL of the database does not begin with a scheme'
      : `The database scheme ${scheme}: is not known`
  throw new InvalidArgumentError(`${what}. Use ${urlForms}.`)
}
