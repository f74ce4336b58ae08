/**
 * An embedded database for one test, in a folder of its own. The folder is deleted when told, and at the latest when the
 * process exits, because a test that fails may not get to its end.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseOptions } from '../store/database-options.ts'

export interface TemporaryDatabase {
  readonly database: DatabaseOptions
  /** May be called twice. */
  remove(): void
}

const folders = new Set<string>()

export function temporaryDatabase(): TemporaryDatabase {
  // One listener for all folders: Node warns of a leak when there are more than ten.
  if (folders.size === 0) process.once('exit', removeAll)
  const folder = mkdtempSync(join(tmpdir(), 'geneva-drive-'))
  folders.add(folder)
  // It need not survive a power cut.
  return { database: { url: `file:${join(folder, 'test.db')}`, synchronous: 'normal' }, remove: () => remove(folder) }
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  folders.delete(folder)
  if (folders.size === 0) process.off('exit', removeAll)
}

function removeAll(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}
