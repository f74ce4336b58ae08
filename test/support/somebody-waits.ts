/** Whether somebody waits for a lock, as the server tells it. */
import type { DatabaseName } from './databases.ts'
import type { PlainConnection } from './plain-sql.ts'
import { waitFor } from './wait-for.ts'

/** In the database of the connection that asks. */
const waits: Readonly<Record<Exclude<DatabaseName, 'sqlite'>, string>> = {
  postgres: `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
  // What InnoDB tells of its transactions is renewed only when nobody has asked for a while.
  mysql: `select 1 from information_schema.processlist
    where db = database() and command in ('Query', 'Execute') and id <> connection_id() and time_ms > 100`,
}

/** Resolves when somebody waits for a lock in the database of `watcher`. In a file nobody does: there is one writer at a time. */
export async function somebodyWaits(name: DatabaseName, watcher: Pick<PlainConnection, 'query'>): Promise<void> {
  if (name === 'sqlite') throw new Error('Nobody waits for a row of a file.')
  await waitFor(async () => (await watcher.query(waits[name])).length > 0)
}
