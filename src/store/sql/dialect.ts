/**
 * Everything in which the databases differ, by name. The statements ask a dialect for a capability; they never ask
 * which database they talk to.
 */
import type { NumberWindow, Settlement } from '../event-store.ts'
import type { Hints } from '../hints.ts'
import type { PoolUse } from '../housekeeping-store.ts'
import type { UserTransaction } from '../store.ts'
import type { Param, Sql } from './sql.ts'
import type { Tables } from './tables.ts'

export type KeyType = 'bigint' | 'uuid'

/** Types of the columns in a set of rows that is handed to a statement. */
export type ColumnType = 'id' | 'text' | 'int' | 'json'

/**
 * Columns that are mostly the same in all rows of a set: those that tell how an attempt went, since most go well the first
 * time, those that tell which code or kind of event it belongs to, the slot, which is one for all chains, the node where the slot does not name it, the place of what follows another where that does not tell it, times, names that only nodes of stored graphs have,
 * outputs, of which most steps have none, and what the branches of one fan have in common. A dialect may then send one
 * value instead of many, for all columns that are named so or for none, so that there are few statements to prepare.
 */
export type Alike = 'course' | 'code' | 'slot' | 'node' | 'next' | 'time' | 'name' | 'output' | 'fan'

export interface RowSet {
  readonly columns: Readonly<Record<string, ColumnType>>
  readonly rows: readonly (readonly (string | number | null)[])[]
  /** How many rows there are, where that can be told without making them. */
  readonly size?: number
  /** The values of a column, by its place, where they can be had without making rows of them first. */
  column?(index: number): readonly (string | number | null)[]
  /** Groups of columns, by their places, that are mostly the same in all rows. */
  readonly alike?: readonly (Alike | null)[]
  /** The value that all rows have in a column; `undefined` where they differ. */
  only?(index: number): string | number | null | undefined
}

/** What a failed statement means for the caller. */
export type Failure =
  /** The whole transaction may be run again: deadlock, serialization, busy. */
  | 'transient'
  /** The connection is gone; whether a commit arrived is unknown. */
  | 'connection'
  | 'lasting'

export interface ColumnTypes {
  readonly id: string
  /** Short text that is compared byte by byte and may stand in an index. */
  readonly key: string
  readonly text: string
  readonly json: string
  /** Whole numbers up to 2^53. */
  readonly int: string
  /** A number that the database assigns, rising, as primary key. */
  readonly serial: string
}

/** How statements are written. */
export interface StatementDialect {
  readonly placeholder: (position: number) => string
  /** Microseconds since 1970 by the database's clock. */
  readonly now: Sql
  /** Binds a time, in microseconds since 1970, where nothing else tells its type. */
  timeParam(time: number): Sql
  /** Binds an id in the type of the key. */
  idParam(id: string, keyType: KeyType): Param

  /** How many characters the values of a statement about several rows may have; missing where a server takes whatever we write. */
  readonly longestStatement?: number
  /** How many rows a statement writes at most, where that is fewer than usual. */
  readonly mostRows?: number
  /** Binds encoded JSON for a column of that type. */
  jsonParam(text: string | null): Sql
  /** A set of rows as a table expression, with its alias. `asSet`: in the same form, however few they are. */
  rows(alias: string, set: RowSet, keyType: KeyType, asSet: boolean): Sql
  /** `column` is one of the ids. */
  among(column: Sql, ids: readonly string[], keyType: KeyType): Sql
  /** Inserts what breaks no uniqueness rule, and leaves the transaction usable either way. */
  insertNew(table: Sql, columns: readonly string[], select: Sql): Sql
  /** Updates rows of `table` (alias `a`) that match rows of a set (alias `r`). */
  updateFrom(table: Sql, rows: Sql, on: Sql, assignments: readonly (readonly [string, Sql])[]): Sql
  /** Deletes rows of `table` whose key columns stand in a set (alias `r`). */
  deleteFrom(table: Sql, rows: Sql, keys: readonly string[]): Sql

  /**
   * Stands behind a look for due rows that locks those it finds and passes over those that others have locked: nothing where there is one
   * writer. Missing where only rows that are known by their key can be locked so.
   */
  readonly lockFound?: Sql
  /** Whether others may write at the same time, so that rows that are passed over because they are locked are a thing of the moment. */
  readonly manyWriters?: true
  /**
   * Said in a transaction before lines are looked at, where the database might else read a whole line and sort it, though the
   * index has it in order.
   */
  readonly readInOrder?: Sql
  /** Whether `select distinct` of what an index begins with goes from one value in it to the next, and reads nothing in between. */
  readonly leapsInIndex?: true
  /** Whether `commitIf` takes writes that must be about so many rows, and needs no round trip of its own to count them. */
  readonly countsWrites?: true
  /** One statement of a write and another that goes by what it returns, which it knows as `s0`. */
  takeReturned?(write: Sql, taker: Sql): Sql
  /** Whether a counted update may return the rows as they were, by the name `old`. */
  readonly returnsOld?: boolean
  /** What is the same for all rows, in a form that is counted once for a statement and not for each of them; missing where that is so anyway. */
  countOnce?(value: Sql): Sql
  /** One statement that does what all of them do, each going by what was there before; missing where there is none such. */
  together?(statements: readonly Sql[]): Sql

  /**
   * A key of a table, which its index begins with, is the one that a row beside it names; both are names of columns. In a form
   * that leaves a planner nothing but to look it up, whatever it believes of the size of the table.
   */
  sameKey(column: string, named: string): Sql
  /** Joins the table on the right by its key, once for each row on the left, so that no other row is looked at. */
  readonly keyedJoin: Sql
  /**
   * Stands behind the alias of a table whose rows are locked by their key. Without it a scan of a small table could
   * wait for rows that nobody asked for, such as those of an application's open transaction.
   */
  readonly byKey: Sql
  /** Appended to a select: locks its rows against change, waiting. */
  readonly lock: Sql
  /** Appended to a select: locks like `lock` what can be locked at once and leaves the rest out. */
  readonly lockFree: Sql
  /** Selects the ids of the rows `w` of a table that the rows `r` of a set name by theirs; locks each, waiting, in the order of the ids. */
  lockNamed(table: Sql, rows: Sql, further: Sql): Sql
  /** Appended to a select: keeps its rows from being locked by `lockSkipping`, letting others do the same. */
  readonly lockShared: Sql
  /** Appended to a select on alias `a`: locks what can be locked at once and leaves the rest out. */
  readonly lockSkipping: Sql
  /** Appended to a read that must see what others have committed, even in a caller's older snapshot. */
  readonly freshRead: Sql
  /** True for a workflow `w` that no other of its type and hero may stand beside. With those two, it is found by key. */
  readonly holdsPlace: Sql

  /**
   * Rising numbers are handed out before their rows are committed, so a lower one may appear after a higher one that is
   * seen. Tells up to where a read that begins now sees all that will ever be there.
   */
  settle(session: Executor, table: Sql, window: NumberWindow): Promise<Settlement>
  /** Selects as `highest` a number of the table that no committed row is above; `null` where there never was one. */
  highestNumber(table: Sql): Sql

  /** Whether a transaction goes by the state that it saw first, so that its writes miss rows which came later. */
  keepsSnapshot(transaction: Executor): Promise<boolean>

  /** Reserves blocks of ids; each block is `idBlockSize` long. */
  allocateBlocks(executor: Executor, counter: Sql, count: number): Promise<number[]>
}

/** How tables are made. */
export interface SchemaDialect {
  readonly tableOptions: string
  /** Follows the options of the table whose rows change with every step and are looked up by their key. */
  readonly changingTable: string
  columnTypes(keyType: KeyType): ColumnTypes
  /** Statements that make the id counter. */
  createCounter(counter: string): Sql[]
  /** Statements that keep one active workflow per type and hero, and one workflow per idempotency key. */
  uniqueWorkflows(names: { table: string; prefix: string }): Sql[]
  /** An index over the rows that meet a condition, or over all where the database has no such index. */
  index(index: { name: string; table: string; columns: string; where?: string }): Sql
  /** An index over the time at which rows were appended, as cheap to keep as the database has one. */
  timeIndex(index: { name: string; table: string; column: string }): Sql
  /** Keeps what is large in a column as it is, where the database would compress it; missing where none does. */
  keepWhole?(column: { table: string; column: string }): Sql
  /** An extra index for an append-only table, where one helps. */
  appendOnlyIndex(index: { name: string; table: string; column: string }): Sql[]

  /** Column types of `id` columns in the application's own tables. */
  applicationKeyTypes(executor: Executor, tables: Tables): Promise<string[]>
  /** Makes the schema that the tables live in, where one was asked for. */
  createSchema(schema: string | null): Sql[]
  readonly migrationLock: MigrationLock
  /** True for the error of a schema statement that an earlier, broken run has carried out already. */
  alreadyDone(error: unknown): boolean
}

export interface Dialect extends StatementDialect, SchemaDialect {
  classify(error: unknown): Failure
  /** True where the lock of a row was waited for, and not got in time. Missing where nobody waits for one row. */
  waitedInVain?(error: unknown): boolean
  /** True for the answer to a savepoint that is gone with its transaction, or stands in one that has failed. */
  lostTransaction(error: object): boolean
}

/** One process at a time changes the tables. Where DDL is transactional the lock opens a transaction. */
export interface MigrationLock {
  acquire(session: Executor, name: string): Promise<void>
  commit(session: Executor): Promise<void>
  rollback(session: Executor): Promise<void>
  release(session: Executor, name: string): Promise<void>
}

export type Row = Readonly<Record<string, unknown>>

/** Something that runs statements: a connection, a transaction, or the application's own transaction. */
export interface Executor {
  /** Statements may be issued without waiting for the ones before. */
  readonly pipelines: boolean
  query(statement: Sql): Promise<Row[]>
  /** Runs a statement and tells how many rows it touched. */
  run(statement: Sql): Promise<number>
}

/** Rows that a select must find, so many of them. */
export interface Guard {
  readonly select: Sql
  readonly count: number
  /** It waits for locks of others, who may have changed what the next ones look at. */
  readonly waits?: boolean
}

export interface Transaction extends Executor {
  /** Runs the statements in order and commits, in as few round trips as the driver can. Nothing may follow it. */
  commitWith(statements: readonly Sql[]): Promise<void>
  /**
   * Runs the statements in order and commits if every guard among them, and every write that is counted, finds its rows; else
   * undoes everything and answers `null`. They get the time by the database's clock, which is the answer. Nothing may come before it or follow it.
   */
  commitIf(steps: (now: Sql) => readonly (Sql | Guard)[]): Promise<number | null>
}

/** What a decision needs of a transaction, be it one that somebody else commits. */
export type OpenTransaction = Omit<Transaction, 'commitIf'>

/** A transaction of ours in which code of the application runs. It sees what others have committed meanwhile. */
export interface OpenUserTransaction {
  readonly transaction: UserTransaction
  readonly executor: Executor
  /** The application's code is through. Rejects if the transaction is not open any more; from here on locks are held. */
  closing(): Promise<void>
  /** Runs the statements in order, up to the first that fails. */
  runAll(statements: readonly Sql[]): Promise<void>
  /** The code was left behind: the connection is not used again. */
  abandon(): void
}

export interface SessionOptions {
  readonly mayTakeLong?: boolean
}

export interface Database extends Executor {
  readonly dialect: Dialect
  /** One attempt at a transaction: commits when `work` returns, rolls back when it throws. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** The answers to several reads, all as of one moment, in one round trip. Locks nothing. */
  snapshot(statements: readonly Sql[]): Promise<Row[][]>
  /**
   * One connection for a while, outside a transaction, for what only a session can do. An answer that does not come in time is taken
   * for a lost connection, unless `mayTakeLong` says that there are statements that do.
   */
  session<T>(work: (executor: Executor) => Promise<T>, options?: SessionOptions): Promise<T>
  /**
   * A transaction in which the application runs statements of its own. Commits when `work` returns; never repeated. Its statements may take
   * long, and what it sets in a server's session concerns nobody else.
   */
  userTransaction<T>(work: (opened: OpenUserTransaction) => Promise<T>): Promise<T>
  /** Wraps a transaction of the application; throws `InvalidArgumentError` for anything else. */
  borrow(handle: unknown): Executor
  /** Word between processes on a channel of that name, where the database has such. */
  hints?(channel: string): Hints
  /** Missing where there is no pool of connections. */
  poolUse?(): PoolUse
  close(): Promise<void>
}

/** How many ids one block holds. */
export const idBlockSize = 100

/** Runs statements in order, without waiting in between where that is possible. */
export async function runAll(executor: Executor, statements: readonly Sql[]): Promise<void> {
  if (executor.pipelines) await Promise.all(statements.map(statement => executor.run(statement)))
  else for (const statement of statements) await executor.run(statement)
}
