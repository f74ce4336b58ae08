/** What waits for people: the inbox, with all that somebody needs to decide. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { GraphNode } from '../../definition/graph.ts'
import type { Course } from '../../engine/courses.ts'
import type { Engine } from '../../engine/engine.ts'
import { toDate } from '../../primitives/to-date.ts'
import type { WaitingPlace, WaitingRow } from '../../store/view-store.ts'
import { limitFrom, type Page, type PageOptions, refuseUnknownOfPage, rowCursor, rowPlaceFrom } from './view-options.ts'
import { type DecisionView, decisionView } from './workflow-detail.ts'
import { type HeroName, heroNameOf } from './workflow-summary.ts'

export interface Approval {
  /** What `geneva.decide` takes. */
  readonly executionId: string
  readonly workflowId: string
  readonly type: string
  readonly hero: HeroName | null
  readonly node: string
  readonly name: string
  readonly prompt: string | null
  /** What the data of a decision must fit, where this process has it. */
  readonly schema: StandardSchemaV1 | null
  readonly assignTo: readonly string[]
  readonly quorum: number
  /** What becomes of the workflow when somebody says no. */
  readonly onReject: string
  readonly decisions: readonly DecisionView[]
  readonly deadline: Date | null
  readonly waitingSince: Date
}

const patienceMs = 120
const window = 5000

/** Newest workflow first. */
export async function listApprovals(engine: Engine, options: PageOptions): Promise<Page<Approval>> {
  const { store } = engine
  refuseUnknownOfPage('approvals', options)
  const limit = limitFrom(options.limit)
  const begun = performance.now()
  const found: { row: WaitingRow; node: GraphNode; course: Course }[] = []
  let after: WaitingPlace | null = rowPlaceFrom(store, options.cursor)
  do {
    const page = await store.views.waiting(after, { limit: limit - found.length, window })
    const courses = await engine.courses.of(page.rows.map(({ snapshot }) => snapshot.workflow))
    for (const row of page.rows) {
      const course = courses.get(row.snapshot.workflow.id)
      const node = course?.graph.find(row.node)
      if (course && node?.human) found.push({ row, node, course })
    }
    after = page.next
  } while (after !== null && found.length < limit && performance.now() - begun < patienceMs)
  const made = await store.views.decisionsOn(found.map(({ row }) => row.executionId))
  const decisionsOf = (id: string) => made.filter(({ executionId }) => executionId === id).map(decisionView)
  const items = found.map(each => ({ ...approvalOf(engine, each), decisions: decisionsOf(each.row.executionId) }))
  return { items, nextCursor: after && rowCursor(after) }
}

function approvalOf(
  engine: Engine,
  { row, node, course }: { readonly row: WaitingRow; readonly node: GraphNode; readonly course: Course },
): Omit<Approval, 'decisions'> {
  const { workflow } = row.snapshot
  const { human } = node
  const onReject = human?.onReject ?? 'abort'
  const { waitTimeoutMs = null } = node
  return {
    executionId: row.executionId,
    workflowId: workflow.id,
    type: workflow.type,
    hero: heroNameOf(workflow.hero),
    node: node.id,
    name: node.name,
    prompt: human?.prompt ?? null,
    schema: schemaOf(engine, course, node),
    assignTo: human?.assignTo ?? [],
    quorum: human?.quorum ?? 1,
    onReject: typeof onReject === 'string' ? onReject : `back to ${onReject.backTo}`,
    deadline: waitTimeoutMs === null ? null : toDate(row.since + waitTimeoutMs * 1000),
    waitingSince: toDate(row.since),
  }
}

/** Of the class, if this process has its code; of a stored graph by the name of its form. */
function schemaOf(engine: Engine, { workflow }: Course, { id, human }: GraphNode): StandardSchemaV1 | null {
  const definition = engine.courses.findDefinition(workflow.type)
  const own = definition?.nodes.find(({ name }) => name === id)?.waitsFor?.schema ?? null
  if (own !== null || human?.form === undefined) return own
  return engine.forms.find(human.form)?.schema ?? null
}
