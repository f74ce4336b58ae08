/** Everything about one workflow that is not its graph, its history or its events. Payloads stay encoded. */
import { isEnd } from '../../engine/end-watch.ts'
import type { Engine } from '../../engine/engine.ts'
import { findStoredOutput } from '../../engine/read-output.ts'
import { WorkflowNotFoundError } from '../../errors.ts'
import { toDate, toOptionalDate } from '../../primitives/to-date.ts'
import type { DecisionRecord, LetterRecord, WorkflowRecord, WorkflowState } from '../../store/records.ts'
import type { Store, WorkflowSnapshot } from '../../store/store.ts'
import { encodedJson } from './encoded.ts'
import { stateOf, summariesOf, type WorkflowSummary } from './workflow-summary.ts'

export interface WorkflowDetail extends WorkflowSummary {
  readonly input: unknown
  /** The result of one that has finished; of an `each` node its first thousand items. */
  readonly output: unknown
  readonly tags: readonly string[]
  readonly idempotencyKey: string | null
  readonly parent: { readonly id: string; readonly node: string } | null
  /** The newest hundred workflows that its nodes have started. */
  readonly children: readonly WorkflowSummary[]
  readonly continuedAs: string | null
  readonly continues: string | null
  readonly deadline: Date | null
  readonly pausedAt: Date | null
  readonly pauseCause: string | null
  /** A failed node that keeps others waiting. */
  readonly blockedBy: string | null
  readonly rollback: {
    readonly kind: 'failure' | 'cancel'
    readonly message: string | null
    readonly by: string | null
    readonly givenUp: boolean
  } | null
  readonly partial: boolean
  readonly generation: number
  readonly deadLetters: readonly (Pick<LetterRecord, 'id' | 'node' | 'reason'> & { readonly name: string })[]
  readonly decisions: readonly DecisionView[]
  /** What may be asked of it in its state. */
  readonly actions: readonly WorkflowAction[]
}

export interface DecisionView {
  readonly executionId: string
  readonly node: string
  readonly decision: 'confirmed' | 'rejected'
  readonly by: string
  readonly comment: string | null
  readonly data: unknown
  readonly at: Date
}

export type WorkflowAction = 'pause' | 'resume' | 'cancel' | 'abort'

const childrenShown = 100
const lettersShown = 100
const itemsShown = 1000

/** Throws `WorkflowNotFoundError`. */
export async function workflowDetail(engine: Engine, id: string): Promise<WorkflowDetail> {
  const { store } = engine
  const snapshot = await foundWorkflow(store, id)
  const { workflow } = snapshot
  const [[summary], input, tags, output, letters, decisions, children] = await Promise.all([
    summariesOf(store, [snapshot]),
    store.input(id),
    store.tags(id),
    workflow.state === 'finished' ? resultOf(engine, workflow) : null,
    store.listLetters({ workflowId: id, state: 'open', limit: lettersShown }),
    store.decisions({ workflowId: id }),
    childrenOf(store, id),
  ])
  if (summary === undefined) throw new WorkflowNotFoundError(id)
  const { parent, rollback } = workflow
  return {
    ...summary,
    input: encodedJson(input),
    output,
    tags,
    idempotencyKey: workflow.idempotencyKey,
    parent: parent === null ? null : { id: parent.workflowId, node: parent.node },
    children,
    continuedAs: workflow.continuedAs,
    continues: workflow.continues,
    deadline: toOptionalDate(workflow.deadlineAt),
    pausedAt: toOptionalDate(workflow.pausedAt),
    pauseCause: workflow.pauseCause,
    blockedBy: workflow.blockedBy,
    rollback: rollback && {
      kind: rollback.kind,
      message: rollback.message,
      by: rollback.by,
      givenUp: rollback.givenUp,
    },
    partial: workflow.partial,
    generation: workflow.generation,
    deadLetters: letters.map(({ id, node, nodeName, reason }) => ({ id, node, name: nodeName ?? node, reason })),
    decisions: decisions.map(decisionView),
    actions: actionsIn(stateOf(snapshot), rollback?.kind ?? null),
  }
}

/** Throws `WorkflowNotFoundError`, also for what cannot be an id. */
export async function foundWorkflow(store: Store, id: string): Promise<WorkflowSnapshot> {
  const found = store.isId(id) ? await store.findWorkflow(id) : null
  if (found === null) throw new WorkflowNotFoundError(id)
  return found
}

export function decisionView(record: DecisionRecord): DecisionView {
  const { executionId, node, decision, by, comment } = record
  return { executionId, node, decision, by, comment, data: encodedJson(record.data), at: toDate(record.at) }
}

/** What completed last, unless the class names another step; one that this process does not know names none. */
async function resultOf({ courses, store }: Engine, workflow: WorkflowRecord): Promise<unknown> {
  const { id, type, rounds } = workflow
  const node = courses.findDefinition(type)?.resultNode ?? null
  if (node === null) return encodedJson((await store.findOutput(id, null, rounds))?.output ?? null)
  const course = (await courses.of([workflow])).get(id)
  const found = course && (await findStoredOutput(store, course.graph, workflow, { node, maxItems: itemsShown }))
  if (!found) return null
  return 'items' in found ? found.items.map(encodedJson) : encodedJson(found.output)
}

async function childrenOf(store: Store, id: string): Promise<WorkflowSummary[]> {
  const { found } = await store.views.scan({ parentId: id }, { limit: childrenShown, window: childrenShown })
  return summariesOf(store, found)
}

function actionsIn(state: WorkflowState, rollback: 'failure' | 'cancel' | null): WorkflowAction[] {
  if (isEnd(state)) return []
  if (state === 'paused') return ['resume', 'cancel', 'abort']
  if (state === 'dlq') return ['cancel', 'abort']
  // That of a failure may go on to the start; that of a cancel does already.
  if (state === 'rolling_back') return rollback === 'failure' ? ['cancel', 'abort'] : ['abort']
  return ['pause', 'cancel', 'abort']
}
