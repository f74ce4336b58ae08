/**
 * Where among the ids a stretch of time lies. Ids are given out in order and used within minutes, so a row of another time
 * cannot be far from its neighbours: a few looks by the key find bounds that leave out no row of the stretch, however large
 * the table is. Rows within the bounds may still be too new or too old.
 */
import type { IdBounds, TimeRange } from '../../view-store.ts'
import type { SqlContext } from '../context.ts'
import { int, optionalText, text } from '../decode.ts'
import { sql } from '../sql.ts'

/** Blocks of ids are used up within ten minutes (`ids.ts`); the rest is for clocks and for transactions that take their time. */
const slackUs = 3_600_000_000
/** Fewer than this are looked through sooner than they are searched. */
const closeEnough = 4000

export async function idBounds(context: SqlContext, range: TimeRange): Promise<IdBounds> {
  const { createdAfter, createdBefore } = range
  const none = { before: null, from: null }
  // A clock that somebody moves says nothing about the order of ids.
  if (context.clockOffset !== 0 || (createdAfter === undefined && createdBefore === undefined)) return none
  const newest = createdBefore === undefined ? null : createdBefore + slackUs
  const oldest = createdAfter === undefined ? null : createdAfter - slackUs
  if (context.keyType === 'uuid')
    return { before: newest === null ? null : uuidAt(newest), from: oldest === null ? null : uuidAt(oldest) }
  const ends = await endsOf(context)
  if (ends === null) return none
  return {
    before: newest === null ? null : (await around(context, ends, newest)).above,
    from: oldest === null ? null : (await around(context, ends, oldest)).below,
  }
}

/** The smallest id of a moment. Times that no id can have are moved to the next that one can. */
function uuidAt(micros: number): string {
  const time = Math.min(Math.max(0, Math.floor(micros / 1000)), 2 ** 48 - 1)
  const digits = time.toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`
}

interface Ends {
  readonly first: number
  readonly last: number
}

async function endsOf(context: SqlContext): Promise<Ends | null> {
  const { workflows } = context.tables
  // Apart, so that each is one look at an end of the key.
  const [row] = await context.read(
    sql`select (select min(f.id) from ${workflows} f) as first, (select max(l.id) from ${workflows} l) as last`,
  )
  const [first, last] = row === undefined ? [] : [optionalText(row, 'first'), optionalText(row, 'last')]
  return first == null || last == null ? null : { first: Number(first), last: Number(last) }
}

/** Every row from `above` on is newer than that time, every row before `below` older; `null`: there is no such bound. */
async function around(
  context: SqlContext,
  { first, last }: Ends,
  time: number,
): Promise<{ above: string | null; below: string | null }> {
  let [low, high] = [first, last + 1]
  while (high - low > closeEnough) {
    const middle = Math.floor((low + high) / 2)
    const [row] = await context.read(
      sql`select w.id, w.created_at from ${context.tables.workflows} w where w.id >= ${middle} order by w.id limit 1`,
    )
    if (row === undefined || int(row, 'created_at') >= time) high = middle
    else low = Math.max(middle, Number(text(row, 'id')))
  }
  return { above: high > last ? null : String(high), below: low === first ? null : String(low) }
}
