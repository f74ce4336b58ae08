/**
 * Checkpoints of resumable steps: one narrow statement under the fence, alone or together with the application's writes.
 * A step that gets this far has not crashed, so the count of crashes begins anew.
 */
import { jittered, pauseFor } from '../../primitives/pause-for.ts'
import type { ActiveExecution, Progress } from '../records.ts'
import type { OpenApplicationTransaction } from '../store.ts'
import type { SqlContext } from './context.ts'
import { int } from './decode.ts'
import { isTransient } from './is-transient.ts'
import { retrying } from './retrying.ts'
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
  let calls = 0
  for (let attempt = 1; ; attempt++) {
    let written: { readonly result: Result } | null = null
    try {
      return await transact(context, open, async opened => {
        calls++
        const result = await work(opened.handle)
        if (!(await opened.checkpoint(execution, progress))) throw lost
        written = { result }
        return written
      })
    } catch (error) {
      if (error === lost) return 'lost'
      if (isTransient(context.dialect, error) && calls < maxCalls && attempt - calls < maxOpenings) {
        await pauseFor(jittered(Math.min(5 * 2 ** attempt, 250), 1))
        continue
      }
      if (written === null || context.dialect.classify(error) === 'transient') throw error
      if (await wasCommitted(context, execution, progress)) return written
      throw error
    }
  }
}

export interface CheckpointWork<Result> {
  work(transaction: any): Promise<Result>
  readonly open: OpenApplicationTransaction | null
}

/** How often the code is called while the database does not let it through, and how often a transaction is asked for in vain. */
const maxCalls = 10
const maxOpenings = 150

const lost = Symbol('the claim is lost')

/** The answer to the commit was lost. The row tells; the lock waits for a commit that is still under way. */
async function wasCommitted(context: SqlContext, execution: ActiveExecution, progress: Progress): Promise<boolean> {
  const { tables, database, dialect } = context
  const rows = await runTransaction(database, transaction =>
    transaction.query(sql`select a.completed_iterations from ${tables.active} a
      where a.workflow_id = ${context.id(execution.workflowId)} and a.slot = ${execution.slot}
        and a.fence = ${execution.fence}${dialect.lock}`),
  )
  return rows[0] !== undefined && int(rows[0], 'completed_iterations') === progress.completedIterations
}
