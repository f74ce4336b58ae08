/**
 * What every statement needs to know: the dialect, the table names, the key type and the clock.
 */
import { InvariantError } from '../../errors.ts'
import type { CommittedEvent, EventObserver } from '../event-store.ts'
import type { Database, Dialect, KeyType, Row, RowSet } from './dialect.ts'
import { retrying } from './retrying.ts'
import { type Param, type Sql, sql } from './sql.ts'
import type { Tables } from './tables.ts'

export class SqlContext {
  readonly database: Database
  readonly tables: Tables
  /** Microseconds added to the database's clock; only the test kit moves it. */
  clockOffset = 0
  /** What a point of priority is worth, in microseconds of waiting, and whether waiting counts at all. */
  aging = { weight: 2_000_000, ages: true }
  /** Hears of events right after their commit; `null` while nobody listens. */
  observer: EventObserver | null = null
  #keyType: KeyType | null = null
  #fixed: Sql | null = null

  constructor(database: Database, tables: Tables) {
    this.database = database
    this.tables = tables
  }

  get dialect(): Dialect {
    return this.database.dialect
  }

  get keyType(): KeyType {
    if (this.#keyType === null) throw new InvariantError('The key type was asked for before the schema was read.')
    return this.#keyType
  }

  set keyType(value: KeyType) {
    this.#keyType = value
  }

  /** The same at a time that is fixed, in the database's clock. */
  at(now: Sql): SqlContext {
    const context = new SqlContext(this.database, this.tables)
    context.clockOffset = this.clockOffset
    context.aging = this.aging
    context.observer = this.observer
    context.#keyType = this.#keyType
    context.#fixed = this.clockOffset === 0 ? now : sql`(${now} + ${this.clockOffset})`
    return context
  }

  /** The time at which things fall due. */
  get now(): Sql {
    if (this.#fixed !== null) return this.#fixed
    return this.clockOffset === 0 ? this.dialect.now : sql`(${this.dialect.now} + ${this.clockOffset})`
  }

  /** The time by which leases lapse: never moved, because processes live in real time. */
  get leaseNow(): Sql {
    return this.dialect.now
  }

  /** After a commit. The events are only put together where somebody listens. */
  tell(events: () => readonly CommittedEvent[]): void {
    this.observer?.(events())
  }

  /** A read outside a transaction, tried again while the database is busy or away for a moment. */
  read(statement: Sql): Promise<Row[]> {
    return retrying(this.dialect, () => this.database.query(statement))
  }

  /** Several reads as of one moment, sent together, tried again like `read`. */
  snapshot(statements: readonly Sql[]): Promise<Row[][]> {
    return retrying(this.dialect, () => this.database.snapshot(statements))
  }

  /** One write that may be repeated, as a transaction of its own: no lock outlives the statement, whatever becomes of us. */
  write(statement: Sql): Promise<number> {
    return retrying(this.dialect, () => this.database.run(statement))
  }

  id(id: string): Param {
    return this.dialect.idParam(id, this.keyType)
  }

  rows(alias: string, set: RowSet): Sql {
    return this.dialect.rows(alias, set, this.keyType)
  }

  among(column: Sql, ids: readonly string[]): Sql {
    return this.dialect.among(column, ids, this.keyType)
  }
}
