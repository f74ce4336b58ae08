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
  statements(context: MigrationContext): Sql[]
}
