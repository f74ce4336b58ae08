/**
 * What a migration is: an ordered, named list of statements. Each statement can be run again after a crash in
 * the middle, because not every database undoes DDL.
 */
import type { Dialect, KeyType } from '../dialect.ts'
import type { Sql } from '../sql.ts'
import type { Tables } from '../tables.ts'

export interface MigrationContext {
  readonly dialect: Dialect
  readonly tables: Tables
  readonly keyType: KeyType
}

export interface Migration {
  readonly version: number
  readonly name: string
  /** The oldest version whose code still works on these tables: a deploy adds first, and takes away later. */
  readonly compatibleFrom: number
  statements(context: MigrationContext): Sql[]
}
