/**
 * Clients of `pg`, from a pool or not. A pool is refused: it would spread a transaction over its connections.
 */
import { type Candidate, hasMethods, type Message, type Recognized } from './recognized-handle.ts'

interface Client {
  query(config: { text: string; values: readonly unknown[] }): Promise<unknown>
  /** `I`: no transaction. `E`: one that has failed. Missing before version 8.17. */
  getTransactionStatus?(): string | null
  /** False while statements are on their way, which may change the status. */
  readonly readyForQuery?: boolean
  readonly _ending?: boolean
  readonly _queryable?: boolean
}

export function pgHandle(handle: Candidate): Recognized | null {
  if (hasMethods(handle, 'query', 'escapeLiteral')) {
    const client = handle as unknown as Client
    return { what: 'a pg client', kind: 'postgres', refusal: refusalOf(client), send: message => send(client, message) }
  }
  if (hasMethods(handle, 'query', 'connect') && typeof handle.totalCount === 'number') {
    return {
      what: 'a pg pool',
      kind: 'postgres',
      refusal: 'that runs each statement on any of its connections. Pass the client that the transaction was begun on.',
      send: () => Promise.reject(new Error('A pool is not used.')),
    }
  }
  return null
}

function refusalOf(client: Client): string | undefined {
  if (client._ending === true || client._queryable === false) return 'that is closed.'
  if (client.readyForQuery === false) return undefined
  const status = client.getTransactionStatus?.()
  if (status === 'I') return 'on which no transaction is open. Run BEGIN first, and COMMIT afterwards.'
  if (status === 'E') return 'whose transaction has failed already. Roll it back.'
  return undefined
}

function send(client: Client, { text, values }: Message): Promise<unknown> {
  return client.query({ text, values })
}
