/**
 * Claiming under limits. The rows of the limits are locked first, so that claims under the same limit come one after the
 * other; then it is counted what runs, and no more is taken than there is room for. A claim that another one holds up is
 * short; finishing never waits for it. What runs is counted, not kept in a counter: a row that is taken over from a dead
 * worker gives its place back by that alone.
 */
import type { ClaimedExecution } from '../records.ts'
import { parseLog } from '../start-log.ts'
import type { ClaimLimits, ClaimRequest, ClaimSource } from '../store.ts'
import { ClaimBudget, type Standing } from './claim-budget.ts'
import { LaneLogs, type LimitedRequest, type Search, standingOf } from './claim-search.ts'
import type { SqlContext } from './context.ts'
import { int, optionalText, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { limitRecord, writeStarts } from './limit-rows.ts'
import { dueLanes } from './look-through-lanes.ts'
import { runTransaction } from './run-transaction.ts'
import { join, oneOf, raw, type Sql, sql } from './sql.ts'
import { claimTries, lockedColumns, lookInOrder, mayClaim, probe, stillInLine, takeLocked } from './take-claimed.ts'
import { aliveUnder } from './workers.ts'

export async function claimLimited(context: SqlContext, asked: LimitedRequest): Promise<ClaimedExecution[]> {
  // An idle worker looks often; it need not lock anything for that.
  const sources = await dueSources(context, asked)
  if (sources.length === 0) return []
  const request = { ...asked, sources }
  const cameTo = new Map<ClaimSource, string | null>()
  const claimed = await runTransaction(
    context.database,
    async transaction => {
      cameTo.clear()
      const [, revision, locked, running, clock] = await Promise.all([
        lookInOrder(context, transaction),
        aliveUnder(context, transaction, request.workerId),
        transaction.query(lockLimits(context, request.limited)),
        transaction.query(countRunning(context, request)),
        transaction.query(sql`select ${context.now} as now`),
      ])
      if (!mayClaim(request, revision)) return []
      const limits = locked.map(row => ({ ...limitRecord(row), log: parseLog(optionalText(row, 'starts')) }))
      const now = clock[0] ? int(clock[0], 'now') : 0
      const budget = new ClaimBudget({ now, limits, running: running.map(row => runningAt(request, row)) })
      const logs = new LaneLogs()
      const candidates = await findCandidates({ context, executor: transaction, request, budget, logs, cameTo })
      const chosen = choose(request, candidates, budget)
      if (chosen.length === 0) return []
      const rows = await transaction.query(lockChosen(context, chosen))
      if (rows.length === 0) return []
      const also = (claimed: readonly ClaimedExecution[], at: number) =>
        writeStarts(context, {
          limits,
          logs,
          at,
          started: claimed.map(({ execution }) => standingOf(request, execution)),
        })
      return takeLocked(context, transaction, { request, rows, revision, also })
    },
    claimTries(request),
  )
  for (const [source, lane] of cameTo) request.limited.lanes.cameTo(source, lane)
  return claimed
}

interface Candidate extends Standing {
  readonly key: Row
  readonly sortKey: number
}

function runningAt(request: LimitedRequest, row: Row): Standing & { readonly count: number } {
  const where = { queue: text(row, 'queue'), handler: text(row, 'handler'), lane: text(row, 'lane') }
  return { ...standingOf(request, where), count: int(row, 'running') }
}

/** Where something may be due: a look at the head of each line, or whether anything stands in a lane. */
async function dueSources(context: SqlContext, request: LimitedRequest): Promise<ClaimSource[]> {
  const { active } = context.tables
  const probes = request.sources.flatMap((source, index) => {
    const { queue, handler } = source
    const plain = sql`select x.id from (${probe(context, { ...request, limit: 1 }, { source })}) x`
    const laned = sql`select a.id from ${active} a where a.queue = ${queue} and a.handler = ${handler} and a.lane > ''
      and a.sort_key is not null order by a.lane, a.sort_key limit 1`
    const looks = request.limited.laned.has(handler) ? [plain, laned] : [plain]
    return looks.map((look, line) => sql`select ${index} as source from (${look}) ${raw(`s${index}_${line}`)}`)
  })
  const found = await context.read(join(probes, ' union all '))
  return [...new Set(found.map(row => int(row, 'source')))].flatMap(index => request.sources[index] ?? [])
}

/** By key, and in one order, so that two claims cannot wait for each other and nobody waits for a limit that is not his. */
function lockLimits(context: SqlContext, { keys }: ClaimLimits): Sql {
  const sorted = keys.map(({ scope, name }) => [scope, name] as const).toSorted((a, b) => compare(a, b))
  const rows = context.rows('r', { columns: { scope: 'text', name: 'text' }, rows: sorted })
  return sql`select l.* from ${rows} ${context.dialect.keyedJoin} ${context.tables.limits} l
    on l.lane = '' and l.scope = r.scope and l.name = r.name order by l.scope, l.name${context.dialect.lock}`
}

function compare(a: readonly string[], b: readonly string[]): number {
  const [one, other] = [JSON.stringify(a), JSON.stringify(b)]
  return one < other ? -1 : 1
}

/** What runs is little, however much waits. */
function countRunning(context: SqlContext, { limited, sources }: LimitedRequest): Sql {
  const queues = sources.map(({ queue }) => queue)
  const handlers = [...limited.classes.keys(), ...sources.map(({ handler }) => handler)]
  return sql`select a.queue, a.handler, a.lane, count(*) as running from ${context.tables.active} a
    where a.owner is not null and (${oneOf(raw('a.queue'), queues)} or ${oneOf(raw('a.handler'), handlers)})
    group by a.queue, a.handler, a.lane`
}

/** The first rows of every line in which there is room. */
async function findCandidates(search: Search): Promise<Candidate[]> {
  const { request, budget } = search
  const open = request.sources.filter(source => budget.freeAt(standingOf(request, { ...source, lane: '' })) > 0)
  const lines = [...open.map(source => ({ source, lane: '', most: request.limit })), ...(await dueLanes(search, open))]
  if (lines.length === 0) return []
  const probes = lines.map(({ source, lane, most }, index) => {
    const limit = Math.min(most, request.limit)
    return sql`select x.*, ${index} as line from (${probe(search.context, { ...request, limit }, { source, lane })}) x`
  })
  const rows = await search.executor.query(
    join(
      probes.map((one, index) => sql`select * from (${one}) ${raw(`q${index}`)}`),
      ' union all ',
    ),
  )
  return rows.flatMap(row => {
    const line = lines[int(row, 'line')]
    if (line === undefined) return []
    const { queue, handler } = line.source
    return { ...standingOf(request, { queue, handler, lane: line.lane }), key: row, sortKey: int(row, 'sort_key') }
  })
}

/** In the order in which they stand in line, as far as there is room. */
function choose({ limit }: ClaimRequest, candidates: readonly Candidate[], budget: ClaimBudget): Row[] {
  const chosen: Row[] = []
  for (const candidate of candidates.toSorted((a, b) => a.sortKey - b.sortKey)) {
    if (chosen.length >= limit) break
    if (budget.spend(candidate)) chosen.push(candidate.key)
  }
  return chosen
}

function lockChosen(context: SqlContext, chosen: readonly Row[]): Sql {
  const rows = context.rows('r', {
    columns: { workflow_id: 'id', slot: 'text', id: 'id', fence: 'int' },
    rows: chosen.map(row => [text(row, 'workflow_id'), text(row, 'slot'), text(row, 'id'), int(row, 'fence')]),
  })
  return sql`select ${lockedColumns} from ${rows}
    ${context.dialect.keyedJoin} ${context.tables.active} a${context.dialect.byKey} on ${context.sameRow}
    where a.id = r.id and ${stillInLine('r.fence')}${context.dialect.lockSkipping}`
}
