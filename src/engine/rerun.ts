/**
 * Runs a part of a workflow again as a new one: what does not come after the chosen nodes is taken over with its outputs,
 * as if it had just been done; the rest starts where it falls due.
 */
import type { Graph } from '../definition/graph.ts'
import { InvalidArgumentError, WorkflowNotFoundError } from '../errors.ts'
import type { Ending, NewEvent, WorkflowChange } from '../store/change.ts'
import type { EndedExecution, WorkflowRecord } from '../store/records.ts'
import { isOfThisRound } from '../store/rounds.ts'
import { scheduledEvent } from '../store/scheduled-event.ts'
import type { StartOrder } from '../store/store.ts'
import { ancestryOf } from './ancestry.ts'
import { ChangeDraft } from './change-draft.ts'
import { type Course, planOf } from './courses.ts'
import { deadlineOf, deadlineRow } from './deadlines.ts'
import { emptyFacts } from './empty-facts.ts'
import type { Engine } from './engine.ts'
import { heal } from './heal.ts'
import { IdPool, withEnoughIds } from './id-pool.ts'
import { isSatisfied } from './is-satisfied.ts'
import { parentsOf } from './parents.ts'
import { currentName, type Plan } from './plan.ts'

export async function rerunOrder(engine: Engine, id: string, given: readonly string[]): Promise<StartOrder> {
  const { store } = engine
  const workflow = await engine.find(id)
  const course = await engine.courses.one(workflow)
  const from = given.map(node => course.graph.idOf(node))
  checkNodes(course.graph, id, from)
  const { history, outputs, items, input, tags, graphs } = await readWhole(engine, workflow)
  const [newId = '', timerId = ''] = await store.takeIds(2)
  const pool = new IdPool(engine.ids)
  const change = await withEnoughIds(engine.ids, async () => {
    pool.rewind()
    const current = history.filter(row => isOfThisRound(workflow.rounds, row))
    const taken = takenOver(course.graph, current, from)
    return firstChange(workflow, course, { newId, taken, outputs, items, takeId: () => pool.take() })
  })
  const isOver = change.insertions.length === 0
  const deadline = isOver ? null : deadlineOf(course.graph, { delayMs: 0, at: null })
  const { onDeadline } = course.graph.data
  const timers = deadline === null ? [] : [deadlineRow(newId, timerId, deadline, onDeadline)]
  return {
    id: newId,
    type: workflow.type,
    hero: workflow.hero,
    input,
    allowMultiple: workflow.allowMultiple,
    idempotencyKey: null,
    formerTypes: engine.courses.otherTypesOf(workflow.type),
    tags,
    lane: workflow.lane,
    generation: course.generation,
    graph: graphs?.get(id) ?? null,
    parent: null,
    first: [...change.insertions, ...timers],
    deadline,
    taken: {
      endings: change.endings,
      fanIns: change.fanIns.inserted,
      events: [...change.events.map(asOfNow), ...timers.map(scheduledEvent)],
    },
  }
}

/**
 * Retention removes a workflow in several transactions, and an interrupted one leaves a half. What is missing would be done again. Events go
 * first, so while there are some, what was read before is whole.
 */
async function readWhole({ store }: Engine, { id, rounds, frozen }: WorkflowRecord) {
  const [history, outputs, items, input, tags, graphs] = await Promise.all([
    store.history(id),
    store.findOutputs(id, '', rounds),
    store.findItems(id, rounds),
    store.input(id),
    store.tags(id),
    frozen === null ? null : store.frozenGraphs([id]),
  ])
  const events = await store.countEvents([id])
  if (!events.has(id)) throw new WorkflowNotFoundError(id)
  return { history, outputs, items, input, tags, graphs }
}

/** One that is over at once has not lasted, whenever the workflow began that it was made from. */
function asOfNow(event: NewEvent): NewEvent {
  return event.type === 'workflow.finished' ? { ...event, since: null } : event
}

function checkNodes(graph: Graph, id: string, from: readonly string[]): void {
  if (from.length === 0) throw new InvalidArgumentError(`Say from which step workflow ${id} is to be run again.`)
  const item = from.find(node => graph.eachOf(node) !== null)
  if (item !== undefined) {
    throw new InvalidArgumentError(
      `${item} of workflow ${id} is one item of many. Run it again from ${graph.eachOf(item)?.name}.`,
    )
  }
  const unknown = from.find(node => graph.find(node) === null)
  if (unknown === undefined) return
  const names = graph.nodes.map(node => node.name).slice(0, 20)
  throw new InvalidArgumentError(`Workflow ${id} has no step ${JSON.stringify(unknown)}. It has: ${names.join(', ')}.`)
}

/** The latest attempts that stand, of every node that does not come after one of those to be run again. */
function takenOver(graph: Graph, history: readonly EndedExecution[], from: readonly string[]): EndedExecution[] {
  const again = new Set([...from, ...from.flatMap(node => [...graph.descendantsOf(node)])])
  const latest = new Map<string, EndedExecution>()
  for (const row of history) {
    const known = latest.get(row.node)
    if (row.kind === 'forward' && (!known || known.attempt < row.attempt)) latest.set(row.node, row)
  }
  const standing = [...latest.values()].filter(row => isSatisfied(row) && stands(graph, row.node, again))
  return withoutLoneItems(graph, standing).toSorted((a, b) => a.ordinal - b.ordinal)
}

/** An `each` node that is not taken over asks for its items again, and runs them all. */
function withoutLoneItems(graph: Graph, rows: readonly EndedExecution[]): EndedExecution[] {
  const names = new Set(rows.map(row => currentName(graph, row.node)))
  return rows.filter(row => {
    const each = graph.eachOf(currentName(graph, row.node))
    return each === null || names.has(each.id)
  })
}

function stands(graph: Graph, node: string, again: ReadonlySet<string>): boolean {
  const name = currentName(graph, node)
  return graph.find(name) !== null && !again.has(graph.eachOf(name)?.id ?? name)
}

interface Takeover {
  readonly newId: string
  readonly taken: readonly EndedExecution[]
  readonly outputs: ReadonlyMap<string, string | null>
  /** What items of `each` nodes have worked on: whoever undoes them needs it. */
  readonly items: ReadonlyMap<string, string | null>
  takeId(): string
}

function firstChange(old: WorkflowRecord, course: Course, takeover: Takeover): WorkflowChange {
  const workflow: WorkflowRecord = {
    ...old,
    id: takeover.newId,
    state: 'ready',
    pauseCause: null,
    generation: course.generation,
    crooked: false,
    blockedBy: null,
    finishing: false,
    rollback: null,
    partial: false,
    rounds: null,
    openLetters: 0,
    watched: false,
    continuation: null,
    continuedAs: null,
    continues: null,
    deadlineAt: null,
    parent: null,
  }
  const plan = planOf({ ...course, workflow }, { take: () => takeover.takeId() }, true)
  const draft = new ChangeDraft(emptyFacts(workflow), { counts: true })
  for (const row of takeover.taken) {
    const output = takeover.outputs.get(row.node) ?? null
    take(draft, plan, row, { from: old.id, output, input: takeover.items.get(row.node) ?? null })
  }
  heal(draft, plan)
  return draft.build()
}

function take(
  draft: ChangeDraft,
  plan: Plan,
  row: EndedExecution,
  { from, output, input }: { readonly from: string; readonly output: Ending['output']; readonly input: string | null },
): void {
  const node = currentName(plan, row.node)
  const known = plan.graph.find(node)
  const parents = known === null ? [] : parentsOf(draft, plan, known)
  const why = `taken over from workflow ${from}`
  draft.insertEnded(
    {
      ...row,
      workflowId: draft.workflowId,
      id: plan.takeId(),
      node,
      attempt: 1,
      input,
      createdAt: null,
      dueAt: null,
      startedAt: null,
      owner: null,
      ancestry: ancestryOf(node, 1, parents),
    },
    row.state,
    row.outcome,
    // The branches of a condition go by its answer, which is its reason.
    { output, reason: known?.kind === 'condition' ? row.reason : why, eventReason: why },
  )
}
