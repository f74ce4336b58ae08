/**
 * How much of history a step of a rollback has to look at: as far as the next thing that somebody has to be called for. A
 * rollback goes back and never forward again, so whatever ended after what it has just undone is settled. Its beginning and
 * its end, and whatever else is out of the order, are decided with everything in sight. After the end of the workflow only what
 * was requeued is undone, each on its own.
 */
import type { UndoFacts, WorkflowFacts } from '../store/change.ts'
import type { UndoAgain, UndoStretch } from '../store/store.ts'
import type { Course } from './courses.ts'
import { isEnd } from './end-watch.ts'
import type { FinishRequest } from './finish-request.ts'
import { namesOf } from './parents.ts'
import { currentName } from './plan.ts'
import { nodeToUndo, rowsInTurn } from './rollback.ts'
import { undoneBy, undonePlace } from './stored-input.ts'

/** How many that wait to be undone once more are looked at: more than one, because the code may have lost what undoes it. */
const waiting = 16

/** What has to be looked at when a compensation, or several, were reported on: `true` for everything. */
export function undoLook(
  course: Course,
  facts: WorkflowFacts,
  requests: readonly FinishRequest[],
): true | UndoStretch | UndoAgain {
  const rows = requests.map(({ claimed }) => claimed.execution)
  if (!isEnd(facts.workflow.state) || rows.some(({ kind }) => kind !== 'compensate'))
    return nextStretch(course, facts, requests) ?? true
  return { of: rows.map(({ input }) => undoneBy(input)), waiting }
}

/** `null`: everything has to be looked at. */
function nextStretch(
  { graph, former }: Course,
  { workflow }: WorkflowFacts,
  requests: readonly FinishRequest[],
): UndoStretch | null {
  const [request, ...others] = requests
  const { state, rollback } = workflow
  if (request === undefined || others.length > 0 || state !== 'rolling_back' || rollback?.requeued) return null
  const { kind, input } = request.claimed.execution
  const below = kind === 'compensate' ? undonePlace(input) : null
  if (below === null) return null
  const plan = { graph, former, renamed: graph.renamed }
  const isEnough = (facts: UndoFacts) => rowsInTurn(facts, plan, workflow).some(row => nodeToUndo(plan, row) !== null)
  const names = (node: string) => namesOf(plan, currentName(plan, node))
  return { undone: undoneBy(input), below, isEnough, namesOf: names }
}
