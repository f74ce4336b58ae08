/**
 * Which numbers of a sequence are final on PostgreSQL. Whoever inserts into the table holds a lock on it from before it takes
 * a number until its transaction has ended and is seen by everyone. So a number that is missing below one that is seen
 * belongs to a transaction that is among today's holders, or it will never come. Unlike the oldest running transaction of
 * the server, which any long job would hold up, this looks only at those who write here.
 */

import type { NumberWindow, Settlement } from '../event-store.ts'
import { text } from '../sql/decode.ts'
import type { Executor } from '../sql/dialect.ts'
import { type Sql, sql } from '../sql/sql.ts'

/** Waits for nobody, and keeps nobody waiting. */
export async function settleByLocks(session: Executor, table: Sql, window: NumberWindow): Promise<Settlement> {
  const { after, upTo, memory } = window
  const rows = await session.query(
    sql`select distinct virtualtransaction as writer from pg_locks
      where locktype = 'relation' and mode = 'RowExclusiveLock' and granted
        and relation = ${table.parts.join('')}::regclass
        and database = (select oid from pg_database where datname = current_database())`,
  )
  const writers = new Set(rows.map(row => text(row, 'writer')))
  if (writers.size === 0) return { settled: upTo, memory: null }
  if (memory === null) return { settled: after, memory: { upTo, mark: [...writers].join(' ') } }
  const isOpen = memory.mark.split(' ').some(writer => writers.has(writer))
  return isOpen ? { settled: after, memory } : { settled: memory.upTo, memory: null }
}
