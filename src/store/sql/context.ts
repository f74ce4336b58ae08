/**
 * What every statement needs to know: the dialect, the table names, the key type and the clock.
 */
import { InvariantError } from '../../errors.ts'
import type { CommittedEvent, EventObserver } from '../event-store.ts'
import type { Database, Dialect, KeyType, Row, RowSet } from './dialect.ts'
import { LockLines } from './lock-lines.ts'
import { Remembered } from './remembered.ts'
import { retrying } from './retrying.ts'
import { type Param, param, type Sql, sql, Together } from './sql.ts'
import type { Tables } from './tables.ts'

export class SqlContext {
  readonly database: Database
  readonly tables: Tables
  /** Microseconds added to the database's clock; only the test kit moves it. */
  clockOffset = 0
  /** Hears of events right after their commit; `null` while nobody listens. */
  observer: EventObserver | null = null
  #aging = { weight: 2_000_000, ages: true }
  #keyType: KeyType | null = null
  #fixed: Sql | null = null
  #asSets = false
  #lines: LockLines | null = null
  /** For as long as nothing changes that statements depend on. */
  #remembered = new Remembered()

  /** The row `a` of the active ones is the one that a row `r` of a set names. */
  readonly sameRow: Sql

  constructor(database: Database, tables: Tables, sameRow = sameRowIn(database.dialect)) {
    this.database = database
    this.tables = tables
    this.sameRow = sameRow
  }

  /** Whether what is written is about many: then a statement may take longer to begin if each row costs less. */
  get asSets(): boolean {
    return this.#asSets
  }

  get dialect(): Dialect {
    return this.database.dialect
  }

  /** Where changes stand that want the same workflow. */
  get lines(): LockLines {
    this.#lines ??= new LockLines(this.database)
    return this.#lines
  }

  get keyType(): KeyType {
    if (this.#keyType === null) throw new InvariantError('The key type was asked for before the schema was read.')
    return this.#keyType
  }

  set keyType(value: KeyType) {
    this.#keyType = value
    this.#remembered = new Remembered()
  }

  /** What a point of priority is worth, in microseconds of waiting, and whether waiting counts at all. */
  get aging(): { readonly weight: number; readonly ages: boolean } {
    return this.#aging
  }

  set aging(value: { readonly weight: number; readonly ages: boolean }) {
    this.#aging = value
    this.#remembered = new Remembered()
  }

  /**
   * The same at a time that is fixed, in the database's clock. `asSets`: what is written of several workflows, or of a graph, is one
   * statement of many sets; if each of them had forms for few rows, it would have more texts than a connection prepares.
   */
  at(now: Sql, { asSets }: { readonly asSets: boolean }): SqlContext {
    const { countOnce } = this.dialect
    const time = this.#moved(now)
    // A bound value costs nothing.
    const once = asSets && countOnce !== undefined && time.values.length === 0
    const context = this.#pinned(once ? this.#remembered.statement(countOnce, [time], countOnce) : time)
    context.#asSets = asSets
    return context
  }

  /** The time at which things fall due. */
  get now(): Sql {
    return this.#fixed ?? this.#moved(this.dialect.now)
  }

  #moved(now: Sql): Sql {
    if (this.clockOffset === 0) return now
    return this.#remembered.statement(SqlContext, [now, param(this.clockOffset)], (time, by) => sql`(${time} + ${by})`)
  }

  #pinned(now: Sql): SqlContext {
    const context = new SqlContext(this.database, this.tables, this.sameRow)
    context.clockOffset = this.clockOffset
    context.observer = this.observer
    context.#aging = this.#aging
    context.#keyType = this.#keyType
    context.#remembered = this.#remembered
    context.#fixed = now
    return context
  }

  /**
   * A statement that comes again and again, made of fragments, whose values alone may differ from time to time. It is written for
   * the context that `build` is given, which has the time as a fragment.
   */
  statement<Fragments extends readonly Sql[]>(
    kind: object,
    fragments: readonly [...Fragments],
    build: (context: SqlContext, ...fragments: Fragments) => Sql,
  ): Sql {
    return this.#remembered.statement(kind, [this.now, ...fragments], (now, ...rest) =>
      build(this.#pinned(now), ...(rest as unknown as Fragments)),
    )
  }

  /** Several statements in one, where the database can do so and none of them goes by what another one writes. */
  together(statements: readonly Sql[]): readonly Sql[] {
    const { together } = this.dialect
    if (together === undefined || statements.length < 2) return statements
    return [
      new Together(
        this.#remembered.statement(together, statements, (...all) => together(all)),
        statements,
      ),
    ]
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
    return this.dialect.rows(alias, set, this.keyType, this.#asSets)
  }

  among(column: Sql, ids: readonly string[]): Sql {
    return this.dialect.among(column, ids, this.keyType)
  }
}

function sameRowIn({ sameKey }: Dialect): Sql {
  return sql`${sameKey('a.workflow_id', 'r.workflow_id')} and a.slot = r.slot`
}
