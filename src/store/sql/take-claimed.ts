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
import { activeExecution, claimedExecution, claimedWorkflow, int, text } from './decode.ts'
import type { Row, Transaction } from './dialect.ts'
import { raw, type Sql, sql } from './sql.ts'
import { insertEvents } from './write-records.ts'

/** A database that is busy is waited for, some fifteen seconds; a lost answer is not retried. */
export const claimTries = { transient: 200, connection: 0 }

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
  readonly keys: readonly Row[]
  readonly revision: number
  /** More to be written, for what is taken. */
  also?(claimed: readonly ClaimedExecution[], now: number): readonly Sql[]
}

/** Rows that are locked become the worker's, and the transaction is committed. */
export async function takeLocked(
  context: SqlContext,
  transaction: Transaction,
  { request, keys, revision, also }: Locked,
): Promise<ClaimedExecution[]> {
  const rows = await readClaimed(context, transaction, keys)
  const takes = wanted(
    request,
    rows.map(({ claimed, now }) => take({ ...claimed, revision }, request.workerId, now)),
  )
  const claimed = takes.map(({ after }) => after)
  if (claimed.length === 0) return []
  failpoint?.('claim.before-commit')
  await transaction.commitWith([
    startExecutions(
      context,
      claimed.map(item => item.execution),
    ),
    insertEvents(context, takes.map(startedEvent)),
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

/** The first rows in a line. */
export function probe(context: SqlContext, request: ClaimRequest, line: Line): Sql {
  return sql`select workflow_id, slot, sort_key, id, fence ${firstIn(context, request, line)}`
}

/** Where the first of them stands in line. */
export function headOf(context: SqlContext, request: ClaimRequest, line: Line): Sql {
  return sql`select sort_key ${firstIn(context, { ...request, limit: 1 }, line)}`
}

function firstIn(context: SqlContext, request: ClaimRequest, { source, lane = '', floor }: Line): Sql {
  const { now, tables } = context
  const from = floor === undefined ? raw('') : sql` and sort_key >= ${floor}`
  const { workflowId, crashed } = request
  const only = workflowId === undefined ? raw('') : sql` and workflow_id = ${context.id(workflowId)}`
  const sound = crashed?.take === 0 ? sql` and crashes < ${crashed.times}` : raw('')
  return sql`from ${tables.active}
    where queue = ${source.queue} and handler = ${source.handler} and lane = ${lane}
      and sort_key <= ${now}${from} and due_at <= ${now}
      and generation <= ${source.generation}${only}${sound} order by sort_key limit ${request.limit}`
}

export function keyRows(context: SqlContext, keys: readonly RowKey[]): Sql {
  return context.rows('r', {
    columns: { workflow_id: 'id', slot: 'text' },
    rows: keys.map(key => [key.workflowId, key.slot]),
  })
}

interface ReadRow {
  readonly claimed: ClaimedExecution
  readonly now: number
}

/** Where many rows of a workflow are taken, it is read once: its input may be large. */
async function readClaimed(context: SqlContext, transaction: Transaction, keys: readonly Row[]): Promise<ReadRow[]> {
  const ids = [...new Set(keys.map(key => text(key, 'workflow_id')))]
  if (ids.length * 2 > keys.length) {
    const rows = await transaction.query(selectRows(context, keys, withWorkflow(context)))
    return rows.map(row => ({ claimed: claimedExecution(row), now: int(row, 'now') }))
  }
  const [rows, workflows] = await Promise.all([
    transaction.query(selectRows(context, keys)),
    transaction.query(selectWorkflows(context, ids)),
  ])
  const shared = new Map(workflows.map(row => [text(row, 'w_id'), claimedWorkflow(row)]))
  return rows.flatMap(row => {
    const workflow = shared.get(text(row, 'workflow_id'))
    return workflow ? { claimed: { execution: activeExecution(row), ...workflow }, now: int(row, 'now') } : []
  })
}

const shownOfWorkflow = sql`${workflowColumns}, w.input, w.trace_parent`

/** More columns, and where they come from. */
interface Joined {
  readonly columns: Sql
  readonly join: Sql
}

function withWorkflow({ tables, dialect }: SqlContext): Joined {
  return {
    columns: sql`, ${shownOfWorkflow}`,
    join: sql` ${dialect.keyedJoin} ${tables.workflows} w on ${dialect.sameKey('w.id', 'a.workflow_id')}`,
  }
}

const nothingElse: Joined = { columns: raw(''), join: raw('') }

function selectRows(context: SqlContext, keys: readonly Row[], also: Joined = nothingElse): Sql {
  const rows = keyRows(
    context,
    keys.map(key => ({ workflowId: text(key, 'workflow_id'), slot: text(key, 'slot') })),
  )
  return sql`select ${activeColumns}, ${context.now} as now${also.columns} from ${rows}
    ${context.dialect.keyedJoin} ${context.tables.active} a on ${context.sameRow}${also.join}
    order by a.sort_key, a.id`
}

function selectWorkflows(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select ${shownOfWorkflow} from ${context.tables.workflows} w where ${context.among(raw('w.id'), ids)}`
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

function startExecutions(context: SqlContext, executions: readonly ActiveExecution[]): Sql {
  const rows = context.rows('r', {
    columns: { workflow_id: 'id', slot: 'text', owner: 'text', fence: 'int', started_at: 'int', runs: 'int' },
    rows: executions.map(row => [row.workflowId, row.slot, row.owner, row.fence, row.startedAt, row.progress.runs]),
  })
  const on = sql`${context.sameRow} and a.fence = r.fence - 1`
  return context.dialect.updateFrom(context.tables.active, rows, on, [
    ['state', raw(`'in_progress'`)],
    ['owner', raw('r.owner')],
    ['fence', raw('r.fence')],
    ['started_at', raw('r.started_at')],
    ['runs', raw('r.runs')],
    ['sort_key', raw('null')],
    ['start_mark', raw('0')],
  ])
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
