/**
 * Finds a SQLite library: the one built into the runtime where it is recent enough, else the package that ships
 * with this one. Both have the same interface.
 */
import { UnsupportedDatabaseError } from '../../errors.ts'

export interface SqliteStatement {
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

export async function openSqliteHandle(path: string): Promise<SqliteHandle> {
  const { DatabaseSync } = recentEnough(process.versions.sqlite)
    ? await builtIn()
    : await import('@photostructure/sqlite')
  const handle = new DatabaseSync(path) as unknown as SqliteHandle
  const [row] = handle.prepare('select sqlite_version() as version').all() as { version: string }[]
  if (!recentEnough(row?.version)) {
    handle.close()
    throw new UnsupportedDatabaseError(
      `SQLite ${oldestVersion.join('.')} or newer is needed; this library reports ${row?.version}.`,
    )
  }
  return handle
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
