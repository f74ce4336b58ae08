/**
 * How a database is reached and used. What a database does not know is ignored by it.
 */
import { InvalidArgumentError } from '../errors.ts'
import { refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'

export interface DatabaseOptions {
  readonly url: string
  /** What the names of our tables begin with. Default `geneva_drive_`. */
  readonly prefix?: string
  /** The schema that our tables live in, where the database has such; it is made if it is missing. */
  readonly schema?: string
  /** The type of new keys. Default: uuid where most of the application's own tables have uuids, else bigint. */
  readonly keyType?: 'bigint' | 'uuid'
  /** Most connections that this process keeps to a server: at least 2. Default 10. */
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

/** What a store is opened for, where that is not everything. */
export interface OpeningAim {
  /** Only to tell what making the tables would take: for a file that is not there an empty database stands in. */
  readonly plans?: boolean
}

/** What each may be, in words; those that are checked elsewhere may be anything. */
const known: { readonly [Name in keyof DatabaseOptions]-?: readonly unknown[] | 'count' | null } = {
  url: null,
  prefix: null,
  schema: null,
  keyType: ['bigint', 'uuid'],
  poolSize: 'count',
  preparedStatements: [true, false],
  notify: [true, false],
  mustExist: [true, false],
  synchronous: ['full', 'normal'],
  driver: null,
}

const usualPoolSize = 10
/** With one, a transactional step that asks for anything beside its transaction would wait for itself. The other is opened when it is needed. */
const smallestPoolSize = 2

export function poolSizeOf({ poolSize = usualPoolSize }: DatabaseOptions): number {
  return Math.max(smallestPoolSize, poolSize)
}

/** What is left out, or undefined, is as by default. */
export function checkDatabaseOptions(options: DatabaseOptions): void {
  refuseUnknownOptions('The database', options, Object.keys(known))
  for (const [name, value] of Object.entries(options)) {
    const allowed = known[name as keyof DatabaseOptions]
    if (value === undefined || allowed === null) continue
    if (allowed === 'count' ? Number.isSafeInteger(value) && value > 0 : allowed.includes(value)) continue
    const wanted =
      allowed === 'count' ? 'a whole number above 0' : allowed.map(each => JSON.stringify(each)).join(' or ')
    throw new InvalidArgumentError(`The option ${name} of the database must be ${wanted}, not ${String(value)}.`)
  }
}
