/**
 * Transactions of Kysely. A query that is compiled already goes to the driver as it is; the plugins of the
 * application, which may rename columns, are left out.
 */
import { type Candidate, type DatabaseKind, hasMethods, type Recognized } from './recognized-handle.ts'

interface Transaction {
  readonly isTransaction: boolean
  withoutPlugins(): Transaction
  getExecutor(): { readonly adapter: Adapter }
  executeQuery(query: object): Promise<unknown>
}

interface Adapter {
  readonly supportsReturning?: boolean
  readonly supportsTransactionalDdl?: boolean
  readonly supportsOutput?: boolean
}

export function kyselyHandle(handle: Candidate): Recognized | null {
  if (!hasMethods(handle, 'executeQuery', 'getExecutor', 'withoutPlugins')) return null
  const transaction = handle as unknown as Transaction
  const kind = kindOf(transaction.getExecutor().adapter)
  if (!transaction.isTransaction) {
    return {
      what: 'a Kysely instance',
      kind,
      refusal: 'instead of one of its transactions. Pass the one that `db.transaction().execute(...)` hands out.',
    }
  }
  const plain = transaction.withoutPlugins()
  return {
    what: 'a Kysely transaction',
    kind,
    send: ({ text, values }) => plain.executeQuery(compiledQuery(text, values)),
  }
}

/** What `CompiledQuery.raw` makes. */
function compiledQuery(text: string, values: readonly unknown[]): object {
  const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] }
  return { sql: text, parameters: values, query, queryId: { queryId: 'geneva-drive' } }
}

/** Dialects made by others keep to the capabilities of the built-in ones, whatever they are called. */
function kindOf(adapter: Adapter): DatabaseKind | 'other' {
  if (adapter.supportsOutput) return 'other'
  if (!adapter.supportsReturning) return 'mysql'
  return adapter.supportsTransactionalDdl ? 'postgres' : 'sqlite'
}
