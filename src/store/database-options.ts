/**
 * How a database is reached and used. What a database does not know is ignored by it.
 */
import type { SqlStoreOptions } from './sql/sql-store.ts'

export interface DatabaseOptions extends SqlStoreOptions {
  readonly url: string
  /** Most connections that this process keeps to a server. */
  readonly poolSize?: number
  /** Off behind a pooler that hands out a connection per transaction. */
  readonly preparedStatements?: boolean
  /** How hard an embedded database tries to survive a power cut. */
  readonly synchronous?: 'full' | 'normal'
}
