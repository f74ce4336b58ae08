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
import type { Row } from './dialect.ts'
import { raw, type Sql, sql } from './sql.ts'
import { headOf } from './take-claimed.ts'

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
  for (const source of laned) found.push(...(await lanesIn(search, source)))
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

async function lanesIn(search: Search, source: ClaimSource): Promise<Lane[]> {
  const { workflowId } = search.request
  const rows = workflowId === undefined ? await lookThrough(search, source) : await lanesOf(search, source, workflowId)
  return rows.flatMap(row => {
    const head = optionalText(row, 'head')
    return head === null ? [] : { source, lane: text(row, 'lane'), head: Number(head) }
  })
}

async function lookThrough(search: Search, source: ClaimSource): Promise<readonly Row[]> {
  const rows = await search.executor.query(lanesAfter(search, source, search.request.limited.lanes.after(source)))
  // Behind the last one it begins again at the first.
  const last = rows.length < maxLanes ? undefined : rows.at(-1)
  search.cameTo.set(source, last === undefined ? null : text(last, 'lane'))
  return rows
}

/** The rows of one workflow are found by its id, whatever stands in other lanes. */
function lanesOf({ context, executor }: Search, { queue, handler }: ClaimSource, workflowId: string) {
  const { tables, now } = context
  return executor.query(
    sql`select a.lane, min(a.sort_key) as head from ${tables.active} a where a.workflow_id = ${context.id(workflowId)}
      and a.queue = ${queue} and a.handler = ${handler} and a.lane > '' and a.sort_key <= ${now} and a.due_at <= ${now}
      group by a.lane`,
  )
}

/** The head of a lane is the first row that this claim could take: what waits, however early it stands in line, is no work. */
function lanesAfter({ context, request }: Search, source: ClaimSource, after: string): Sql {
  const head = headOf(context, request, { source, lane: raw('h.lane') })
  return lanesBehind(context, source, { after, most: maxLanes, head })
}

/**
 * Each lane is found by one look into the index for the first behind the one before. `head` is asked for each of them, which
 * it knows as `h.lane`.
 */
export function lanesBehind(
  context: SqlContext,
  { queue, handler }: Pick<ClaimSource, 'queue' | 'handler'>,
  { after, most, head }: { readonly after: string; readonly most: number; readonly head: Sql },
): Sql {
  const { active } = context.tables
  const next = (
    than: Sql,
  ) => sql`select min(a.lane) from ${active} a where a.queue = ${queue} and a.handler = ${handler}
    and a.lane > ${than} and a.sort_key is not null`
  return sql`with recursive found (lane, place) as (
      select (${next(sql`${after}`)}) as lane, 1 as place
      union all
      select (${next(raw('h.lane'))}), h.place + 1 from found h where h.lane is not null and h.place < ${most}
    )
    select h.lane, (${head}) as head from found h where h.lane is not null order by h.lane`
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
