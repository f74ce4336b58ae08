/**
 * What a workload is: a file in `bench/workloads` that exports one. Adding a file there adds it to `npm run bench`.
 */
import type { BenchDatabase, BenchDatabaseName } from './databases.ts'

export interface Workload {
  /** One sentence for the list of workloads. */
  readonly about: string
  /** What is measured, one line of the table each. They take turns in this order. */
  readonly cases: readonly Case[]
  /** The same work done by others, only if it is asked for. */
  readonly peers?: readonly Case[]
  /** Lets go of what its cases keep from one call to the next, while the databases are still there. */
  stop?(): Promise<void>
}

export interface Case {
  /** Unique in its workload and system: what is compared with another system has the same name. */
  readonly name: string
  /** Which engine is measured; ours if nothing is said. */
  readonly system?: string
  /** What its database is called in the table, if it is not the one that it is given. */
  readonly database?: string
  /** The only database that it runs on; `null`: none of ours, once in each run. On all if nothing is said. */
  readonly on?: BenchDatabaseName | null
  /** Measures once. Called several times on one database, first with a small size to warm up. */
  measure(database: BenchDatabase, size: Size, limits: Limits): Promise<readonly Measurement[]>
}

/** How much of it, where that is asked for on the command line. */
export interface Limits {
  /** How many executions have ended before, for those that measure what history costs. */
  readonly finished: number
  /** How long the load lasts, for those that measure a load that lasts. */
  readonly seconds: number
}

/** `full` is what counts; `tiny` only shows that the code works. */
export type Size = 'full' | 'tiny'

export interface Measurement {
  /** What of the case was measured, where it is more than one thing. */
  readonly what?: string
  readonly value: number
  readonly unit: string
}
