/** How long a connection waits for an answer: the application's own statements take as long as they take, whoever sends them on it. */
import type pg from 'pg'

/** What `pg` has, but does not declare. Each connection has its own. */
interface WithReadTimeout {
  readonly connectionParameters: { query_timeout: number | false }
}

/** For what is sent from now on; `null`: for ever. */
export function limitAnswers(client: pg.PoolClient, ms: number | null): void {
  ;(client as unknown as WithReadTimeout).connectionParameters.query_timeout = ms ?? false
}
