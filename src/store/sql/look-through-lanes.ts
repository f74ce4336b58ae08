/**
 * Finds lanes in which something is due and for which there is room, without reading what stands in the others: from lane to
 * lane by the index, a bounded number at a time, going on behind the last one with the next claim. So one key with a million
 * rows in line costs no more than one with a single row, and none is passed over for ever.
 */

import { parseLog } from '../start-log.ts'
import type { ClaimSource } from '../store.ts'
import { type LaneLine, type Search, standingOf } from './claim-search.ts'
import type { SqlContext } from './context.ts'
import { optionalText, text } from './decode.ts'
import { raw, type Sql, sql } from './sql.ts'

/** How many lanes one claim looks at, for each source. */
const maxLanes = 200

interface Lane {
  readonly source: ClaimSource
  readonly lane: string
  readonly head: number
}

/** Those whose first rows have waited longest, no more than could be taken. */
export async function dueLanes(search: Search, sources: readonly ClaimSource[]): Promise<LaneLine[]> {
  const { request, budget } = search
  const laned = sources.filter(({ handler }) => request.limited.laned.has(handler))
  const found: Lane[] = []
  for (const source of laned) found.push(...(await lookThrough(search, source)))
  await readLogs(search, found)
  return found
    .map(({ source, lane, head }) => {
      const most = budget.freeAt(standingOf(request, { ...source, lane }))
      return { source, lane, head, most }
    })
    .filter(({ most }) => most > 0)
    .toSorted((a, b) => a.head - b.head)
    .slice(0, request.limit)
}

async function lookThrough({ context, executor, request }: Search, source: ClaimSource): Promise<Lane[]> {
  const { lanes } = request.limited
  const place = JSON.stringify([source.queue, source.handler])
  const after = lanes.get(place) ?? ''
  const rows = await executor.query(lanesAfter(context, source, after))
  // Behind the last one it begins again at the first.
  const last = rows.length < maxLanes ? undefined : rows.at(-1)
  if (last === undefined) lanes.delete(place)
  else lanes.set(place, text(last, 'lane'))
  return rows.flatMap(row => {
    const head = optionalText(row, 'head')
    return head === null ? [] : { source, lane: text(row, 'lane'), head: Number(head) }
  })
}

/** Each lane is found by one look into the index for the first behind the one before. */
function lanesAfter(context: SqlContext, { queue, handler }: ClaimSource, from: string): Sql {
  const { active } = context.tables
  const next = (
    than: Sql,
  ) => sql`select min(a.lane) from ${active} a where a.queue = ${queue} and a.handler = ${handler}
    and a.lane > ${than} and a.sort_key is not null`
  return sql`with recursive found (lane, place) as (
      select (${next(sql`${from}`)}) as lane, 1 as place
      union all
      select (${next(raw('h.lane'))}), h.place + 1 from found h where h.lane is not null and h.place < ${maxLanes}
    )
    select h.lane, (select min(a.sort_key) from ${active} a where a.queue = ${queue} and a.handler = ${handler}
      and a.lane = h.lane and a.sort_key <= ${context.now}) as head from found h where h.lane is not null order by h.lane`
}

/** Only classes with a rate per key have logs; others have no rows here. */
async function readLogs({ context, executor, request, budget, logs }: Search, lanes: readonly Lane[]): Promise<void> {
  const keys = lanes
    .map(({ source, lane }) => [request.limited.classes.get(source.handler) ?? '', lane] as const)
    .filter(([className]) => budget.countsStarts(className))
  const unique = [...new Map(keys.map(key => [JSON.stringify(key), key])).values()]
  if (unique.length === 0) return
  const rows = context.rows('r', { columns: { name: 'text', lane: 'text' }, rows: unique })
  const found = await executor.query(
    sql`select l.name, l.lane, l.starts from ${rows} ${context.dialect.keyedJoin} ${context.tables.limits} l
      on ${context.dialect.sameKey('l.lane', 'r.lane')} and l.scope = 'class' and l.name = r.name`,
  )
  for (const row of found) {
    const log = parseLog(optionalText(row, 'starts'))
    logs.note(text(row, 'name'), text(row, 'lane'), log)
    budget.noteLane(text(row, 'name'), text(row, 'lane'), log)
  }
}
