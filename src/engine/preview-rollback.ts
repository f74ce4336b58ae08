/** What a rollback would undo if it began now, in order. Looks only. */

import { isEnd } from './end-watch.ts'
import type { Engine } from './engine.ts'
import { nodeToUndo, rollbackOf, rowsToUndo } from './rollback.ts'
import { stopIdle } from './wind-down.ts'

export interface RollbackStep {
  readonly executionId: string
  readonly step: string
  readonly attempt: number
  /** The method or job that undoes it; `null`: it is marked as rolled back, and nothing is called. */
  readonly compensation: string | null
}

/** After a failure it goes back to the last save point, after a cancel to the start. What still runs may be added. */
export async function previewRollback(engine: Engine, id: string, kind: 'cancel' | 'failure'): Promise<RollbackStep[]> {
  return engine.look(id, (draft, plan) => {
    // What was begun and stands still is undone as well, once it has ended.
    if (draft.state !== 'rolling_back' && !isEnd(draft.state)) stopIdle(draft, { by: null, reason: null })
    draft.setWorkflow({ rollback: draft.workflow.rollback ?? rollbackOf(kind, null) })
    return rowsToUndo(draft, plan).map(row => ({
      executionId: row.id,
      step: row.nodeName ?? row.node,
      attempt: row.attempt,
      compensation: nodeToUndo(plan, row)?.compensation.name ?? null,
    }))
  })
}
