/**
 * The SQLite library that Geneva itself opens files with. Applications in the same process must use the same copy, so
 * the stand-ins for other libraries are made of it.
 */
import type { DatabaseSync as Library } from '@photostructure/sqlite'
import { ownLibrary } from '../../../src/store/sqlite/sqlite-driver.ts'

export type SqliteConnection = InstanceType<typeof Library>

export const DatabaseSync = (await ownLibrary()) as unknown as typeof Library

export const pathOf = (url: string) => url.replace(/^sqlite:/, '')
