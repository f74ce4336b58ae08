/**
 * Locks workflows and reads what a decision about them may look at: the rows and counters that were asked for. The queries
 * are issued together, so that a driver that can pipeline needs one round trip.
 */
import type { EndedExecution, LatestEnding, WorkflowFacts } from '../change.ts'
import type { ActiveExecution } from '../records.ts'
import type { ChangeTarget } from '../store.ts'
import { activeColumns, latestColumns, workflowColumns } from './columns.ts'
import type { SqlContext } from './context.ts'
import { activeExecution, int, latestEnding, optionalText, text, workflowRecord } from './decode.ts'
import type { Executor, Row } from './dialect.ts'
import { selectFanIns } from './fan-ins.ts'
import { HeldRows, type RowKey } from './held-rows.ts'
import { isLatest } from './latest-attempt.ts'
import { letterRecord, selectLetters, selectOpenLetters } from './letters.ts'
import { join, raw, type Sql, sql } from './sql.ts'

interface Locking {
  readonly targets: readonly ChangeTarget[]
  /** What others have locked is left out instead of waited for. */
  readonly passes: boolean
}

/** What is locked, or about to be, by statements that are under way. */
interface Locked {
  readonly targets: readonly ChangeTarget[]
  readonly workflows: readonly Row[] | Promise<readonly Row[]>
  /** Of those targets that ask for all rows. */
  readonly rows: readonly Row[] | Promise<readonly Row[]>
}

export async function lockFacts(
  context: SqlContext,
  transaction: Executor,
  { targets, passes }: Locking,
): Promise<WorkflowFacts[]> {
  if (targets.length === 0) return []
  if (passes) return readFacts(context, transaction, await lockWhatIsFree(context, transaction, targets))
  const { lock } = context.dialect
  return readFacts(context, transaction, {
    targets,
    workflows: ask(transaction, lockWorkflows(context, idsOf(targets), lock)),
    rows: ask(transaction, selectAllRows(context, targets, lock)),
  })
}

async function lockWhatIsFree(
  context: SqlContext,
  transaction: Executor,
  targets: readonly ChangeTarget[],
): Promise<Locked> {
  const { lockFree } = context.dialect
  // Rows of a workflow that another has are not to be touched: of two who pass each other by like that neither would get anything.
  const free = await transaction.query(lockWorkflows(context, idsOf(targets), lockFree))
  const taken = amongThose(targets, free)
  if (taken.length === 0) return { targets: [], workflows: [], rows: [] }
  const [rows, counts] = await Promise.all([
    ask(transaction, selectAllRows(context, taken, lockFree)),
    transaction.query(countRows(context, taken)),
  ])
  const workflows = withAllRows(free, rows, counts)
  return { targets: amongThose(taken, workflows), workflows, rows }
}

async function ask(transaction: Executor, statement: Sql | null): Promise<readonly Row[]> {
  return statement === null ? [] : transaction.query(statement)
}

async function readFacts(context: SqlContext, transaction: Executor, locked: Locked): Promise<WorkflowFacts[]> {
  const { targets } = locked
  if (targets.length === 0) return []
  const byId = new Map(targets.map(target => [target.workflowId, target]))
  const held = new HeldRows(targets)
  const [workflows, whole, single, standing, latest, fanIns, endings] = await Promise.all([
    locked.workflows,
    locked.rows,
    ask(transaction, selectRows(context, held.otherKeys())),
    ask(transaction, held.select(context)),
    ask(transaction, selectLatest(context, targets)),
    ask(transaction, selectCounters(context, targets)),
    ask(transaction, selectEnded(context, targets)),
  ])
  // Few workflows have any, and each says so itself.
  const given = workflows.filter(row => int(row, 'open_letters') > 0).map(row => text(row, 'w_id'))
  const letters = given.length === 0 ? [] : await openLettersOf(context, transaction, { given, byId })
  const { rows: known, moved } = held.found(standing)
  const others = moved.length === 0 ? [] : await ask(transaction, selectRows(context, moved))
  const rowsOf = withRows(grouped([...whole, ...single, ...others], activeExecution), known)
  const latestOf = grouped(latest, latestEnding)
  const openLetters = grouped(letters, letterRecord)
  const fanInsOf = grouped(fanIns, row => [text(row, 'node'), int(row, 'open_parents')] as const)
  const ended = new Map(endings.map(row => [text(row, 'id'), endedExecution(row)]))
  return workflows.map(row => {
    const workflow = workflowRecord(row)
    const target = byId.get(workflow.id)
    const complete = target?.slots === undefined
    return {
      workflow,
      active: rowsOf.get(workflow.id) ?? [],
      complete,
      othersGoOn: complete ? false : null,
      latest: target?.withLatest ? byNode(latestOf.get(workflow.id) ?? []) : null,
      parents: new Map(),
      outworn: [],
      letters: openLetters.get(workflow.id) ?? [],
      undo: null,
      decisions: [],
      signals: [],
      started: new Map(),
      others: new Map(),
      fanIns: new Map(fanInsOf.get(workflow.id) ?? []),
      ended,
    }
  })
}

/** One that was given up often may have very many: who needs none of them, or one, says so. */
async function openLettersOf(
  context: SqlContext,
  transaction: Executor,
  { given, byId }: { readonly given: readonly string[]; readonly byId: ReadonlyMap<string, ChangeTarget> },
): Promise<Row[]> {
  const named = given.flatMap(id => byId.get(id)?.letters ?? [])
  const whole = given.filter(id => byId.get(id)?.letters === undefined)
  const found = await Promise.all([
    named.length === 0 ? [] : transaction.query(selectLetters(context, named)),
    whole.length === 0 ? [] : transaction.query(selectOpenLetters(context, whole)),
  ])
  return found.flat()
}

function amongThose(targets: readonly ChangeTarget[], workflows: readonly Row[]): readonly ChangeTarget[] {
  const ids = new Set(workflows.map(row => text(row, 'w_id')))
  return targets.filter(({ workflowId }) => ids.has(workflowId))
}

function lockWorkflows(context: SqlContext, ids: readonly string[], lock: Sql): Sql {
  return sql`select ${workflowColumns} from ${context.tables.workflows} w${context.dialect.byKey}
    where ${context.among(raw('w.id'), ids)} order by w.id${lock}`
}

/** Whoever reports on a row owns it. Others lock it: it must not be claimed, nor moved on, once it was looked at. */
function selectAllRows(context: SqlContext, targets: readonly ChangeTarget[], locking: Sql): Sql | null {
  const whole = targets.filter(target => target.slots === undefined)
  if (whole.length === 0) return null
  const lock = whole.some(target => target.withLatest || target.lockRows) ? locking : raw('')
  return sql`select ${activeColumns} from ${context.tables.active} a${context.dialect.byKey}
    where ${context.among(raw('a.workflow_id'), idsOf(whole))}${lock}`
}

/** How many rows each has, whoever has locked them. They come and go only under the lock of their workflow. */
function countRows(context: SqlContext, targets: readonly ChangeTarget[]): Sql {
  return sql`select a.workflow_id, count(*) as count from ${context.tables.active} a
    where ${context.among(raw('a.workflow_id'), idsOf(targets))} group by a.workflow_id`
}

/** A decision must not be made on a part of the rows: where somebody else has one of them, the workflow is left out. */
function withAllRows(workflows: readonly Row[], rows: readonly Row[], counts: readonly Row[]): readonly Row[] {
  const rowsOf = grouped(rows, row => row)
  const all = new Map(counts.map(row => [text(row, 'workflow_id'), int(row, 'count')]))
  return workflows.filter(row => (rowsOf.get(text(row, 'w_id'))?.length ?? 0) === (all.get(text(row, 'w_id')) ?? 0))
}

function selectRows(context: SqlContext, keys: readonly RowKey[]): Sql | null {
  if (keys.length === 0) return null
  const rows = context.rows('r', { columns: { workflow_id: 'id', slot: 'text' }, rows: keys })
  return sql`select ${activeColumns} from ${rows} ${context.dialect.keyedJoin} ${context.tables.active} a${context.dialect.byKey}
    on ${context.sameRow}`
}

function selectLatest(context: SqlContext, targets: readonly ChangeTarget[]): Sql | null {
  const asked = targets.filter(target => target.withLatest)
  if (asked.length === 0) return null
  const { history } = context.tables
  return sql`select ${latestColumns} from ${history} e
    where ${context.among(raw('e.workflow_id'), idsOf(asked))} and e.kind = 'forward' and ${isLatest(context)}`
}

function selectCounters(context: SqlContext, targets: readonly ChangeTarget[]): Sql | null {
  const { fanIns } = context.tables
  const all = idsOf(targets.filter(target => target.withLatest))
  const keys = targets.flatMap(({ workflowId, fanIns: nodes, withLatest }) =>
    withLatest ? [] : (nodes ?? []).map(node => ({ workflowId, node })),
  )
  const selects: Sql[] = []
  if (all.length > 0)
    selects.push(
      sql`select f.workflow_id, f.node, f.open_parents from ${fanIns} f where ${context.among(raw('f.workflow_id'), all)}`,
    )
  if (keys.length > 0) selects.push(selectFanIns(context, keys))
  return selects.length === 0 ? null : join(selects, ' union all ')
}

function selectEnded(context: SqlContext, targets: readonly ChangeTarget[]): Sql | null {
  const ids = targets.flatMap(target => (target.repeated ? (target.settle ?? []) : []))
  if (ids.length === 0) return null
  return sql`select e.id, e.owner, e.state, e.outcome from ${context.tables.history} e${context.dialect.byKey}
    where ${context.among(raw('e.id'), ids)}`
}

function endedExecution(row: Row): EndedExecution {
  return {
    owner: optionalText(row, 'owner'),
    state: text(row, 'state') as EndedExecution['state'],
    outcome: text(row, 'outcome') as EndedExecution['outcome'],
  }
}

function withRows(
  rowsOf: Map<string, ActiveExecution[]>,
  more: readonly ActiveExecution[],
): ReadonlyMap<string, ActiveExecution[]> {
  for (const row of more) {
    const rows = rowsOf.get(row.workflowId)
    if (rows) rows.push(row)
    else rowsOf.set(row.workflowId, [row])
  }
  return rowsOf
}

function idsOf(targets: readonly ChangeTarget[]): string[] {
  return [...new Set(targets.map(target => target.workflowId))]
}

export function byNode(endings: readonly LatestEnding[]): Map<string, LatestEnding> {
  return new Map(endings.map(ending => [ending.node, ending]))
}

/** By workflow. */
export function grouped<T>(rows: readonly Row[], decode: (row: Row) => T): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const row of rows) {
    const id = text(row, 'workflow_id')
    const group = groups.get(id)
    if (group) group.push(decode(row))
    else groups.set(id, [decode(row)])
  }
  return groups
}
