/**
 * Lock, look, decide, write: the only way in which a workflow that exists is changed. Lock order: worker, then
 * workflows by id; executions change only under the lock of their workflow, except that a claim takes what is idle and
 * that a running resumable step writes its own checkpoints.
 */
import { failpoint } from '../../primitives/failpoint.ts'
import type { LatestEnding, WorkflowChange, WorkflowFacts } from '../change.ts'
import type { ActiveExecution } from '../records.ts'
import type { ChangeTarget } from '../store.ts'
import { activeColumns, workflowColumns } from './columns.ts'
import type { SqlContext } from './context.ts'
import { activeExecution, int, optionalText, progress, text, workflowRecord } from './decode.ts'
import type { Row, Transaction } from './dialect.ts'
import { runTransaction } from './run-transaction.ts'
import { raw, type Sql, sql } from './sql.ts'
import { workerIsAlive } from './workers.ts'
import { changeStatements } from './write-changes.ts'

export type Decide = (facts: WorkflowFacts, workerAlive: boolean) => WorkflowChange | null

export async function changeWorkflows(
  context: SqlContext,
  targets: readonly ChangeTarget[],
  decide: Decide,
  workerId?: string,
): Promise<WorkflowChange[]> {
  if (targets.length === 0) return []
  return runTransaction(context.database, async (transaction, attempt) => {
    const [alive, facts] = await Promise.all([
      workerId === undefined ? false : workerIsAlive(context, transaction, workerId),
      lockFacts(context, transaction, attempt === 1 ? targets : targets.map(target => ({ ...target, repeated: true }))),
    ])
    const changes = facts.map(fact => decide(fact, alive)).filter(change => change !== null)
    if (changes.length > 0) {
      failpoint?.('finish.before-commit')
      await transaction.commitWith(changeStatements(context, changes))
      failpoint?.('finish.after-commit')
    }
    return changes
  })
}

/** The queries are issued together, so that a driver that can pipeline needs one round trip. */
async function lockFacts(
  context: SqlContext,
  transaction: Transaction,
  targets: readonly ChangeTarget[],
): Promise<WorkflowFacts[]> {
  const ids = [...new Set(targets.map(target => target.workflowId))]
  const withLatest = targets.filter(target => target.withLatest).map(target => target.workflowId)
  const withPassed = targets.filter(target => target.withPassed).map(target => target.workflowId)
  const lockRows = targets.some(target => target.withLatest || target.lockRows)
  const settle = targets.flatMap(target => (target.repeated ? (target.settle ?? []) : []))
  const [workflows, active, latest, ended, passed] = await Promise.all([
    transaction.query(lockWorkflows(context, ids)),
    transaction.query(selectActive(context, ids, lockRows)),
    withLatest.length === 0 ? [] : transaction.query(selectLatest(context, withLatest)),
    settle.length === 0 ? [] : transaction.query(selectEnded(context, settle)),
    withPassed.length === 0 ? [] : transaction.query(selectPassed(context, withPassed)),
  ])
  const rowsOf = groupByWorkflow(active)
  const endedBy = new Map(ended.map(row => [text(row, 'id'), optionalText(row, 'owner')]))
  const latestOf = new Map(latest.map(row => [text(row, 'workflow_id'), latestEnding(row)]))
  return workflows.map(row => {
    const workflow = workflowRecord(row)
    return {
      workflow,
      active: rowsOf.get(workflow.id) ?? [],
      latest: latestOf.get(workflow.id) ?? null,
      passed: passedBy(workflow.id, passed),
      endedBy,
    }
  })
}

function lockWorkflows(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select ${workflowColumns} from ${context.tables.workflows} w${context.dialect.byKey}
    where ${context.among(raw('w.id'), ids)} order by w.id${context.dialect.lock}`
}

/** Whoever reports on a row owns it. Others lock it: it must not be claimed, nor moved on, once it was looked at. */
function selectActive(context: SqlContext, ids: readonly string[], lock: boolean): Sql {
  return sql`select ${activeColumns} from ${context.tables.active} a${context.dialect.byKey}
    where ${context.among(raw('a.workflow_id'), ids)}${lock ? context.dialect.lock : raw('')}`
}

function selectLatest(context: SqlContext, ids: readonly string[]): Sql {
  const { history } = context.tables
  return sql`select e.workflow_id, e.node, e.attempt, e.ordinal, e.state, e.outcome, e.cursor_value, e.completed_iterations,
      e.total_iterations, e.runs from ${history} e
    where ${context.among(raw('e.workflow_id'), ids)} and e.kind = 'forward' and e.ordinal =
      (select max(l.ordinal) from ${history} l where l.workflow_id = e.workflow_id and l.kind = 'forward')`
}

function selectPassed(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select distinct e.workflow_id, e.node from ${context.tables.history} e
    where ${context.among(raw('e.workflow_id'), ids)} and e.kind = 'forward'`
}

function passedBy(workflowId: string, rows: readonly Row[]): Set<string> {
  const own = rows.filter(row => text(row, 'workflow_id') === workflowId)
  return new Set(own.map(row => text(row, 'node')))
}

function selectEnded(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select e.id, e.owner from ${context.tables.history} e where ${context.among(raw('e.id'), ids)}`
}

function latestEnding(row: Row): LatestEnding {
  return {
    node: text(row, 'node'),
    attempt: int(row, 'attempt'),
    ordinal: int(row, 'ordinal'),
    state: text(row, 'state') as LatestEnding['state'],
    outcome: text(row, 'outcome') as LatestEnding['outcome'],
    progress: progress(row),
  }
}

function groupByWorkflow(rows: readonly Row[]): Map<string, ActiveExecution[]> {
  const groups = new Map<string, ActiveExecution[]>()
  for (const row of rows) {
    const execution = activeExecution(row)
    const group = groups.get(execution.workflowId)
    if (group) group.push(execution)
    else groups.set(execution.workflowId, [execution])
  }
  return groups
}
