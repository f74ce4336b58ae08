/**
 * Finds a SQLite library: the one built into the runtime where it is recent enough, else the package that ships
 * with this one. Both have the same interface.
 */
import { UnsupportedDatabaseError } from '../../errors.ts'

export interface SqliteStatement {
  /** Only in better-sqlite3: whether the statement returns rows. */
  readonly reader?: boolean
  all(...values: unknown[]): unknown[]
  run(...values: unknown[]): { changes: number | bigint }
}

export interface SqliteHandle {
  prepare(text: string): SqliteStatement
  exec(text: string): void
  close(): void
}

/** Older versions can corrupt a WAL database that several connections write to. */
const oldestVersion = [3, 51, 3] as const

/** The class of a library that opens files; better-sqlite3 has one that does as well. */
export type SqliteLibrary = new (path: string) => SqliteHandle

export async function openSqliteHandle(path: string, library?: SqliteLibrary): Promise<SqliteHandle> {
  const Library = library ?? (await ownLibrary())
  checkVersion(new Library(':memory:'))
  return new Library(path)
}

export async function ownLibrary(): Promise<SqliteLibrary> {
  const { DatabaseSync } = recentEnough(process.versions.sqlite)
    ? await builtIn()
    : await import('@photostructure/sqlite')
  return DatabaseSync as unknown as SqliteLibrary
}

/** Asks a database of its own: the file may be locked, and this must not wait or fail for that. */
function checkVersion(memory: SqliteHandle): void {
  const [row] = memory.prepare('select sqlite_version() as version').all() as { version: string }[]
  memory.close()
  if (recentEnough(row?.version)) return
  throw new UnsupportedDatabaseError(
    `SQLite ${oldestVersion.join('.')} or newer is needed; this library reports ${row?.version}.`,
  )
}

/** The module is named at run time, so that runtimes without it can load this file. */
async function builtIn(): Promise<{ DatabaseSync: new (path: string) => unknown }> {
  const original = process.emitWarning
  // The module announces once that it is experimental; nothing else is silenced.
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).includes('SQLite')) Reflect.apply(original, process, [warning, ...rest])
  }) as typeof process.emitWarning
  try {
    const name = 'node:sqlite'
    return await import(name)
  } finally {
    process.emitWarning = original
  }
}

function recentEnough(version: string | undefined): boolean {
  if (version === undefined) return false
  const parts = version.split('.').map(Number)
  for (const [index, wanted] of oldestVersion.entries()) {
    const part = parts[index] ?? 0
    if (part !== wanted) return part > wanted
  }
  return true
}
