/** The attempts of a workflow as a graph shows them, from one narrow look at them. */
import { isEnd } from '../../engine/end-watch.ts'
import { toDate, toOptionalDate } from '../../primitives/to-date.ts'
import type { ActiveExecution, EndedExecution, WorkflowRecord } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import type { AttemptBrief } from '../../store/view-store.ts'
import type { DrawnExecution } from '../execution.ts'
import { progressOf } from '../step-progress.ts'
import type { GraphStates } from './graph-view.ts'

export async function graphStates(store: Store, { id, state, rounds }: WorkflowRecord): Promise<GraphStates> {
  const goesOn = !isEnd(state)
  const briefs = await store.views.briefs(id)
  const counting = briefs.some(({ completed, total }) => completed > 0 || total !== null)
  const now = counting && goesOn ? await store.now() : null
  const executions = executionsOf(briefs, now)
  const of = (kind: AttemptBrief['kind']) => executions.filter((_, index) => briefs[index]?.kind === kind)
  return { history: of('forward'), compensations: of('compensate'), goesOn, rounds }
}

function executionsOf(briefs: readonly AttemptBrief[], now: number | null): DrawnExecution[] {
  const attempts = new Map<string, AttemptBrief>()
  return briefs.map(brief => {
    const before = attempts.get(brief.node) ?? null
    if (brief.kind === 'forward') attempts.set(brief.node, brief)
    const isCounted = brief.completed > 0 || brief.total !== null
    return {
      id: brief.id,
      step: brief.node,
      node: brief.node,
      attempt: brief.attempt,
      dropped: 0,
      state: brief.state,
      outcome: brief.outcome,
      scheduledFor: toDate(brief.dueAt),
      startedAt: toOptionalDate(brief.startedAt),
      endedAt: toOptionalDate(brief.endedAt),
      error: brief.error && { ...brief.error, stack: null },
      reason: null,
      progress: isCounted ? progressOf(counted(brief), before && counted(before), now) : null,
    }
  })
}

/** What progress is told from. */
function counted({
  completed,
  total,
  runs,
  startedAt,
  endedAt,
  state,
}: AttemptBrief): ActiveExecution | EndedExecution {
  const progress = { cursor: null, completedIterations: completed, total, runs }
  return { progress, startedAt, state, ...(endedAt === null ? {} : { endedAt }) } as ActiveExecution | EndedExecution
}
