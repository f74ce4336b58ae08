/**
 * Workers and their leases. A worker is one incarnation of a process; once declared dead it never comes back, and
 * nothing can be claimed in its name.
 */
import type { ActiveExecution, ClaimedExecution, WorkerRecord } from '../records.ts'
import type { AbandonedWhere, HeldExecution, RowKey } from '../store.ts'
import { activeColumns, workflowColumns } from './columns.ts'
import type { SqlContext } from './context.ts'
import { activeExecution, claimedExecution, int, optionalText, text } from './decode.ts'
import type { Executor, Row } from './dialect.ts'
import { runTransaction } from './run-transaction.ts'
import { oneOf, param, raw, type Sql, sql } from './sql.ts'
import { keyRows } from './take-claimed.ts'

/** How many workers one look may bury, so that the transaction stays small. */
const burialLimit = 20

export async function registerWorker(context: SqlContext, worker: WorkerRecord): Promise<void> {
  await runTransaction(context.database, async transaction => {
    const rows = context.rows('r', {
      columns: { id: 'text', host: 'text', pid: 'int', lease: 'int', handlers: 'json', serves: 'json' },
      rows: [
        [
          worker.id,
          worker.host,
          worker.pid,
          worker.leaseMs * 1000,
          JSON.stringify(worker.handlers),
          worker.serves === undefined ? null : JSON.stringify(worker.serves),
        ],
      ],
    })
    await transaction.run(
      context.dialect.insertNew(
        context.tables.workers,
        ['id', 'host', 'pid', 'state', 'started_at', 'lease_until', 'handlers', 'serves'],
        sql`select r.id, r.host, r.pid, 'alive', ${context.leaseNow}, ${context.leaseNow} + r.lease, r.handlers, r.serves
          from ${rows}`,
      ),
    )
  })
}

/**
 * Holds the worker's row until the transaction ends, so that nobody can bury it meanwhile. Tells the revision of the limits,
 * so that nothing begins by rules that have changed; `null` when the lease is lost.
 */
export async function aliveUnder(context: SqlContext, executor: Executor, workerId: string): Promise<number | null> {
  const [row] = await executor.query(
    sql`select k.id, ${revisionIn(context)} as revision from ${context.tables.workers} k
      where k.id = ${workerId} and k.state = 'alive'${context.dialect.lockShared}`,
  )
  return row === undefined ? null : int(row, 'revision')
}

function revisionIn(context: SqlContext): Sql {
  return sql`(select l.revision from ${context.tables.limits} l where l.scope = '' and l.name = '' and l.lane = '')`
}

/** Holds the worker's row like `aliveUnder`, and finds it only if it lives and the limits are those of a revision, if one matters. */
export function lockAlive(context: SqlContext, workerId: string, revision: number | null): Sql {
  const alive = ({ tables }: SqlContext, worker: Sql) =>
    sql`select k.id from ${tables.workers} k where k.id = ${worker} and k.state = 'alive'`
  if (revision === null) {
    return context.statement(
      lockAlive,
      [param(workerId)],
      (at, worker) => sql`${alive(at, worker)}${at.dialect.lockShared}`,
    )
  }
  return context.statement(
    lockAlive,
    [param(workerId), param(revision)],
    (at, worker, same) => sql`${alive(at, worker)} and ${revisionIn(at)} = ${same}${at.dialect.lockShared}`,
  )
}

/** False when the lease is lost. */
export async function renewLease(context: SqlContext, workerId: string, leaseMs: number): Promise<boolean> {
  const renewed = await context.write(
    sql`update ${context.tables.workers} set lease_until = ${context.leaseNow} + ${leaseMs * 1000}
      where id = ${workerId} and state = 'alive'`,
  )
  return renewed > 0
}

interface Heartbeat {
  readonly workerId: string
  readonly leaseMs: number
  readonly among: readonly RowKey[] | undefined
}

export async function heartbeat(
  context: SqlContext,
  { workerId, leaseMs, among }: Heartbeat,
): Promise<HeldExecution[] | null> {
  const { active, workflows } = context.tables
  if (!(await renewLease(context, workerId, leaseMs))) return null
  if (among?.length === 0) return []
  const { byKey, keyedJoin, sameKey } = context.dialect
  const held =
    among === undefined
      ? sql`${active} a`
      : sql`${keyRows(context, among)} ${keyedJoin} ${active} a${byKey} on ${context.sameRow}`
  // By name it would be looked up in the index of owners, which has an entry for each row that the worker ever had.
  const owner = raw(among === undefined ? 'a.owner' : `coalesce(a.owner, '')`)
  const rows = await context.read(
    sql`select a.workflow_id, a.slot, a.id, a.kind, a.fence, a.held_from, w.state, w.finishing
      from ${held} ${keyedJoin} ${workflows} w${byKey} on ${sameKey('w.id', 'a.workflow_id')}
      where ${owner} = ${workerId}`,
  )
  return rows.map(row => ({
    workflowId: text(row, 'workflow_id'),
    slot: text(row, 'slot'),
    id: text(row, 'id'),
    fence: int(row, 'fence'),
    stopping: optionalText(row, 'held_from') === 'stopping' || (text(row, 'kind') === 'forward' && isEnding(row)),
    pausing: text(row, 'state') === 'paused' || text(row, 'state') === 'dlq',
  }))
}

/** Nothing more is wanted of the steps of such a workflow. What undoes them is just what it waits for. */
function isEnding(row: Row): boolean {
  return int(row, 'finishing') === 1 || !['ready', 'paused', 'dlq'].includes(text(row, 'state'))
}

export async function heldBy(context: SqlContext, workerId: string): Promise<ClaimedExecution[]> {
  const { active, workflows } = context.tables
  const rows = await context.read(
    sql`select ${activeColumns}, ${workflowColumns}, w.input, w.trace_parent from ${active} a
      ${context.dialect.keyedJoin} ${workflows} w${context.dialect.byKey} on ${context.dialect.sameKey('w.id', 'a.workflow_id')} where a.owner = ${workerId}`,
  )
  return rows.map(claimedExecution)
}

/** A worker that leaves in good order. What it still holds, if anything, is found at once. */
export async function retireWorker(context: SqlContext, workerId: string): Promise<void> {
  await context.write(sql`update ${context.tables.workers} set state = 'dead' where id = ${workerId}`)
  await removeBuried(context)
}

export async function findAbandoned(
  context: SqlContext,
  handlers: readonly string[],
  { limit, except = [], among }: AbandonedWhere & { readonly limit: number },
): Promise<ActiveExecution[]> {
  await bury(context)
  if (handlers.length === 0) return []
  const { active, workers } = context.tables
  // Asked for first, because there are none most of the time: then no row has to be looked at.
  const dead = await context.read(sql`select k.id from ${workers} k where k.state = 'dead'`)
  if (dead.length === 0) return []
  const workflow = raw('a.workflow_id')
  const others = except.length === 0 ? raw('') : sql` and not (${context.among(workflow, except)})`
  const these = among === undefined ? raw('') : sql` and ${context.among(workflow, among)}`
  const rows = await context.read(
    sql`select ${activeColumns} from ${active} a where ${oneOf(raw('a.owner'), namesIn(dead))}
      and ${oneOf(raw('a.handler'), handlers)}${others}${these} limit ${limit}`,
  )
  if (rows.length === 0 && except.length === 0 && among === undefined) await removeBuried(context)
  return rows.map(activeExecution)
}

async function bury(context: SqlContext): Promise<void> {
  const { workers } = context.tables
  const lapsed = sql`select a.id from ${workers} a where a.state = 'alive' and a.lease_until < ${context.leaseNow}
    order by a.id limit ${burialLimit}`
  if ((await context.read(lapsed)).length === 0) return
  await runTransaction(context.database, async transaction => {
    const rows = await transaction.query(sql`${lapsed}${context.dialect.lockSkipping}`)
    for (const row of rows) {
      await transaction.run(sql`update ${workers} set state = 'dead' where id = ${text(row, 'id')} and state = 'alive'`)
    }
  })
}

async function removeBuried(context: SqlContext): Promise<void> {
  const { workers, active } = context.tables
  // As a scalar, because a planner may answer NOT EXISTS by reading the owners of all active rows.
  const empty = sql`k.state = 'dead' and coalesce((select 1 from ${active} a where a.owner = k.id limit 1), 0) = 0`
  const found = await context.read(sql`select k.id from ${workers} k where ${empty} limit ${burialLimit}`)
  if (found.length === 0) return
  const theirs = (column: string) => oneOf(raw(column), namesIn(found))
  await runTransaction(context.database, async transaction => {
    // Whoever still commits in its name holds its row, and may leave work behind: that worker is not removed yet.
    const locked = await transaction.query(
      sql`select a.id from ${workers} a where ${theirs('a.id')} order by a.id${context.dialect.lockSkipping}`,
    )
    const free = new Set(namesIn(locked))
    const still = await transaction.query(sql`select k.id from ${workers} k where ${theirs('k.id')} and ${empty}`)
    for (const id of namesIn(still)) {
      if (free.has(id)) await transaction.run(sql`delete from ${workers} where id = ${id}`)
    }
  })
}

function namesIn(workers: readonly Row[]): string[] {
  return workers.map(row => text(row, 'id'))
}
