/**
 * Which numbers of an auto-increment column are final on MySQL and MariaDB. A dirty read shows rows that are not committed;
 * what it does not show was never used or was rolled back, since our inserts keep the counter locked until all rows of the
 * statement are there. Where the server does not do so, a number also has to be missing for a while.
 */

import type { NumberWindow, Settlement } from '../event-store.ts'
import { int, text } from '../sql/decode.ts'
import type { Executor } from '../sql/dialect.ts'
import { raw, type Sql, sql } from '../sql/sql.ts'

/** Interleaved: a statement takes numbers in portions, and others may overtake it. */
const interleaved = 2
/** Far longer than a statement takes from its numbers to its rows. */
const graceMicros = 5_000_000

export async function settleByDirtyRead(session: Executor, table: Sql, window: NumberWindow): Promise<Settlement> {
  const [server] = await session.query(
    raw(`select @@innodb_autoinc_lock_mode as mode, timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) as now`),
  )
  if (server === undefined || int(server, 'mode') !== interleaved) {
    return { settled: await firstOpen(session, table, window), memory: null }
  }
  const memory = window.memory ?? { upTo: window.upTo, mark: text(server, 'now') }
  if (int(server, 'now') - Number(memory.mark) < graceMicros) return { settled: window.after, memory }
  return { settled: await firstOpen(session, table, { ...window, upTo: memory.upTo }), memory: null }
}

/** The dirty read comes first: what is committed between the two is in both. */
async function firstOpen(session: Executor, table: Sql, { after, upTo }: NumberWindow): Promise<number> {
  const select = sql`select t.id from ${table} t where t.id > ${after} and t.id <= ${upTo} order by t.id`
  await session.run(raw('set transaction isolation level read uncommitted'))
  const all = await session.query(select)
  const committed = new Set((await session.query(select)).map(row => int(row, 'id')))
  const open = all.map(row => int(row, 'id')).find(id => !committed.has(id))
  return open === undefined ? upTo : open - 1
}
