/** What every library is asked for in the tests of record sources: the same table, read in the same ways. */
import type { RecordPlace, RecordSource } from '../../../src/index.ts'

export interface Reading {
  readonly id: number
  readonly label: string
}

/** A row of the table; each driver has its own type for a time. */
export interface ReadingRow extends Reading {
  readonly series: string
  readonly taken_at: unknown
  readonly score: number
  readonly noted_at: unknown
}

export interface Wanted {
  /** `taken_at` has microseconds and equal values, `score` is a number, `noted_at` may be missing. */
  readonly by?: 'taken_at' | 'score' | 'noted_at'
  readonly order?: 'asc' | 'desc'
  /** Leaves out everything else. */
  readonly series: string
}

export interface Library {
  /** Each has its own type for the other columns. */
  readings(wanted: Wanted): RecordSource<any, RecordPlace>
  close(): Promise<unknown>
}

export type OpenLibrary = (url: string) => Library | Promise<Library>

/** With the types that each database has for a time with microseconds. */
export const createReadings = (time: string) =>
  `create table readings (id integer primary key, series varchar(20) not null, label varchar(20) not null,
    taken_at ${time} not null, score double precision not null, noted_at ${time} null)`
