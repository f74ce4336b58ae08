/**
 * Lock, look, decide, write: the only way in which a workflow that exists is changed. Lock order: workflows by id,
 * then the worker that reports; executions change only under the lock of their workflow, except that a claim takes what is idle and
 * that a running resumable step writes its own checkpoints.
 */
import { failpoint } from '../../primitives/failpoint.ts'
import type { WorkflowChange, WorkflowFacts } from '../change.ts'
import type { ChangeCall, ChangeTarget } from '../store.ts'
import type { SqlContext } from './context.ts'
import { lockFacts } from './lock-facts.ts'
import { lookCloser } from './look-closer.ts'
import { runTransaction } from './run-transaction.ts'
import { aliveUnder } from './workers.ts'
import { changeStatements } from './write-changes.ts'

export type Decide = (facts: WorkflowFacts, revision: number | null) => WorkflowChange | null

export async function changeWorkflows(
  context: SqlContext,
  targets: readonly ChangeTarget[],
  decide: Decide,
  call: ChangeCall = {},
): Promise<WorkflowChange[]> {
  if (targets.length === 0) return []
  return runTransaction(context.database, async (transaction, attempt) => {
    // The worker comes last: its heartbeat must not wait behind a finish that waits for a workflow.
    const [locked, revision] = await Promise.all([
      lockFacts(context, transaction, attempt === 1 ? targets : targets.map(target => ({ ...target, repeated: true }))),
      call.workerId === undefined ? null : aliveUnder(context, transaction, call.workerId),
    ])
    const facts = await lookCloser(context, transaction, locked, call)
    const changes = facts.map(fact => decide(fact, revision)).filter(change => change !== null)
    if (changes.length > 0) {
      failpoint?.('finish.before-commit')
      await transaction.commitWith(changeStatements(context, changes))
      failpoint?.('finish.after-commit')
    }
    return changes
  })
}
