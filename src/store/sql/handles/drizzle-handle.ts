/**
 * Transactions of Drizzle, whatever driver it runs on. Drizzle asks what it executes for its text and values, so an
 * object that answers is enough.
 */
import type { Candidate, DatabaseKind, Message, Recognized } from './recognized-handle.ts'

interface Query {
  getSQL(): Query
  toQuery(): { sql: string; params: unknown[]; typings: undefined[] }
}

interface Transaction {
  execute(query: Query): PromiseLike<unknown>
  /** SQLite has these two instead; on a synchronous driver they return no promise. */
  all(query: Query): unknown
  run(query: Query): unknown
}

/** Drizzle names its classes by a symbol, which survives minifiers and second copies of the package. */
const entityKind = Symbol.for('drizzle:entityKind')

const transactions: Readonly<Record<string, DatabaseKind | 'other'>> = {
  PgTransaction: 'postgres',
  MySqlTransaction: 'mysql',
  SQLiteTransaction: 'sqlite',
  SingleStoreTransaction: 'other',
}
const roots: Readonly<Record<string, DatabaseKind | 'other'>> = {
  PgDatabase: 'postgres',
  MySqlDatabase: 'mysql',
  BaseSQLiteDatabase: 'sqlite',
  SingleStoreDatabase: 'other',
}

export function drizzleHandle(handle: Candidate): Recognized | null {
  const kinds = entityKinds(handle)
  const kind = find(kinds, transactions)
  if (kind !== undefined) {
    return {
      what: 'a Drizzle transaction',
      kind,
      send: (message, wanted) => send(handle as unknown as Transaction, message, wanted),
    }
  }
  const root = find(kinds, roots)
  if (root === undefined) return null
  return {
    what: 'a Drizzle instance',
    kind: root,
    refusal:
      'instead of one of its transactions. Pass the one that `db.transaction(async transaction => ...)` hands out.',
  }
}

async function send(transaction: Transaction, message: Message, wanted: 'rows' | 'count'): Promise<unknown> {
  const query = queryOf(message)
  if (typeof transaction.execute === 'function') return transaction.execute(query)
  return wanted === 'rows' ? transaction.all(query) : transaction.run(query)
}

function queryOf({ text, values }: Message): Query {
  const query: Query = {
    getSQL: () => query,
    toQuery: () => ({ sql: text, params: [...values], typings: [] }),
  }
  return query
}

/** The kinds of the handle's class and of those that it extends. */
function entityKinds(handle: Candidate): unknown[] {
  const kinds: unknown[] = []
  let type: unknown = handle.constructor
  while (typeof type === 'function' && Object.hasOwn(type, entityKind)) {
    kinds.push((type as unknown as Candidate)[entityKind])
    type = Object.getPrototypeOf(type)
  }
  return kinds
}

function find<T>(kinds: readonly unknown[], known: Readonly<Record<string, T>>): T | undefined {
  const name = kinds.find((kind): kind is string => typeof kind === 'string' && Object.hasOwn(known, kind))
  return name === undefined ? undefined : known[name]
}
