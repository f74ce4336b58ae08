/**
 * Lock, look, decide, write: the only way in which a workflow that exists is changed. Lock order: workflows by id,
 * then the worker that reports; executions change only under the lock of their workflow, except that a claim takes what is idle and
 * that a running resumable step writes its own checkpoints.
 */
import { failpoint } from '../../primitives/failpoint.ts'
import type { WorkflowChange, WorkflowFacts } from '../change.ts'
import type { CommittedEvent } from '../event-store.ts'
import type { ActiveExecution } from '../records.ts'
import type { ChangeCall, ChangeTarget, StartOrder } from '../store.ts'
import type { SqlContext } from './context.ts'
import { int } from './decode.ts'
import type { OpenTransaction } from './dialect.ts'
import { lockFacts } from './lock-facts.ts'
import { lookCloser } from './look-closer.ts'
import { retriesInPassing, retrying } from './retrying.ts'
import { sql } from './sql.ts'
import { startEvents } from './start-workflows.ts'
import { aliveUnder } from './workers.ts'
import { changeStatements } from './write-changes.ts'

export type Decide = (facts: WorkflowFacts, revision: number | null) => WorkflowChange | null

export async function changeWorkflows(
  context: SqlContext,
  targets: readonly ChangeTarget[],
  decide: Decide,
  call: ChangeCall = {},
): Promise<WorkflowChange[]> {
  const [first] = targets
  if (first === undefined) return []
  const { database, dialect, lines } = context
  const once = (attempt: number) =>
    database.transaction(transaction => changeInside(context, transaction, { targets, decide, call, attempt }))
  const inLine = (attempt: number) => lines.through(first.workflowId, () => once(attempt))
  const changed = await retrying(dialect, call.inLine ? inLine : once, retriesInPassing(call.patienceMs))
  if (changed.changes.length > 0) failpoint?.('finish.after-commit')
  tellChanges(context, changed)
  return changed.changes
}

export interface ChangeWork {
  readonly targets: readonly ChangeTarget[]
  readonly decide: Decide
  readonly call: ChangeCall
  /** The number of the try, from 1: an earlier one may have been committed. */
  readonly attempt: number
}

interface Changed {
  readonly changes: WorkflowChange[]
  readonly facts: readonly WorkflowFacts[]
  readonly orders: readonly StartOrder[]
  readonly now: number
}

export async function changeInside(
  context: SqlContext,
  transaction: OpenTransaction,
  { targets, decide, call, attempt }: ChangeWork,
): Promise<Changed> {
  const orders: StartOrder[] = []
  const { workerId, mayStart } = call
  const revisionNow = async () => (workerId === undefined ? null : aliveUnder(context, transaction, workerId))
  // The worker comes last: its heartbeat must not wait behind a finish that waits for a workflow, or for the place of one.
  const [locked, early, now] = await Promise.all([
    lockFacts(context, transaction, {
      targets: attempt === 1 ? targets : targets.map(target => ({ ...target, repeated: true })),
      passes: call.passesLocked === true,
    }),
    mayStart ? null : revisionNow(),
    transaction.query(sql`select ${context.leaseNow} as now`),
  ])
  const clock = now[0] ? int(now[0], 'now') : 0
  const timed = locked.map(fact => ({ ...fact, now: clock + context.clockOffset }))
  const facts = await lookCloser(context, transaction, timed, noting(call, orders))
  const revision = mayStart ? await revisionNow() : early
  const changes = facts.map(fact => decide(fact, revision)).filter(change => change !== null)
  if (changes.length > 0) {
    failpoint?.('finish.before-commit')
    const at = context.at(context.dialect.timeParam(clock), { asSets: true })
    await transaction.commitWith(
      changeStatements(at, changes, { standing: reportedRows(facts, changes, call.workerId) }),
    )
  }
  return { changes, facts, orders, now: clock + context.clockOffset }
}

/** Rows of the worker that reports, as they stand: nobody else may change them, so most of what ends can be copied from them. */
function reportedRows(
  facts: readonly WorkflowFacts[],
  changes: readonly WorkflowChange[],
  workerId: string | undefined,
): ReadonlyMap<string, ActiveExecution> {
  const reported = new Map<string, ActiveExecution>()
  if (workerId === undefined) return reported
  const ended = new Set<object>()
  for (const { endings } of changes) for (const { execution } of endings) ended.add(execution)
  for (const { active } of facts) {
    for (const row of active) {
      if (row.owner === workerId && row.state === 'in_progress' && ended.has(row)) reported.set(row.id, row)
    }
  }
  return reported
}

/** After the commit. */
export function tellChanges(context: SqlContext, { changes, facts, orders, now }: Changed): void {
  context.tell(() => [
    ...startEvents(orders, [...(facts[0]?.started.values() ?? [])]),
    ...eventsIn(changes, facts, now),
  ])
}

/** Keeps the orders that a second look carries out. */
function noting(call: ChangeCall, orders: StartOrder[]): ChangeCall {
  const { look } = call
  if (look === undefined) return call
  return {
    ...call,
    look(facts) {
      const closer = look(facts)
      if (closer !== null) orders.push(...closer.starts)
      return closer
    },
  }
}

export function eventsIn(
  changes: readonly WorkflowChange[],
  facts: readonly WorkflowFacts[],
  at: number,
): readonly CommittedEvent[] {
  const types = new Map(facts.map(({ workflow }) => [workflow.id, workflow.type]))
  return changes.flatMap(({ workflowId, events }) =>
    events.map(event => ({ event, workflowType: types.get(workflowId) ?? '', at })),
  )
}
