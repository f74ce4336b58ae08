/**
 * Checkpoints of resumable steps: one narrow statement under the fence, alone or together with the application's writes.
 * A step that gets this far has not crashed, so the count of crashes begins anew.
 */
import { jittered, pauseFor } from '../../primitives/pause-for.ts'
import type { ActiveExecution, Progress } from '../records.ts'
import type { OpenApplicationTransaction, OpenedTransaction, WorkInTransaction } from '../store.ts'
import { isClaimLost, TransactionUndoneError } from '../transaction-undone-error.ts'
import type { SqlContext } from './context.ts'
import { int } from './decode.ts'
import { isOfTheConnection, isTransient, OpenedAgain } from './is-transient.ts'
import { retrying, untilAnswered } from './retrying.ts'
import { runTransaction } from './run-transaction.ts'
import { sql } from './sql.ts'
import { transact } from './transact.ts'
import { writeProgress } from './write-progress.ts'

export async function checkpoint(
  context: SqlContext,
  execution: ActiveExecution,
  progress: Progress,
): Promise<boolean> {
  const { database } = context
  const statement = writeProgress(context, execution, progress)
  return (await retrying(database.dialect, () => database.run(statement))) > 0
}

/** The claim is checked by the last statement: if it is lost, the application's writes are undone. */
export async function checkpointWith<Result>(
  context: SqlContext,
  execution: ActiveExecution,
  progress: Progress,
  { work, open }: CheckpointWork<Result>,
): Promise<{ readonly result: Result } | 'lost'> {
  const find = async (written: { readonly result: Result }, error: unknown) => {
    if (await wasCommitted(context, execution, progress)) return written
    throw error
  }
  let calls = 0
  for (let attempt = 1; ; attempt++) {
    const call = { isAtWork: false }
    const write = async (opened: OpenedTransaction) => {
      calls++
      call.isAtWork = true
      const result = await work(opened.handle, opened.abandon)
      call.isAtWork = false
      if (!(await opened.checkpoint(execution, progress))) throw new TransactionUndoneError('lost')
      return { result }
    }
    try {
      return await transact(context, open, write, find)
    } catch (error) {
      if (isClaimLost(error)) return 'lost'
      const isConflict = isTransient(context.dialect, error)
      const mayPass = isConflict || (calls > 0 && !call.isAtWork && passes(context, error))
      if (!mayPass || calls >= maxCalls || attempt - calls >= maxOpenings) throw error
      await pauseFor(jittered(Math.min(5 * 2 ** attempt, 250), 1))
    }
  }
}

/** Said of what our own writes, or the commit, have met. Whoever was not called yet is not waited for here. */
function passes({ dialect }: SqlContext, error: unknown): boolean {
  return error instanceof OpenedAgain || isOfTheConnection(dialect, error)
}

export interface CheckpointWork<Result> {
  readonly work: WorkInTransaction<Result>
  readonly open: OpenApplicationTransaction | null
}

/** How often the code is called while the database does not let it through, and how often a transaction is asked for in vain. */
const maxCalls = 10
const maxOpenings = 150

/**
 * The answer to the commit was lost. The row tells, once the database can be asked, and nothing may be done before that: the next
 * run would begin with what is done. The lock waits for a commit that is still under way.
 */
async function wasCommitted(context: SqlContext, execution: ActiveExecution, progress: Progress): Promise<boolean> {
  const { tables, database, dialect } = context
  const select = sql`select a.completed_iterations from ${tables.active} a
    where a.workflow_id = ${context.id(execution.workflowId)} and a.slot = ${execution.slot}
      and a.id = ${context.id(execution.id)} and a.fence = ${execution.fence}${dialect.lock}`
  const rows = await runTransaction(database, transaction => transaction.query(select), untilAnswered)
  return rows[0] !== undefined && int(rows[0], 'completed_iterations') === progress.completedIterations
}
