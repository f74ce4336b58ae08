/** Types of the program beside this file, for the tests and benchmarks that import it. */

export type ServerName = 'postgres' | 'mysql'

export interface StartOptions {
  /**
   * False (the default) trades crash safety for speed, and keeps the files in memory where there is room; true keeps the
   * servers' own defaults and a disk, for benchmarks and crash tests.
   */
  durable?: boolean
  /** Which servers to start; both by default. */
  only?: readonly ServerName[]
  /** More settings of a server, as `name=value`: sizes, for benchmarks. */
  settings?: Readonly<Partial<Record<ServerName, readonly string[]>>>
}

export interface Databases {
  /** Address of the PostgreSQL server; undefined if it was not asked for. */
  readonly postgres: string | undefined
  /** Address of the MariaDB or MySQL server; undefined if it was not asked for. */
  readonly mysql: string | undefined
  /** A folder for whatever other files a run has; it is deleted with the servers. */
  readonly folder: string
  /** Ends the servers and deletes their folders. The same happens when this process ends without calling it. */
  stop(): Promise<void>
}

/**
 * Starts real servers, each with its own free port and data folder. A server named by GENEVA_TEST_POSTGRES_URL or
 * GENEVA_TEST_MYSQL_URL is used as it is and not started. Throws if a server cannot be had.
 */
export function startDatabases(options?: StartOptions): Promise<Databases>
