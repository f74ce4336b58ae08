/**
 * Connections of `mysql2`, with promises or callbacks, from a pool or not. Values travel apart from the text, because
 * the quoting of the driver is wrong under some settings of a session, and that session is the application's.
 */
import { InvalidArgumentError } from '../../../errors.ts'
import { type Candidate, hasMethods, type Message, type Recognized } from './recognized-handle.ts'

interface PromiseConnection {
  query(text: string): Promise<unknown>
  execute(text: string, values: readonly unknown[]): Promise<unknown>
}

interface Connection {
  promise(): PromiseConnection
  readonly _closing?: boolean
  readonly _fatalError?: unknown
  /** Set on the connection of a pool. */
  readonly _released?: boolean
}

export function mysql2Handle(handle: Candidate): Recognized | null {
  if (!hasMethods(handle, 'query', 'execute')) return null
  const kind = 'mysql'
  if (hasMethods(handle, 'getConnection')) {
    return {
      what: 'a mysql2 pool',
      kind,
      refusal: 'that runs each statement on any of its connections. Pass the one that the transaction was begun on.',
    }
  }
  if (!hasMethods(handle, 'unprepare')) return null
  const connection = (hasMethods(handle, 'promise') ? handle : handle.connection) as Connection
  const what = 'a mysql2 connection'
  if (connection._released === true) return { what, kind, refusal: 'that was given back to its pool.' }
  if (connection._closing === true || connection._fatalError) return { what, kind, refusal: 'that is closed.' }
  const promises = connection.promise()
  return { what, kind, send: message => send(promises, message) }
}

async function send(connection: PromiseConnection, { text, values }: Message): Promise<unknown> {
  // Savepoints cannot be prepared. Numbers would travel as doubles, which LIMIT refuses.
  const answer = await (values.length === 0
    ? connection.query(text)
    : connection.execute(
        text,
        values.map(value => (value === null ? null : String(value))),
      ))
  refuseAutocommit(answer)
  return answer
}

const inTransaction = 1
const autocommit = 2

/** The answer to a write tells whether a transaction is open. Without one, each statement would be final by itself. */
function refuseAutocommit(answer: unknown): void {
  const { serverStatus } = (answer as readonly { serverStatus?: number }[])[0] ?? {}
  if (serverStatus === undefined || (serverStatus & (inTransaction | autocommit)) !== autocommit) return
  throw new InvalidArgumentError(
    'The `transaction` option holds a mysql2 connection on which no transaction is open. Call `beginTransaction()` before and `commit()` after.',
  )
}
