/**
 * What a rollback goes by: what a workflow has done, in the order in which it was recorded, and the compensations that were
 * tried. The order is that of events, because rows of one commit share a time and clocks may step back.
 */
import type { TriedUndo, UndoFacts, UndoRow } from '../change.ts'
import type { EndedState } from '../records.ts'
import type { UndoAgain, UndoStretch } from '../store.ts'
import type { SqlContext } from './context.ts'
import { ancestry, int, json, optionalInt, optionalText, text } from './decode.ts'
import type { Executor, Row } from './dialect.ts'
import { grouped } from './lock-facts.ts'
import { raw, type Sql, sql } from './sql.ts'

/** How many events the first look of a step goes back. Each further look goes so many times further. */
const firstLook = 16
const growth = 16
/** One that would go further looks at everything instead. */
const furthestLook = 4096

/** Of each workflow all that it has done, or what its rollback goes on with. */
export async function undoFacts(
  context: SqlContext,
  executor: Executor,
  asked: ReadonlyMap<string, true | UndoStretch | UndoAgain>,
): Promise<Map<string, UndoFacts>> {
  const found = new Map<string, UndoFacts>()
  for (const [id, stretch] of asked) {
    if (stretch === true) continue
    const read =
      'of' in stretch ? factsOfAgain(context, executor, id, stretch) : factsOfStretch(context, executor, id, stretch)
    const facts = await read
    if (facts !== null) found.set(id, facts)
  }
  const rest = [...asked.keys()].filter(id => !found.has(id))
  for (const [id, facts] of await allFacts(context, executor, rest)) found.set(id, facts)
  return found
}

async function allFacts(
  context: SqlContext,
  executor: Executor,
  ids: readonly string[],
): Promise<Map<string, UndoFacts>> {
  if (ids.length === 0) return new Map()
  const [ended, seen] = await Promise.all([
    executor.query(selectEnded(context, ids)),
    executor.query(selectEnds(context, ids)),
  ])
  const place = new Map(seen.map(row => [text(row, 'execution_id'), int(row, 'id')]))
  const rowsOf = grouped(ended, row => row)
  return new Map(ids.map(id => [id, factsFrom(rowsOf.get(id) ?? [], place)]))
}

function newestFirst(a: UndoRow, b: UndoRow): number {
  return (b.place ?? -1) - (a.place ?? -1)
}

function factsFrom(ended: readonly Row[], place: ReadonlyMap<string, number>): UndoFacts {
  const rows = ended.filter(isForward).map(row => ({ ...undoRow(row), place: place.get(text(row, 'id')) ?? null }))
  return { rows: rows.toSorted(newestFirst), others: [], tried: triedIn(ended), isWhole: true }
}

/** `null`: nobody is left to be called, or the next one is far away. */
async function factsOfStretch(
  context: SqlContext,
  executor: Executor,
  workflowId: string,
  { undone, below, isEnough, namesOf }: UndoStretch,
): Promise<UndoFacts | null> {
  const rows = new Map<string, UndoRow>()
  let from = below
  for (let count = firstLook; count <= furthestLook; count *= growth) {
    const [standing, seen] = await Promise.all([
      rows.size > 0 ? [] : executor.query(selectUndone(context, undone)),
      executor.query(selectStretch(context, workflowId, { from, count })),
    ])
    const ended = seen
      .filter(row => row.id !== null)
      .map(undoRow)
      .toSorted(newestFirst)
    for (const row of [...standing.map(undoRow), ...ended]) if (!rows.has(row.id)) rows.set(row.id, row)
    const nodes = new Set([...rows.values()].flatMap(row => namesOf(row.node)))
    const attempts = nodes.size === 0 ? [] : await executor.query(selectAttempts(context, workflowId, nodes))
    const others = attempts.filter(row => isForward(row) && !rows.has(text(row, 'id'))).map(undoRow)
    const facts = { rows: [...rows.values()], others, tried: triedIn(attempts), isWhole: false }
    if (isEnough(facts)) return facts
    if (seen.length < count) break
    from = Math.min(...seen.map(row => int(row, 'place')))
  }
  return null
}

async function factsOfAgain(
  context: SqlContext,
  executor: Executor,
  workflowId: string,
  { of, waiting }: UndoAgain,
): Promise<UndoFacts> {
  const [named, others] = await Promise.all([
    of.length === 0 ? [] : executor.query(selectNamed(context, of)),
    waiting === 0 ? [] : executor.query(selectWaiting(context, workflowId, { but: of, count: waiting })),
  ])
  const nodes = new Set([...named, ...others].map(row => text(row, 'node')))
  const attempts = nodes.size === 0 ? [] : await executor.query(selectAttempts(context, workflowId, nodes))
  const rows = attempts.filter(isForward).map(undoRow)
  return { rows, others: [], tried: triedIn(attempts), isWhole: false }
}

const hasActed = '(e.error_class is not null or e.cursor_value is not null or e.completed_iterations > 0)'

/** What others have worked on says nothing to a rollback, and that of items may be much. */
const tellsMore =
  "(e.kind = 'forward' and e.state in ('skipped', 'canceled') and e.node not like '%/%' and e.input is not null)"

const undoColumns = raw(
  `e.workflow_id, e.id, e.node, e.node_name, e.kind, e.attempt, e.ordinal, e.state, e.outcome, e.reason, e.started_at, e.ended_at, e.ancestry_hash, e.parents,
    case when ${hasActed} then 1 else 0 end as has_acted, case when ${tellsMore} then e.input end as input`,
)

/** What may have to be undone, by far not all of which has to be. */
const mayBeUndone = raw(
  `(e.state = 'completed' or (e.state in ('failed', 'skipped', 'canceled') and (e.started_at is not null or ${hasActed} or ${tellsMore})))`,
)

function selectEnded(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select ${undoColumns} from ${context.tables.history} e
    where ${context.among(raw('e.workflow_id'), ids)} and e.kind in ('forward', 'compensate')`
}

const endTypes = raw(`'step.completed', 'step.failed', 'step.skipped', 'step.canceled'`)

function selectEnds(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select v.id, v.execution_id from ${context.tables.events} v
    where ${context.among(raw('v.workflow_id'), ids)} and v.type in (${endTypes}) and v.execution_id is not null order by v.id`
}

function selectUndone(context: SqlContext, id: string): Sql {
  return sql`select ${undoColumns}, null as place from ${context.tables.history} e where e.id = ${context.id(id)}`
}

function selectNamed(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select e.node from ${context.tables.history} e where ${context.among(raw('e.id'), ids)}`
}

/** In whatever order they are found: one that sorted them would look at all of them each time. */
function selectWaiting(
  context: SqlContext,
  workflowId: string,
  { but, count }: { readonly but: readonly string[]; readonly count: number },
): Sql {
  const others = but.length === 0 ? raw('') : sql` and not (${context.among(raw('e.id'), but)})`
  return sql`select e.node from ${context.tables.history} e
    where e.workflow_id = ${context.id(workflowId)} and e.kind = 'forward' and e.state = 'compensating'${others} limit ${count}`
}

/**
 * So many events back from one, each with what it has ended, unless that is undone already or never has to be. The events are
 * counted before they are looked at: a planner that believed that few of them are ends would rather read and sort them all.
 */
function selectStretch(
  context: SqlContext,
  workflowId: string,
  { from, count }: { readonly from: number; readonly count: number },
): Sql {
  const { events, history } = context.tables
  return sql`select ${undoColumns}, s.id as place from
    (select v.id, v.type, v.execution_id from ${events} v
      where v.workflow_id = ${context.id(workflowId)} and v.id < ${from} order by v.id desc limit ${count}) s
    left join ${history} e on ${context.dialect.sameKey('e.id', 's.execution_id')} and s.type in (${endTypes})
      and ${mayBeUndone}`
}

/**
 * All attempts at the nodes, and all that were made to undo them. Their kind is asked for in a form that no index is of use for: a planner
 * that takes history for small would go through the whole of one by it.
 */
function selectAttempts(context: SqlContext, workflowId: string, nodes: ReadonlySet<string>): Sql {
  const keys = [...nodes].map(node => [workflowId, node])
  const rows = context.rows('r', { columns: { workflow_id: 'id', node: 'text' }, rows: keys })
  return sql`select ${undoColumns} from ${rows} ${context.dialect.keyedJoin} ${context.tables.history} e
    on ${context.dialect.sameKey('e.workflow_id', 'r.workflow_id')} and e.node = r.node
      and case when e.kind in ('forward', 'compensate') then 1 end = 1`
}

function isForward(row: Row): boolean {
  return text(row, 'kind') === 'forward'
}

function triedIn(rows: readonly Row[]): TriedUndo[] {
  return rows.filter(row => text(row, 'kind') === 'compensate').map(triedUndo)
}

function undoRow(row: Row): UndoRow {
  return {
    id: text(row, 'id'),
    node: text(row, 'node'),
    nodeName: optionalText(row, 'node_name'),
    attempt: int(row, 'attempt'),
    ordinal: int(row, 'ordinal'),
    state: text(row, 'state') as EndedState,
    outcome: text(row, 'outcome') as UndoRow['outcome'],
    reason: optionalText(row, 'reason'),
    startedAt: optionalInt(row, 'started_at'),
    endedAt: optionalInt(row, 'ended_at'),
    hasActed: int(row, 'has_acted') === 1,
    input: json(row, 'input'),
    ancestry: ancestry(row),
    place: 'place' in row ? optionalInt(row, 'place') : null,
  }
}

function triedUndo(row: Row): TriedUndo {
  return {
    id: text(row, 'id'),
    node: text(row, 'node'),
    attempt: int(row, 'attempt'),
    outcome: text(row, 'outcome') as TriedUndo['outcome'],
    undoes: ancestry(row).parents[0] ?? '',
  }
}
