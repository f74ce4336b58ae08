/**
 * Lines in which work is due that no live worker has code for, and the event that says so of an execution. However long the
 * lines are, only the entry of each and a bounded stretch of one are read: by the index that claims go by.
 */
import type { NewEvent } from '../change.ts'
import type { LinePlace, LineStretch, UnservedRow, WorkLine } from '../housekeeping-store.ts'
import type { SqlContext } from './context.ts'
import { int, json, optionalText, text } from './decode.ts'
import type { Row, Transaction } from './dialect.ts'
import { runTransaction } from './run-transaction.ts'
import { raw, type Sql, sql } from './sql.ts'
import { insertEvents } from './write-records.ts'

/** How many queues, and handlers in each, one look goes through; and how many lanes of a line. */
const mostValues = 1000
const mostLanes = 20
/** How many rows that are due at the very same time are gone through one by one; the rest of them is passed over. */
const mostAlike = 10_000

const start: LinePlace = { lane: '', key: null, skip: 0 }

/** Looks at rows that are due only: what nobody waits for yet may find its code in time. */
export async function findUnserved(context: SqlContext, prefix: string): Promise<WorkLine[]> {
  const lines = await allLines(context, prefix)
  if (lines.length === 0) return []
  const workers = await context.read(
    sql`select k.handlers from ${context.tables.workers} k
      where k.state = 'alive' and k.lease_until >= ${context.leaseNow}`,
  )
  const served = new Set(workers.flatMap(row => JSON.parse(json(row, 'handlers') ?? '[]') as string[]))
  const found: WorkLine[] = []
  for (const line of lines) {
    if (!served.has(line.handler) && (await isDueIn(context, line))) found.push(line)
  }
  return found
}

/** The plain lane first, whose head tells; where there are others, whether there is anything due in one of them. */
async function isDueIn(context: SqlContext, line: WorkLine): Promise<boolean> {
  if ((await context.read(selectDue(context, line, start, 1))).length > 0) return true
  const rows = await context.read(
    sql`select a.id from ${context.tables.active} a where a.queue = ${line.queue} and a.handler = ${line.handler}
      and a.lane > '' and a.sort_key <= ${context.now} and a.due_at <= ${context.now} limit 1`,
  )
  return rows.length > 0
}

/** Queues in which rows of the handlers stand in line. */
export async function queuesInLine(context: SqlContext, handlers: readonly string[]): Promise<string[]> {
  const wanted = new Set(handlers)
  const lines = wanted.size === 0 ? [] : await allLines(context, '')
  return [...new Set(lines.filter(({ handler }) => wanted.has(handler)).map(({ queue }) => queue))]
}

/** Every queue and handler that rows wait in, due or not. What stands in a line is not read. */
async function allLines(context: SqlContext, prefix: string): Promise<WorkLine[]> {
  const within = sql`a.handler >= ${prefix} and a.handler < ${`${prefix}\u{10ffff}`}`
  if (context.dialect.leapsInIndex) {
    const rows = await context.read(
      sql`select distinct a.queue, a.handler from ${context.tables.active} a where ${within}`,
    )
    return rows.map(row => ({ queue: text(row, 'queue'), handler: text(row, 'handler') }))
  }
  const lines: WorkLine[] = []
  for (const queue of await leapThrough(context, 'queue', raw('1 = 1'))) {
    const handlers = await leapThrough(context, 'handler', sql`a.queue = ${queue} and ${within}`)
    lines.push(...handlers.map(handler => ({ queue, handler })))
  }
  return lines
}

/** The values of a column of the index, each found by one look for the first behind the one before. */
async function leapThrough(context: SqlContext, column: 'queue' | 'handler', among: Sql): Promise<string[]> {
  const name = raw(column)
  const first = (condition: Sql) => sql`(select a.${name} from ${context.tables.active} a
      where ${among} and ${condition} and a.sort_key is not null order by a.${name} limit 1)`
  const rows = await context.read(
    sql`with recursive found (value, place) as (
        select ${first(sql`a.${name} >= ''`)} as value, 1 as place
        union all
        select ${first(sql`a.${name} > h.value`)}, h.place + 1 from found h
          where h.value is not null and h.place < ${mostValues}
      )
      select h.value from found h where h.value is not null`,
  )
  return rows.map(row => text(row, 'value'))
}

/** Due rows from a place on, lane by lane. */
export async function readLine(
  context: SqlContext,
  line: WorkLine,
  { from, limit }: { readonly from: LinePlace | null; readonly limit: number },
): Promise<LineStretch> {
  const rows: UnservedRow[] = []
  let place: LinePlace | null = from ?? start
  for (let lanes = 0; place !== null && lanes < mostLanes; lanes++) {
    const left = limit - rows.length
    const found: Row[] = await context.read(selectDue(context, line, place, left))
    rows.push(...found.map(unservedRow))
    if (found.length === left) return { rows, next: placeBehind(place, found) }
    place = await nextLane(context, line, place.lane)
  }
  return { rows, next: place }
}

function selectDue(context: SqlContext, line: WorkLine, { lane, key, skip }: LinePlace, limit: number): Sql {
  const from = key === null ? raw('') : sql` and a.sort_key >= ${key}`
  return sql`select a.workflow_id, a.slot, a.id, a.sort_key from ${context.tables.active} a
    where a.queue = ${line.queue} and a.handler = ${line.handler} and a.lane = ${lane}
      and a.sort_key <= ${context.now}${from} and a.due_at <= ${context.now}
    order by a.sort_key limit ${limit} offset ${skip}`
}

function unservedRow(row: Row): UnservedRow {
  return { workflowId: text(row, 'workflow_id'), slot: text(row, 'slot'), executionId: text(row, 'id') }
}

/** Rows of one key come in no order but that of the index, so they are counted. */
function placeBehind({ lane, key: before, skip }: LinePlace, found: readonly Row[]): LinePlace {
  const keys = found.map(row => int(row, 'sort_key'))
  const key = keys.at(-1) ?? 0
  const alike = keys.filter(each => each === key).length + (key === before ? skip : 0)
  return alike > mostAlike ? { lane, key: key + 1, skip: 0 } : { lane, key, skip: alike }
}

async function nextLane(context: SqlContext, { queue, handler }: WorkLine, after: string): Promise<LinePlace | null> {
  const [row] = await context.read(
    sql`select a.lane from ${context.tables.active} a where a.queue = ${queue} and a.handler = ${handler}
      and a.lane > ${after} and a.sort_key is not null order by a.lane limit 1`,
  )
  return row === undefined ? null : { lane: text(row, 'lane'), key: null, skip: 0 }
}

/**
 * Writes `step.unserved` for those that still wait and have none yet, under the lock of their workflows: whoever comes second
 * sees what the first has written. What others hold is left for later. Answers which executions have the event now.
 */
export async function noteUnserved(context: SqlContext, rows: readonly UnservedRow[]): Promise<ReadonlySet<string>> {
  if (rows.length === 0) return new Set()
  const { told, written, at } = await runTransaction(context.database, async transaction => {
    const types = await lockWorkflows(context, transaction, rows)
    const mine = rows.filter(row => types.has(row.workflowId))
    if (mine.length === 0) return { told: new Set<string>(), written: [], at: 0 }
    const waiting = await lockWaiting(context, transaction, mine)
    const told = await alreadyTold(context, transaction, [...types.keys()])
    const fresh = waiting.filter(row => !told.has(text(row, 'id')))
    const written = fresh.map(row => ({
      event: eventOf(row),
      workflowType: types.get(text(row, 'workflow_id')) ?? '',
    }))
    if (fresh.length > 0) {
      await transaction.commitWith([
        insertEvents(
          context,
          written.map(({ event }) => event),
        ),
      ])
    }
    return { told, written, at: fresh[0] ? int(fresh[0], 'now') : 0 }
  })
  context.tell(() => written.map(each => ({ ...each, at })))
  return new Set([...told, ...written.map(({ event }) => event.executionId ?? '')])
}

/** Their types, by id. */
async function lockWorkflows(
  context: SqlContext,
  transaction: Transaction,
  rows: readonly UnservedRow[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(rows.map(row => row.workflowId))]
  const locked = await transaction.query(
    sql`select a.id, a.type from ${context.tables.workflows} a where ${context.among(raw('a.id'), ids)}
      order by a.id${context.dialect.lockSkipping}`,
  )
  return new Map(locked.map(row => [text(row, 'id'), text(row, 'type')]))
}

/** Those that nobody has claimed meanwhile, nor claims before this is over. */
function lockWaiting(context: SqlContext, transaction: Transaction, rows: readonly UnservedRow[]): Promise<Row[]> {
  const set = context.rows('r', {
    columns: { workflow_id: 'id', slot: 'text', id: 'id' },
    rows: rows.map(row => [row.workflowId, row.slot, row.executionId]),
  })
  return transaction.query(
    sql`select a.workflow_id, a.id, a.node, a.node_name, a.attempt, a.queue, a.handler, ${context.now} as now from ${set}
      ${context.dialect.keyedJoin} ${context.tables.active} a${context.dialect.byKey} on ${context.sameRow}
      where case when a.sort_key is not null then a.id end = r.id${context.dialect.lockSkipping}`,
  )
}

async function alreadyTold(
  context: SqlContext,
  transaction: Transaction,
  workflowIds: readonly string[],
): Promise<Set<string>> {
  const rows = await transaction.query(
    sql`select v.execution_id from ${context.tables.events} v
      where ${context.among(raw('v.workflow_id'), workflowIds)} and v.type = 'step.unserved'`,
  )
  return new Set(rows.map(row => text(row, 'execution_id')))
}

function eventOf(row: Row): NewEvent {
  return {
    workflowId: text(row, 'workflow_id'),
    type: 'step.unserved',
    executionId: text(row, 'id'),
    node: text(row, 'node'),
    nodeName: optionalText(row, 'node_name'),
    attempt: int(row, 'attempt'),
    reason: `no live worker has its code: ${text(row, 'handler')}, queue ${text(row, 'queue')}`,
  }
}
