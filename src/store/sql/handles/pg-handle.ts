/**
 * Clients of `pg`, from a pool or not. A pool is refused: it would spread a transaction over its connections.
 */
import { type Candidate, hasMethods, type Recognized } from './recognized-handle.ts'

interface Client {
  query(config: { text: string; values: readonly unknown[] }): Promise<unknown>
  /** `I`: no transaction. `E`: one that has failed. Not in older versions. */
  getTransactionStatus?(): string | null
  /** False while statements are on their way, which may change the status. */
  readonly readyForQuery?: boolean
  readonly _ending?: boolean
  readonly _queryable?: boolean
}

export function pgHandle(handle: Candidate): Recognized | null {
  const kind = 'postgres'
  if (hasMethods(handle, 'query', 'escapeLiteral')) {
    const client = handle as unknown as Client
    const what = 'a pg client'
    const refusal = refusalOf(client)
    if (refusal !== null) return { what, kind, refusal }
    return { what, kind, send: ({ text, values }) => client.query({ text, values }) }
  }
  if (!hasMethods(handle, 'query', 'connect') || typeof handle.totalCount !== 'number') return null
  return {
    what: 'a pg pool',
    kind,
    refusal: 'that runs each statement on any of its connections. Pass the client that the transaction was begun on.',
  }
}

function refusalOf(client: Client): string | null {
  if (client._ending === true || client._queryable === false) return 'that is closed.'
  if (client.readyForQuery === false) return null
  const status = client.getTransactionStatus?.()
  if (status === 'I') return 'on which no transaction is open. Run BEGIN before and COMMIT after.'
  return status === 'E' ? 'whose transaction has failed already. Roll it back.' : null
}
