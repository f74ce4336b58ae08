/**
 * Transactions of Knex. It numbers placeholders by itself, so they are all question marks, and a question mark in the
 * text is escaped. The answer is taken from the driver, before the application's own post-processing.
 */
import { type Rendered, render, Sql } from '../sql.ts'
import { type Candidate, type DatabaseKind, hasMethods, type Message, type Recognized } from './recognized-handle.ts'

interface Transaction {
  readonly isTransaction?: boolean
  isCompleted?(): boolean
  readonly client: { readonly driverName?: string }
  raw(text: string, bindings: readonly unknown[]): RawQuery
}

interface RawQuery extends PromiseLike<unknown> {
  on(event: 'query-response', listener: (processed: unknown, query: { response?: unknown }) => void): RawQuery
}

const kinds: Readonly<Record<string, DatabaseKind>> = {
  pg: 'postgres',
  pgnative: 'postgres',
  mysql: 'mysql',
  mysql2: 'mysql',
  mariadb: 'mysql',
  sqlite3: 'sqlite',
  'better-sqlite3': 'sqlite',
}

export function knexHandle(handle: Candidate): Recognized | null {
  if (!hasMethods(handle, 'raw', 'transaction', 'batchInsert') || typeof handle.client !== 'object') return null
  const transaction = handle as unknown as Transaction
  const kind = kinds[transaction.client.driverName ?? ''] ?? 'other'
  if (transaction.isTransaction !== true) {
    return {
      what: 'a Knex instance',
      kind,
      refusal: 'instead of one of its transactions. Pass the one that `knex.transaction(async trx => ...)` hands out.',
    }
  }
  const what = 'a Knex transaction'
  if (transaction.isCompleted?.()) return { what, kind, refusal: 'that has ended.' }
  return { what, kind, render: withQuestionMarks, send: message => send(transaction, message) }
}

async function send(transaction: Transaction, { text, values }: Message): Promise<unknown> {
  let answer: unknown
  const query = transaction.raw(text, values).on('query-response', (_processed, { response }) => {
    answer = response
  })
  const processed = await query
  return answer ?? processed
}

function withQuestionMarks(statement: Sql): Rendered {
  const parts = statement.parts.map(part => part.replaceAll('?', '\\?'))
  return render(new Sql(parts, statement.values), () => '?')
}
