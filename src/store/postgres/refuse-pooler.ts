/**
 * A pooler that hands out a connection per transaction gives what one session has set, prepared or listens to to another. It is looked
 * for before anything is left in a session. A busy one may go unseen; then it is known by the statements that it loses.
 */
import type pg from 'pg'
import { PooledConnectionError } from '../../errors.ts'

/** What `pg` has, but does not declare. */
interface WithProcess {
  readonly processID?: number | null
}

/** How often two connections are asked in turn whose they are. */
const rounds = 3

/** Throws `PooledConnectionError` where the server's connection behind `first` is not its own. */
export async function refusePooler(first: pg.ClientBase, connect: () => pg.Client): Promise<void> {
  const own = await serverProcess(first)
  // A pooler makes up the number by which a client may ask for a statement to be canceled.
  if (own === (first as WithProcess).processID) return
  const second = connect()
  second.on('error', () => {})
  try {
    await second.connect()
    for (let round = 0; round < rounds; round++) {
      const isShared = (await serverProcess(second)) === own || (await serverProcess(first)) !== own
      if (isShared) throw new PooledConnectionError()
    }
  } finally {
    await second.end().catch(() => {})
  }
}

async function serverProcess(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query('select pg_backend_pid() as process')
  return Number(rows[0]?.process)
}

/** A statement of that name does not exist, or exists already. */
const mixedUp: ReadonlySet<unknown> = new Set(['26000', '42P05'])

/** The error itself, or what is behind it where the server's connection was somebody else's before. */
export function namePooler(error: unknown): unknown {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  return mixedUp.has(code) && String(message).includes('geneva_') ? new PooledConnectionError({ cause: error }) : error
}
