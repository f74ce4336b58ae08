/**
 * Reports that need no look before they are decided on: a step of a chain has simply completed, and its worker knows the
 * workflow and the row since it claimed them. Whatever else is the case has changed the workflow's version or the row.
 */
import type { WorkflowFacts } from '../store/change.ts'
import type { ClaimedExecution, WorkflowRecord } from '../store/records.ts'
import type { Course } from './courses.ts'
import type { FinishRequest } from './finish-request.ts'
import { currentName } from './plan.ts'

/** The facts of a report, if they can be taken as known. */
export function assumedFacts(course: Course, requests: readonly FinishRequest[]): WorkflowFacts | null {
  const [request] = requests
  if (request === undefined || requests.length > 1 || !isSimple(course, request)) return null
  return factsOfClaim(request.claimed)
}

function isSimple({ graph, heals, isOwn }: Course, { claimed, report, progress, repeated }: FinishRequest): boolean {
  const { execution, workflow } = claimed
  if (repeated || heals || !isOwn || !graph.isChain || progress !== null) return false
  if (report.kind !== 'completed' || execution.kind !== 'forward' || !goesItsWay(workflow)) return false
  return graph.find(currentName(graph, execution.node))?.kind === 'step'
}

/** Nothing is asked of it, and nothing but its one row stands for it. */
function goesItsWay(workflow: WorkflowRecord): boolean {
  const { state, finishing, blockedBy, rollback, openLetters, continuation } = workflow
  return (
    state === 'ready' &&
    !finishing &&
    blockedBy === null &&
    rollback === null &&
    continuation === null &&
    openLetters === 0
  )
}

const none = { map: new Map<string, never>(), list: [] as never[] }

/** What a worker knows of what it has claimed, without a look. */
export function factsOfClaim({ workflow, execution }: ClaimedExecution): WorkflowFacts {
  return {
    workflow,
    active: [execution],
    complete: true,
    othersGoOn: false,
    latest: null,
    outworn: none.list,
    parents: none.map,
    undo: null,
    decisions: none.list,
    signals: none.list,
    letters: none.list,
    started: none.map,
    others: none.map,
    fanIns: none.map,
    endedBy: none.map,
  }
}
