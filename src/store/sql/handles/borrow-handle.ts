/**
 * Wraps a transaction of the application so that our statements run inside it. Handles are recognised by their
 * shape; no library is imported, and nothing is ever begun, committed or rolled back on a borrowed handle.
 */
import { InvalidArgumentError } from '../../../errors.ts'
import type { Executor, Row } from '../dialect.ts'
import { type Param, render, type Sql } from '../sql.ts'
import { affectedRows, resultRows } from './answers.ts'
import { drizzleHandle } from './drizzle-handle.ts'
import { knexHandle } from './knex-handle.ts'
import { kyselyHandle } from './kysely-handle.ts'
import { mysql2Handle } from './mysql2-handle.ts'
import { pgHandle } from './pg-handle.ts'
import { postgresJsHandle } from './postgres-js-handle.ts'
import { prismaHandle } from './prisma-handle.ts'
import type { Candidate, DatabaseKind, Message, Recognize, Recognized, Scalar, Usable } from './recognized-handle.ts'
import { sqliteHandle } from './sqlite-handle.ts'

export interface BorrowingDatabase {
  readonly kind: DatabaseKind
  readonly placeholder: (position: number) => string
}

/** Query builders come first: some of them look like a driver as well. */
const libraries: readonly Recognize[] = [
  prismaHandle,
  drizzleHandle,
  kyselyHandle,
  knexHandle,
  postgresJsHandle,
  mysql2Handle,
  pgHandle,
  sqliteHandle,
]

const names = { postgres: 'PostgreSQL', mysql: 'MySQL', sqlite: 'SQLite', other: 'another database' } as const

const advice =
  'Pass the driver connection or the transaction object of Kysely, Drizzle, Knex or Prisma that the work runs in.'

/** Throws `InvalidArgumentError` for anything that is not an open transaction of this kind of database. */
export function borrowHandle(handle: unknown, { kind, placeholder }: BorrowingDatabase): Executor {
  const recognized = recognize(handle)
  if (recognized === null) {
    throw new InvalidArgumentError(`The \`transaction\` option holds ${describe(handle)}. ${advice}`)
  }
  const { what } = recognized
  if (recognized.kind !== null && recognized.kind !== kind) {
    throw new InvalidArgumentError(
      `The \`transaction\` option holds ${what} for ${names[recognized.kind]}, but the workflows are kept in ${names[kind]}. ${advice}`,
    )
  }
  if ('refusal' in recognized) {
    throw new InvalidArgumentError(`The \`transaction\` option holds ${what} ${recognized.refusal}`)
  }
  return new BorrowedTransaction(recognized, placeholder)
}

function recognize(handle: unknown): Recognized | null {
  if ((typeof handle !== 'object' && typeof handle !== 'function') || handle === null) return null
  for (const library of libraries) {
    const recognized = library(handle as Candidate)
    if (recognized !== null) return recognized
  }
  return null
}

function describe(handle: unknown): string {
  if (handle === null) return 'null'
  if (typeof handle !== 'object') return `a ${typeof handle}`
  const name = handle.constructor?.name
  return name === undefined || name === 'Object' ? 'an object of no known library' : `a ${name}, which is not known`
}

class BorrowedTransaction implements Executor {
  /** Not every library keeps the order of statements that overlap. */
  readonly pipelines = false
  readonly #handle: Usable
  readonly #placeholder: (position: number) => string

  constructor(handle: Usable, placeholder: (position: number) => string) {
    this.#handle = handle
    this.#placeholder = placeholder
  }

  async query(statement: Sql): Promise<Row[]> {
    return resultRows(await this.#send(statement, 'rows'))
  }

  async run(statement: Sql): Promise<number> {
    return affectedRows(await this.#send(statement, 'count'))
  }

  /** The driver may not have known yet that the transaction has failed when it was handed over. */
  async #send(statement: Sql, wanted: 'rows' | 'count'): Promise<unknown> {
    try {
      return await this.#handle.send(this.#message(statement), wanted)
    } catch (error) {
      if (!hasFailedBefore(error)) throw error
      throw new InvalidArgumentError(
        `The \`transaction\` option holds ${this.#handle.what} whose transaction has failed already. Roll it back.`,
      )
    }
  }

  #message(statement: Sql): Message {
    const { text, values } = this.#handle.render?.(statement) ?? render(statement, this.#placeholder)
    return { text, values: values.map(scalar) }
  }
}

/** PostgreSQL refuses every statement of a transaction after one that failed; libraries may wrap its answer. */
function hasFailedBefore(error: unknown): boolean {
  for (let cause = error; typeof cause === 'object' && cause !== null; cause = (cause as { cause?: unknown }).cause) {
    if ((cause as { code?: unknown }).code === '25P02') return true
  }
  return false
}

function scalar(value: Param): Scalar {
  return typeof value === 'object' && value !== null ? arrayLiteral(value) : value
}

/** The text form of a PostgreSQL array. Every driver can send a text; not every one can send an array. */
function arrayLiteral(values: readonly (string | number | null)[]): string {
  const items = values.map(value => (value === null ? 'NULL' : `"${String(value).replace(/["\\]/g, '\\$&')}"`))
  return `{${items.join(',')}}`
}
