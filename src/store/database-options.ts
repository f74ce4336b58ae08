/**
 * How a database is reached and used. What a database does not know is ignored by it.
 */
import { optionNames } from '../primitives/refuse-unknown-options.ts'

export interface DatabaseOptions {
  readonly url: string
  /** What the names of our tables begin with. Default `geneva_drive_`. */
  readonly prefix?: string
  /** The schema that our tables live in, where the database has such; it is made if it is missing. */
  readonly schema?: string
  /** The type of new keys. Default: uuid where most of the application's own tables have uuids, else bigint. */
  readonly keyType?: 'bigint' | 'uuid'
  /** Most connections that this process keeps to a server. Default 10. */
  readonly poolSize?: number
  /** Off behind a pooler that hands out a connection per transaction. Default on. */
  readonly preparedStatements?: boolean
  /**
   * Tell other processes when there is work, and listen for it, where the database can do so (PostgreSQL). Default on, but not
   * without prepared statements: who listens needs a connection of his own. Without it workers find work by looking for it.
   */
  readonly notify?: boolean
  /** Refuse a database file that is not there, instead of making it. Default off. */
  readonly mustExist?: boolean
  /** How hard an embedded database tries to survive a power cut. Default `full`. */
  readonly synchronous?: 'full' | 'normal'
  /**
   * The class that opens an embedded database, if the application opens the same file with a library of its own, such as
   * better-sqlite3. Two copies of a library in one process do not see each other's locks.
   */
  readonly driver?: new (
    path: string,
  ) => { prepare(text: string): unknown; exec(text: string): unknown; close(): unknown }
}

export const knownOfDatabase: readonly string[] = optionNames<DatabaseOptions>({
  url: 0,
  prefix: 0,
  schema: 0,
  keyType: 0,
  poolSize: 0,
  preparedStatements: 0,
  notify: 0,
  mustExist: 0,
  synchronous: 0,
  driver: 0,
})
