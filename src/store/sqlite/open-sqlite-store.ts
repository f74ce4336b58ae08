/**
 * Opens the store in a SQLite file: `sqlite:app.db`, `sqlite:/var/lib/app.db` or `file:app.db`.
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { InvalidArgumentError, SchemaError } from '../../errors.ts'
import type { DatabaseOptions, OpeningAim } from '../database-options.ts'
import { openingError } from '../sql/opening-error.ts'
import { SqlStore } from '../sql/sql-store.ts'
import type { Store } from '../store.ts'
import { openSqlite } from './sqlite-database.ts'
import type { SqliteLibrary } from './sqlite-driver.ts'

/** A database that is gone when it is closed. Each connection has one of its own, so it is good for nothing but to be found empty. */
const standIn = ':memory:'

export async function openSqliteStore(
  { schema: _, ...options }: DatabaseOptions,
  { plans = false }: OpeningAim = {},
): Promise<Store> {
  // A file has no schemas: what stands before a table's name there is another file.
  const { driver, synchronous = 'full', mustExist = false } = options
  const path = pathOf(options.url)
  const isMissing = !existsSync(path)
  if (isMissing && mustExist && !plans) {
    throw new SchemaError(`There is no database file ${path}. Is the path right? \`geneva migrate\` makes it.`)
  }
  const database = await openSqlite({
    path: isMissing && plans ? standIn : path,
    synchronous,
    ...(driver && { library: driver as SqliteLibrary }),
  }).catch(error => {
    throw openingError(`sqlite:${path}`, error, remedyFor)
  })
  return new SqlStore(database, options)
}

function remedyFor(error: object): string {
  const isOther = /not a database/.test(String((error as { message?: unknown }).message))
  return isOther
    ? 'Another kind of file is there: correct the path.'
    : 'Is the path right, and may this user read and write the file and its folder?'
}

function pathOf(url: string): string {
  const path = url.replace(/^(sqlite|file):(\/\/(?=\/))?/, '')
  if (path === '' || path === ':memory:') {
    throw new InvalidArgumentError(
      `The database ${JSON.stringify(url)} names no file. Several connections share a database, so it must be a file: sqlite:app.db. For tests use geneva-drive/testing.`,
    )
  }
  return resolve(path)
}
