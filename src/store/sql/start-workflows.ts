/**
 * Starting: workflows, their first rows, tags and events in one transaction, ours or the application's. A conflict
 * is found without breaking that transaction, and the holder of the place is named.
 */
import { InvariantError } from '../../errors.ts'
import type { NewEvent } from '../change.ts'
import type { CommittedEvent } from '../event-store.ts'
import { noProgress, type WorkflowRecord } from '../records.ts'
import { scheduledEvent } from '../scheduled-event.ts'
import type { StartCall, StartOrder, StartResult } from '../store.ts'
import { workflowColumns } from './columns.ts'
import type { SqlContext } from './context.ts'
import { json, text, workflowRecord } from './decode.ts'
import { type Executor, type Row, runAll } from './dialect.ts'
import { withEvents } from './event-turns.ts'
import { insertFanIns } from './fan-ins.ts'
import { insertGraphs } from './frozen-graphs.ts'
import { inOrderOfKeys } from './order-of-keys.ts'
import { retriesWithin } from './retrying.ts'
import { type Columns, inPieces, rowSet } from './row-set.ts'
import { runTransaction } from './run-transaction.ts'
import { raw, type Sql, sql } from './sql.ts'
import { insertWatches, type Watch } from './watches.ts'
import { dueColumnsOf, dueTime, insertActive } from './write-active.ts'
import { insertEvents, insertHistory } from './write-records.ts'

/** How often a conflict may vanish between the insert and the look at its holder. */
const maxRounds = 10

const maxSlice = 1000
/** Well below what servers accept in one packet. */
const maxSliceBytes = 4 * 1024 * 1024
/** About what a row adds to a statement. */
const rowBytes = 300

/** Starts in a transaction of the application are looked up first, one by one, unless there are more than this. */
const maxLooks = 20

/** The input as text: some drivers parse JSON, and then a text and the JSON of a text look alike. */
const inputText = raw(`case when w.input is not null then concat(w.input, '') end`)

const beginStart = raw('savepoint geneva_start')
const undoStart = raw('rollback to savepoint geneva_start')
const endStart = raw('release savepoint geneva_start')

/** Starts in a transaction of our own. Orders keep their ids over a retry, so none is started twice. */
export async function startLooking(
  context: SqlContext,
  given: readonly StartOrder[],
  { repeated, check, patienceMs }: StartCall,
): Promise<StartResult[]> {
  const orders = given.map(unclaimed)
  const work = async (transaction: Executor, attempt: number) => {
    const known = attempt > 1 || repeated ? await startedBefore(context, transaction, orders) : new Map()
    const all = await startAll(context, transaction, orders, started(known.values()))
    check?.(all)
    return all
  }
  const results = await runTransaction(context.database, work, retriesWithin(patienceMs))
  context.tell(() => startEvents(orders, results))
  return results
}

/**
 * What an earlier try has started. It may still be under way in the server, where nobody sees its rows; but whoever inserts the same waits until
 * it has ended.
 */
async function startedBefore(
  context: SqlContext,
  executor: Executor,
  orders: readonly StartOrder[],
): Promise<Map<string, WorkflowRecord>> {
  const inserts = slices(orders).flatMap(slice => inPieces(context, slice, insertWorkflows))
  await runAll(executor, [beginStart, ...inserts, undoStart, endStart])
  return existing(context, executor, orders)
}

/** Nobody begins with it at once. */
function unclaimed(order: StartOrder): StartOrder {
  if (order.first.every(row => row.owner === null)) return order
  const first = order.first.map(row =>
    row.owner === null ? row : { ...row, state: 'scheduled' as const, owner: null, fence: 0, progress: noProgress },
  )
  return { ...order, first }
}

/** Starts in the caller's transaction, which is neither begun nor ended here. Several starts are undone together. */
export async function startInside(
  context: SqlContext,
  executor: Executor,
  orders: readonly StartOrder[],
  { check }: StartCall,
): Promise<StartResult[]> {
  const held = orders.length > maxLooks ? new Map() : await findHolders(context, outside(context), orders)
  await executor.run(beginStart)
  try {
    const results = await startAll(context, executor, orders, held)
    check?.(results)
    await executor.run(endStart)
    return results
  } catch (error) {
    await undo(executor).catch(() => {})
    throw error
  }
}

/** A savepoint that was rolled back to is still there, and would hide one of the same name. */
async function undo(executor: Executor): Promise<void> {
  await executor.run(undoStart)
  await executor.run(endStart)
}

/** In any transaction, ours or the application's. */
export async function startAll(
  context: SqlContext,
  executor: Executor,
  orders: readonly StartOrder[],
  known: ReadonlyMap<string, StartResult>,
): Promise<StartResult[]> {
  const results = new Map(known)
  for (const [id, holder] of await findFormer(context, executor, orders)) results.set(id, holder)
  const add = (found: ReadonlyMap<string, StartResult>) => found.forEach((result, id) => results.set(id, result))
  const look: Look = { query: statement => executor.query(statement), mode: context.dialect.freshRead }
  let open = orders.filter(order => !results.has(order.id))
  for (let round = 0; open.length > 0 && round < maxRounds; round++) {
    for (const slice of slices(open)) add(started((await insert(context, executor, slice)).values()))
    const refused = open.filter(order => !results.has(order.id))
    add(await findHolders(context, look, refused))
    open = refused.filter(order => !results.has(order.id))
  }
  return orders.map(order => {
    const result = results.get(order.id)
    if (!result) throw new InvariantError(`The start of ${order.type} was refused ${maxRounds} times without a holder.`)
    return result
  })
}

/** As many orders as fit into one statement, by number and by bytes. */
export function slices(orders: readonly StartOrder[]): StartOrder[][] {
  const all: StartOrder[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const order of orders) {
    const size = bytesOf(order)
    const last = all.at(-1)
    if (last && last.length < maxSlice && bytes + size <= maxSliceBytes) {
      last.push(order)
      bytes += size
    } else {
      all.push([order])
      bytes = size
    }
  }
  return all
}

function bytesOf({ input, graph, first, taken }: StartOrder): number {
  const rows = first.length + (taken?.endings.length ?? 0)
  return (input?.length ?? 0) + (graph?.graph.length ?? 0) + rows * rowBytes
}

function started(workflows: Iterable<WorkflowRecord>): Map<string, StartResult> {
  return new Map([...workflows].map(workflow => [workflow.id, { kind: 'started', workflow }]))
}

/** Inserts what breaks no rule, with its first rows, and returns it. */
async function insert(
  context: SqlContext,
  executor: Executor,
  orders: readonly StartOrder[],
): Promise<Map<string, WorkflowRecord>> {
  const workflows = inPieces(context, orders, insertWorkflows)
  if (executor.pipelines) {
    await runAll(executor, [...workflows, ...companions(context, orders, ofInserted(context))])
    return existing(context, executor, orders)
  }
  // Here every answer is waited for anyway. What is known to be new is written without another look at the workflows:
  // in the application's transaction, which may be stricter than ours, a look can lock all of them.
  await runAll(executor, workflows)
  const inserted = await existing(context, executor, orders)
  const fresh = orders.filter(order => inserted.has(order.id))
  await runAll(executor, companions(context, fresh, null))
  return inserted
}

type TagRow = readonly [tag: string, workflowId: string]

/** For workflows that the statement before has inserted; its answer need not be waited for. */
function ofInserted(context: SqlContext): Sql {
  return sql` join ${context.tables.workflows} w on ${context.dialect.sameKey('w.id', 'r.workflow_id')}`
}

/** Statements that write what goes with a workflow. */
function companions(context: SqlContext, orders: readonly StartOrder[], filter: Sql | null): Sql[] {
  return [
    ...rowsBeside(context, orders, filter),
    ...inPieces(context, orders.flatMap(eventsOf), (at, piece) => insertEvents(at, piece, filter)),
  ]
}

/** The same together with the workflows themselves, where nothing is known to stand in their way. */
export function startStatements(context: SqlContext, orders: readonly StartOrder[]): readonly Sql[] {
  const rows = [...inPieces(context, orders, insertWorkflows), ...rowsBeside(context, orders, null)]
  return withEvents(context, rows, orders.map(eventsOf))
}

function rowsBeside(context: SqlContext, orders: readonly StartOrder[], filter: Sql | null): Sql[] {
  const of = <T>(part: (order: StartOrder) => readonly T[]) => orders.flatMap(part)
  const write = <T>(items: readonly T[], statement: (piece: readonly T[]) => Sql) =>
    inPieces(context, items, (_, piece) => statement(piece))
  const tags = of(order => order.tags.map((tag): TagRow => [tag, order.id]))
  const graphs = of(({ id, graph }) => (graph === null ? [] : [{ ...graph, workflowId: id }]))
  const fanIns = of(({ id, taken }) => (taken?.fanIns ?? []).map(fanIn => ({ ...fanIn, workflowId: id })))
  return [
    ...write(tags, piece => insertTags(context, piece, filter)),
    ...write(graphs, piece => insertGraphs(context, piece, filter)),
    ...write(of(watchesOf), piece => insertWatches(context, piece, filter)),
    ...write(
      of(order => order.taken?.endings ?? []),
      piece => insertHistory(context, piece, filter),
    ),
    ...write(fanIns, piece => insertFanIns(context, piece, filter)),
    ...write(
      of(order => order.first),
      piece => insertActive(context, piece, filter),
    ),
  ]
}

function watchesOf({ id, parent }: StartOrder): Watch[] {
  if (parent === null) return []
  return [{ workflowId: id, watcherId: parent.workflowId, node: parent.node, timerId: parent.timerId }]
}

/** What was taken over brings the events of its rows with it, and that of its end if nothing is left to do. */
function eventsOf(order: StartOrder): NewEvent[] {
  const to = order.taken === null ? firstState(order) : 'ready'
  const started: NewEvent = { workflowId: order.id, type: 'workflow.started', to, ...order.asked }
  return [started, ...(order.taken?.events ?? order.first.map(scheduledEvent))]
}

/** The events of those orders that were carried out, for who listens. */
export function startEvents(orders: readonly StartOrder[], results: readonly StartResult[]): CommittedEvent[] {
  const byId = new Map(orders.map(order => [order.id, order]))
  return results.flatMap(({ kind, workflow: { id, type: workflowType, createdAt: at } }) => {
    const order = kind === 'started' ? byId.get(id) : undefined
    return order === undefined ? [] : eventsOf(order).map(event => ({ event, workflowType, at }))
  })
}

const workflowColumnsOf: Columns<StartOrder> = {
  id: ['id', order => order.id],
  type: ['text', order => order.type],
  hero_type: ['text', order => order.hero?.type ?? null],
  hero_id: ['text', order => order.hero?.idText ?? null],
  hero_id_kind: ['text', order => order.hero?.idKind ?? null],
  state: ['text', order => firstState(order)],
  allow_multiple: ['int', order => (order.allowMultiple ? 1 : 0)],
  idempotency_key: ['text', order => order.idempotencyKey],
  generation: ['int', order => order.generation],
  frozen: ['text', order => order.graph?.signature ?? null],
  parent_id: ['id', order => order.parent?.workflowId ?? null],
  parent_node: ['text', order => order.parent?.node ?? null],
  watched: ['int', order => (order.parent === null ? 0 : 1)],
  lane: ['text', order => order.lane ?? ''],
  input: ['json', order => order.input],
}

const traceColumnOf: Columns<StartOrder> = { trace_parent: ['text', order => order.trace ?? null] }

const tracedColumnsOf: Columns<StartOrder> = { ...workflowColumnsOf, ...traceColumnOf }

function insertWorkflows(context: SqlContext, orders: readonly StartOrder[]): Sql {
  // Traces and deadlines are rare: who has none does not pay for them.
  const columns = orders.some(order => order.trace) ? tracedColumnsOf : workflowColumnsOf
  const isLimited = orders.some(order => order.deadline !== null)
  const all = isLimited ? { ...columns, ...dueColumnsOf<StartOrder>(order => order.deadline) } : columns
  const rows = context.rows('r', rowSet(all, inOrderOfKeys(orders)))
  if (isLimited) return writeWorkflows(context, rows, { names: Object.keys(columns), isLimited })
  return context.statement(columns, [rows], (at, given) =>
    writeWorkflows(at, given, { names: Object.keys(columns), isLimited }),
  )
}

interface Written {
  readonly names: readonly string[]
  /** There are deadlines among the rows. */
  readonly isLimited: boolean
}

function writeWorkflows(context: SqlContext, rows: Sql, { names, isLimited }: Written): Sql {
  const deadline = isLimited ? sql`, ${dueTime(context)}` : raw('')
  return context.dialect.insertNew(
    context.tables.workflows,
    [
      ...names,
      ...['finishing', 'crooked', 'open_letters', 'created_at', 'ended_at'],
      ...(isLimited ? ['deadline_at'] : []),
    ],
    sql`select ${raw(names.map(name => `r.${name}`).join(', '))}, 0, 0, 0, ${context.now},
      case when r.state = 'finished' then ${context.now} end${deadline} from ${rows}`,
  )
}

function firstState({ first }: StartOrder): 'finished' | 'ready' {
  return first.length === 0 ? 'finished' : 'ready'
}

function insertTags(context: SqlContext, tags: readonly TagRow[], filter: Sql | null): Sql {
  const rows = context.rows('r', { columns: { tag: 'text', workflow_id: 'id' }, rows: tags })
  return sql`insert into ${context.tables.tags} (tag, workflow_id)
    select r.tag, r.workflow_id from ${rows}${filter ?? raw('')}`
}

async function existing(
  context: SqlContext,
  executor: Executor,
  orders: readonly StartOrder[],
): Promise<Map<string, WorkflowRecord>> {
  const ids = orders.map(order => order.id)
  const rows = await executor.query(
    sql`select ${workflowColumns} from ${context.tables.workflows} w${context.dialect.byKey}
      where ${context.among(raw('w.id'), ids)}`,
  )
  return new Map(rows.map(row => [text(row, 'w_id'), workflowRecord(row)]))
}

/** Where to look for holders, and what to append to the statement. */
interface Look {
  readonly query: (statement: Sql) => Promise<Row[]>
  readonly mode: Sql
}

/**
 * What is committed, seen from a connection of our own. A holder that is found here is not run into, which would lock it,
 * and the places beside it, for as long as the application's transaction lasts.
 */
function outside(context: SqlContext): Look {
  return { query: statement => context.read(statement), mode: raw('') }
}

/** The key speaks before the hero: a repeated request must find its own workflow, also when it is still active. */
async function findHolders(
  context: SqlContext,
  look: Look,
  orders: readonly StartOrder[],
): Promise<Map<string, StartResult>> {
  const holders = new Map<string, StartResult>()
  for (const order of orders) {
    const holder = (await findKeyed(context, look, order)) ?? (await findActive(context, look, order))
    if (holder) holders.set(order.id, holder)
  }
  return holders
}

/**
 * No index can span the names that a class has had, so those are looked at before anything is inserted. Only while old and
 * new code start the same at the same instant can both succeed.
 */
async function findFormer(
  context: SqlContext,
  executor: Executor,
  orders: readonly StartOrder[],
): Promise<Map<string, StartResult>> {
  const look: Look = { query: statement => executor.query(statement), mode: context.dialect.freshRead }
  const holders = new Map<string, StartResult>()
  for (const order of orders) {
    for (const type of order.formerTypes) {
      const former = { ...order, type, idempotencyKey: order.formerKeys?.get(type) ?? order.idempotencyKey }
      const holder = (await findKeyed(context, look, former)) ?? (await findActive(context, look, former))
      if (holder) holders.set(order.id, holder)
    }
  }
  return holders
}

async function findKeyed(context: SqlContext, look: Look, order: StartOrder): Promise<StartResult | null> {
  if (order.idempotencyKey === null) return null
  const rows = await look.query(
    sql`select ${workflowColumns}, ${inputText} as input from ${context.tables.workflows} w
      where w.type = ${order.type} and w.idempotency_key = ${order.idempotencyKey}${look.mode}`,
  )
  const row = rows[0]
  return row ? { kind: 'keyed', workflow: workflowRecord(row), input: json(row, 'input') } : null
}

async function findActive(context: SqlContext, look: Look, order: StartOrder): Promise<StartResult | null> {
  if (order.hero === null || order.allowMultiple) return null
  const rows = await look.query(
    sql`select ${workflowColumns} from ${context.tables.workflows} w where w.type = ${order.type}
      and w.hero_type = ${order.hero.type} and w.hero_id = ${order.hero.idText}
      and ${context.dialect.holdsPlace}${look.mode}`,
  )
  return rows[0] ? { kind: 'active', workflow: workflowRecord(rows[0]) } : null
}
