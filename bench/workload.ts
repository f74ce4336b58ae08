/**
 * What a workload is: a file in `bench/workloads` that exports one. Adding a file there adds it to `npm run bench`.
 */
import type { BenchDatabase } from './databases.ts'

export interface Workload {
  /** One sentence for the list of workloads. */
  readonly about: string
  /** What is measured, one line of the table each. */
  readonly cases: readonly Case[]
  /** Lets go of what its cases keep from one call to the next, while the databases are still there. */
  stop?(): Promise<void>
}

export interface Case {
  /** Unique in its workload. */
  readonly name: string
  /**
   * Measures once. Called several times on one database, first with a small size to warm up. `finished`: how many executions
   * have ended before, for those that measure what history costs.
   */
  measure(database: BenchDatabase, size: Size, finished: number): Promise<readonly Measurement[]>
}

/** `full` is what counts; `tiny` only shows that the code works. */
export type Size = 'full' | 'tiny'

export interface Measurement {
  /** What of the case was measured, where it is more than one thing. */
  readonly what?: string
  readonly value: number
  readonly unit: string
}
