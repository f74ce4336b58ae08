/**
 * What all claims share: the look at a line, and the step from a locked row to an execution that is the worker's. Whoever
 * calls this holds the locks.
 */
import { failpoint } from '../../primitives/failpoint.ts'
import type { NewEvent } from '../change.ts'
import type { CommittedEvent } from '../event-store.ts'
import type { ActiveExecution, ClaimedExecution } from '../records.ts'
import { type ClaimRequest, type ClaimSource, type RowKey, StaleLimits } from '../store.ts'
import { activeColumns, workflowColumns } from './columns.ts'
import type { SqlContext } from './context.ts'
import { activeExecution, claimedWorkflow, int, text } from './decode.ts'
import type { Row, Transaction } from './dialect.ts'
import type { RetryLimits } from './retrying.ts'
import { type Columns, inPieces, rowSet } from './row-set.ts'
import { param, raw, type Sql, sql } from './sql.ts'
import { keyColumns } from './write-active.ts'
import { insertEvents } from './write-records.ts'

/** A database that is busy is waited for, some fifteen seconds; a lost answer is not retried. */
const patiently: RetryLimits = { transient: 200, connection: 0 }
const inPassing: RetryLimits = { ...patiently, patienceMs: 1500 }

export function claimTries({ comesAgain }: ClaimRequest): RetryLimits {
  return comesAgain ? inPassing : patiently
}

export function mayClaim(request: ClaimRequest, revision: number | null): revision is number {
  if (revision !== null && request.revision !== undefined && revision !== request.revision) throw new StaleLimits()
  return revision !== null
}

/** However long a line is, no more of it is read than is taken. */
export async function lookInOrder({ dialect }: SqlContext, transaction: Transaction): Promise<void> {
  if (dialect.readInOrder !== undefined) await transaction.run(dialect.readInOrder)
}

interface Locked {
  readonly request: ClaimRequest
  /** With `lockedColumns`. */
  readonly rows: readonly Row[]
  readonly revision: number
  /** More to be written, for what is taken. */
  also?(claimed: readonly ClaimedExecution[], now: number): readonly Sql[]
}

/** Rows that are locked become the worker's, and the transaction is committed. */
export async function takeLocked(
  context: SqlContext,
  transaction: Transaction,
  { request, rows: locked, revision, also }: Locked,
): Promise<ClaimedExecution[]> {
  const rows = await withWorkflows(context, transaction, locked)
  const takes = wanted(
    request,
    rows.map(({ claimed, now }) => take({ ...claimed, revision }, request.workerId, now)),
  )
  const claimed = takes.map(({ after }) => after)
  if (claimed.length === 0) return []
  failpoint?.('claim.before-commit')
  await transaction.commitWith([
    ...inPieces(context, takes, (at, piece) => startExecutions(at, piece, request)),
    ...inPieces(context, takes.map(startedEvent), insertEvents),
    ...(also?.(claimed, takes[0]?.now ?? 0) ?? []),
  ])
  failpoint?.('claim.after-commit')
  context.tell(() => takes.map(committed))
  return claimed
}

/** What is too much stays as it is, and its lock ends with the claim. */
function wanted({ crashed }: ClaimRequest, takes: readonly Take[]): Take[] {
  let left = crashed?.take ?? Number.POSITIVE_INFINITY
  return takes.filter(({ before }) => !crashed || before.crashes < crashed.times || left-- > 0)
}

export interface Line {
  readonly source: ClaimSource
  /** Without one, the plain line of the queue. */
  readonly lane?: string | Sql
  /** Rows with a smaller key are not looked at. */
  readonly floor?: number
}

/** What is read of rows as they are locked: all that they are taken with. */
export const lockedColumns = sql`${activeColumns}, a.sort_key`

/** The first rows in a line. */
export function probe(context: SqlContext, request: ClaimRequest, line: Line): Sql {
  return sql`select workflow_id, slot, sort_key, id, fence from ${context.tables.active} ${firstIn(context, request, line)}`
}

/** The same, with all that is read of rows that are locked. */
export function wholeProbe(context: SqlContext, request: ClaimRequest, line: Line): Sql {
  return sql`select ${lockedColumns} from ${context.tables.active} a ${firstIn(context, request, line)}`
}

/** Where the first of them stands in line. */
export function headOf(context: SqlContext, request: ClaimRequest, line: Line): Sql {
  return sql`select sort_key from ${context.tables.active} ${firstIn(context, { ...request, limit: 1 }, line)}`
}

function firstIn(context: SqlContext, request: ClaimRequest, { source, lane = '', floor }: Line): Sql {
  const { now } = context
  const from = floor === undefined ? raw('') : sql` and sort_key >= ${floor}`
  const { workflowId, crashed } = request
  const only = workflowId === undefined ? raw('') : sql` and workflow_id = ${context.id(workflowId)}`
  const sound = crashed?.take === 0 ? sql` and crashes < ${crashed.times}` : raw('')
  return sql`where queue = ${source.queue} and handler = ${source.handler} and lane = ${lane}
      and sort_key <= ${now}${from} and due_at <= ${now}
      and generation <= ${source.generation}${only}${sound} order by sort_key limit ${request.limit}`
}

export function keyRows(context: SqlContext, keys: readonly RowKey[]): Sql {
  return context.rows('r', {
    columns: { workflow_id: 'id', slot: 'text' },
    rows: keys.map(key => [key.workflowId, key.slot]),
  })
}

/**
 * The row `a`, looked up by its key, still stands in line under the fence. That it does is asked for through the fence: by itself it would
 * let a planner that takes the lines for short go through all of them.
 */
export function stillInLine(fence: string): Sql {
  return raw(`case when a.sort_key is not null then a.fence end = ${fence}`)
}

interface ReadRow {
  readonly claimed: ClaimedExecution
  readonly now: number
  readonly sortKey: number
}

/** In the order in which they stood in line. A workflow is read once, however many of its rows are taken: its input may be large. */
async function withWorkflows(
  context: SqlContext,
  transaction: Transaction,
  locked: readonly Row[],
): Promise<ReadRow[]> {
  const ids = [...new Set(locked.map(row => text(row, 'workflow_id')))]
  const workflows = await transaction.query(selectWorkflows(context, ids))
  const now = workflows[0] ? int(workflows[0], 'now') : 0
  const shared = new Map(workflows.map(row => [text(row, 'w_id'), claimedWorkflow(row)]))
  const read = locked.flatMap(row => {
    const workflow = shared.get(text(row, 'workflow_id'))
    const sortKey = int(row, 'sort_key')
    return workflow ? { claimed: { execution: activeExecution(row), ...workflow }, now, sortKey } : []
  })
  return read.sort(inLine)
}

/** By sort key, and then in the order in which they were made. */
function inLine(one: ReadRow, other: ReadRow): number {
  const { id } = one.claimed.execution
  const { id: otherId } = other.claimed.execution
  return one.sortKey - other.sortKey || id.length - otherId.length || (id < otherId ? -1 : 1)
}

function selectWorkflows(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select ${workflowColumns}, w.input, w.trace_parent, ${context.now} as now from ${context.tables.workflows} w${context.dialect.byKey}
    where ${context.among(raw('w.id'), ids)}`
}

interface Take {
  readonly before: ActiveExecution
  /** What the row will be once the claim is committed. */
  readonly after: ClaimedExecution
  readonly now: number
}

function take(claimed: ClaimedExecution, owner: string, now: number): Take {
  const { execution } = claimed
  const after = {
    ...claimed,
    execution: {
      ...execution,
      state: 'in_progress' as const,
      owner,
      fence: execution.fence + 1,
      startedAt: execution.startedAt ?? now,
      startMark: false,
      progress: { ...execution.progress, runs: execution.progress.runs + 1 },
    },
  }
  return { before: execution, after, now }
}

const takenColumns: Columns<ActiveExecution> = {
  ...keyColumns,
  known_fence: ['int', row => row.fence, 'fan'],
}

/** What the rows have become is written by what they were, so that little is sent; it must come to the same as `take`. */
function startExecutions(context: SqlContext, takes: readonly Take[], { workerId }: ClaimRequest): Sql {
  const before = takes.map(take => take.before)
  const now = takes[0]?.now ?? 0
  return context.statement(
    startExecutions,
    [context.rows('r', rowSet(takenColumns, before)), param(workerId), param(now)],
    (at, rows, owner, time) =>
      at.dialect.updateFrom(at.tables.active, rows, sql`${at.sameRow} and a.fence = r.known_fence`, [
        ['state', raw(`'in_progress'`)],
        ['owner', owner],
        ['fence', raw('a.fence + 1')],
        ['started_at', sql`coalesce(a.started_at, ${time})`],
        ['runs', raw('a.runs + 1')],
        ['sort_key', raw('null')],
        ['start_mark', raw('0')],
      ]),
  )
}

function startedEvent({ before, after }: Take): NewEvent {
  return {
    workflowId: before.workflowId,
    type: startedEvents[before.kind],
    executionId: before.id,
    node: before.node,
    nodeName: before.nodeName,
    attempt: before.attempt,
    from: before.state,
    to: 'in_progress',
    by: after.execution.owner,
    since: before.dueAt,
  }
}

function committed(claim: Take): CommittedEvent {
  return { event: startedEvent(claim), workflowType: claim.after.workflow.type, at: claim.now }
}

const startedEvents = {
  forward: 'step.started',
  compensate: 'compensation.started',
  timer: 'timer.started',
} as const
