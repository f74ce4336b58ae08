/**
 * Code that must not be called twice by the engine itself: when its worker is lost in mid-call, or its time is over, nobody
 * knows what it has done. Its own method is asked, or a person settles it. Pure changes to a draft.
 */
import type { Graph } from '../definition/graph.ts'
import type { ErrorRecord } from '../primitives/describe-error.ts'
import type { NewExecution } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'
import type { ChangeDraft } from './change-draft.ts'
import { crashLimit } from './crash-limit.ts'
import { leavePlace } from './each-items.ts'
import { currentName, type Plan } from './plan.ts'
import { repeat } from './schedule.ts'
import { markReconcile } from './stored-input.ts'

/** Whether the code of this row is called once: the step itself, or what undoes it. */
export function isCalledOnce(graph: Graph, { node, kind }: Pick<ActiveExecution, 'node' | 'kind'>): boolean {
  const known = graph.find(currentName(graph, node))
  return kind === 'compensate' ? known?.compensation?.once === true : kind === 'forward' && known?.once !== undefined
}

/**
 * The call of code that must not be called twice may have begun. Told by the mark alone, which only such code sets: newer code may
 * say other of the step, or not have it. Before that nothing was called, whatever else of its code has run.
 */
export function isInCall({ startMark }: Pick<ActiveExecution, 'startMark'>): boolean {
  return startMark === true
}

/** The next attempt after a call whose outcome is unknown asks its own code first whether that happened; `null`: nobody can be asked. */
export function askingFirst(
  plan: Plan,
  row: Pick<ActiveExecution, 'node' | 'input'>,
): { readonly input: string } | null {
  const node = plan.graph.find(currentName(plan, row.node))
  return node?.once?.reconciles ? { input: markReconcile(row.input) } : null
}

export interface Unknown {
  readonly error?: ErrorRecord
  readonly reason?: string
  /** How often in a row its worker has died by now. */
  readonly crashes?: number
}

/** The call may have happened. At the limit it is not asked by itself any more whether it has, lest it is called once more. */
export function endUnknown(
  draft: ChangeDraft,
  plan: Plan,
  row: ActiveExecution,
  { crashes = 0, ...why }: Unknown,
): NewExecution[] {
  draft.end(row, 'failed', 'unknown', why)
  const asking = askingFirst(plan, row)
  if (asking !== null && crashes < crashLimit) {
    const { failures } = row
    return [repeat(draft, plan, row, { due: { inMs: 0 }, failures, crashes, ...asking })]
  }
  draft.setWorkflow({ blockedBy: draft.workflow.blockedBy ?? row.node })
  leavePlace(draft, plan, row.node)
  return []
}
