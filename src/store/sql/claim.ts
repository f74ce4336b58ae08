/**
 * Claiming: the due rows that a worker has code for, in order of their sort key, many in one transaction. A claim
 * never waits for a row that another process holds, and it never locks a workflow.
 */
import type { ActiveExecution, ClaimedExecution, StartMark } from '../records.ts'
import type { ClaimRequest, ClaimSource } from '../store.ts'
import { highestPriority } from './aging.ts'
import { beginning, type ClaimFloors, type Look } from './claim-floors.ts'
import { claimLimited } from './claim-limited.ts'
import type { SqlContext } from './context.ts'
import { callMark, int, turnMark } from './decode.ts'
import { runTransaction } from './run-transaction.ts'
import { join, raw, type Sql, sql } from './sql.ts'
import {
  claimTries,
  lockedColumns,
  lookInOrder,
  mayClaim,
  probe,
  stillInLine,
  takeLocked,
  wholeProbe,
} from './take-claimed.ts'
import { aliveUnder } from './workers.ts'

/**
 * Nothing when the worker's lease is lost. A lost answer is not retried here: the worker looks at what it holds. Throws
 * `StaleLimits` when the sources were chosen by rules that have changed.
 */
export async function claim(
  context: SqlContext,
  floors: ClaimFloors,
  request: ClaimRequest,
): Promise<ClaimedExecution[]> {
  const { sources, limited, workflowId } = request
  if (sources.length === 0 || request.limit <= 0) return []
  if (limited !== undefined) return claimLimited(context, { ...request, limited })
  const look = (floor: number) => claimFrom(context, request, floor)
  // What there is of one workflow says nothing about the lines that it stands in.
  if (workflowId !== undefined) return (await look(beginning)).claimed
  const margin = request.prioritized ? context.aging.weight * highestPriority : 0
  return floors.claim({ sources, margin }, look)
}

/** So many times as many are looked at where others may have taken the first. */
const crowd = 8

async function claimFrom(context: SqlContext, request: ClaimRequest, floor: number): Promise<Look> {
  return runTransaction(
    context.database,
    async transaction => {
      const [, revision, found] = await Promise.all([
        lookInOrder(context, transaction),
        aliveUnder(context, transaction, request.workerId),
        transaction.query(lockDue(context, request, { floor })),
      ])
      if (!mayClaim(request, revision)) return { claimed: [], smallest: null }
      const mayBeTaken =
        found.length === 0 && context.dialect.manyWriters === true && asFound(context, request) === null
      const rows = mayBeTaken ? await transaction.query(lockDue(context, request, { floor, among: crowd })) : found
      if (rows.length === 0) return { claimed: [], smallest: null }
      const claimed = await takeLocked(context, transaction, { request, rows, revision })
      return { claimed, smallest: Math.min(...rows.map(row => int(row, 'sort_key'))) }
    },
    claimTries(request),
  )
}

/**
 * One probe of the index per source, merged in order, then locked by key. Between the two a row may have moved on to its
 * next step, which is not due: it must still be the same execution under the same fence. Whoever claims at the same instant has found the
 * same rows, and gets none, unless it looks `among` several times as many; with one source, where the database can, rows are locked as they
 * are found, and each gets others.
 */
function lockDue(context: SqlContext, request: ClaimRequest, { floor, among = 1 }: LookFor): Sql {
  const { active } = context.tables
  const single = asFound(context, request)
  if (single !== null) return sql`${wholeProbe(context, request, { source: single.source, floor })}${single.lock}`
  const limit = request.limit * among
  const look = (source: ClaimSource) => probe(context, { ...request, limit }, { source, floor })
  const probes = request.sources.map((source, index) => sql`select * from (${look(source)}) ${raw(`p${index}`)}`)
  return sql`select ${lockedColumns} from
    (select * from (${join(probes, ' union all ')}) u order by sort_key limit ${limit}) due
    ${context.dialect.keyedJoin} ${active} a${context.dialect.byKey} on ${context.dialect.sameKey('a.workflow_id', 'due.workflow_id')} and a.slot = due.slot
    where a.id = due.id and ${stillInLine('due.fence')}${among === 1 ? raw('') : sql` limit ${request.limit}`}${context.dialect.lockSkipping}`
}

/** Set where rows are locked as they are found. */
function asFound({ dialect }: SqlContext, { sources }: ClaimRequest) {
  const [source] = sources
  const lock = dialect.lockFound
  return source !== undefined && sources.length === 1 && lock !== undefined ? { source, lock } : null
}

interface LookFor {
  readonly floor: number
  readonly among?: number
}

/**
 * True while the claim is still ours. The fence tells the owner; named, it would be looked up by the index of owners, which has an entry
 * for each row that the worker ever had.
 */
export async function markStarted(
  context: SqlContext,
  execution: ActiveExecution,
  mark: Exclude<StartMark, false>,
): Promise<boolean> {
  const touched = await context.write(
    sql`update ${context.tables.active} set start_mark = ${mark === 'turn' ? turnMark : callMark} where workflow_id = ${context.id(execution.workflowId)}
      and slot = ${execution.slot} and id = ${context.id(execution.id)}
      and fence = ${execution.fence} and state = 'in_progress'`,
  )
  return touched > 0
}
