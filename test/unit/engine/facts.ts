/** Made-up workflows, rows, graphs and plans for the tests of pure decisions. */
import { Graph, type GraphNode } from '../../../src/definition/graph.ts'
import type { ExceptionPolicy } from '../../../src/definition/workflow-definition.ts'
import { ancestryOf } from '../../../src/engine/ancestry.ts'
import { ChangeDraft } from '../../../src/engine/change-draft.ts'
import type { Course } from '../../../src/engine/courses.ts'
import { decideFinish } from '../../../src/engine/decide-finish.ts'
import type { FinishRequest } from '../../../src/engine/finish-request.ts'
import type { Plan, RunOn } from '../../../src/engine/plan.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import type { LatestEnding, NewExecution, WorkflowChange, WorkflowFacts } from '../../../src/store/change.ts'
import {
  type ActiveExecution,
  noProgress,
  type PauseCause,
  type Progress,
  type StoredWorkflowState,
  type WorkflowRecord,
} from '../../../src/store/records.ts'

/** Each node with what it depends on, as `{ a: '', b: 'a', c: 'a b' }`. */
export function graphOf(
  edges: Readonly<Record<string, string>>,
  more: Readonly<Record<string, Partial<GraphNode>>> = {},
  renamed?: Readonly<Record<string, string>>,
): Graph {
  const nodes = Object.entries(edges).map(([name, parents]): GraphNode => {
    const dependsOn = parents.split(' ').filter(parent => parent !== '')
    return { id: name, name, kind: 'step', waitMs: 0, queue: 'default', priority: 0, dependsOn, ...more[name] }
  })
  return new Graph({ type: 'Sample', queue: 'default', priority: 0, nodes, ...(renamed ? { renamed } : {}) })
}

export function chain(...names: string[]): Graph {
  return graphOf(Object.fromEntries(names.map((name, index) => [name, names[index - 1] ?? ''])))
}

export const diamond = graphOf({ a: '', b: 'a', c: 'a', d: 'b c' })

/** A plan whose fresh ids are '90', '91' and so on. */
export function planFor(graph: Graph, more: Partial<Plan> = {}): Plan {
  let next = 90
  return {
    graph,
    generation: 3,
    heals: false,
    previous: null,
    former: [],
    renamed: graph.renamed,
    handlerOf: () => 'Sample',
    takeId: () => String(next++),
    ...more,
  }
}

/** What a decision changes, in one go with others if it likes. */
/** The course of a workflow whose code is as it was. */
export function courseOf(graph: Graph, more: Partial<Course> = {}): Course {
  const { workflow } = facts({})
  const past = { previous: null, former: [] }
  return { graph, generation: 3, ...past, isOwn: true, heals: false, frozen: null, workflow, ...more }
}

export function decided(situation: WorkflowFacts, decide: (draft: ChangeDraft) => void): WorkflowChange {
  const draft = new ChangeDraft(situation, { counts: true })
  decide(draft)
  return draft.build()
}

export function decidedOn(
  situation: WorkflowFacts,
  graph: Graph,
  decide: (draft: ChangeDraft, plan: Plan) => void,
): WorkflowChange {
  return decided(situation, draft => decide(draft, planFor(graph)))
}

export interface Finished {
  readonly change: WorkflowChange
  readonly next: NewExecution | null
}

/** A report on a row, decided on its own. */
export function finished(
  situation: WorkflowFacts,
  running: ActiveExecution,
  report: StepReport,
  { plan, runOn = null }: { readonly plan: Plan; readonly runOn?: RunOn | null },
): Finished {
  let next: NewExecution | null = null
  const change = decided(situation, draft => {
    next = decideFinish(draft, running, report, { plan, runOn })[0] ?? null
  })
  return { change, next }
}

export function row(more: Partial<ActiveExecution> = {}): ActiveExecution {
  return {
    workflowId: '7',
    slot: '',
    id: '8',
    node: 'a',
    nodeName: null,
    kind: 'forward',
    attempt: 1,
    ordinal: 1,
    state: 'in_progress',
    queue: 'default',
    handler: 'Sample',
    lane: '',
    generation: 2,
    priority: 0,
    createdAt: 1000,
    dueAt: 1000,
    startedAt: 2000,
    owner: 'worker',
    fence: 5,
    failures: 0,
    crashes: 0,
    startMark: false,
    heldFrom: null,
    progress: noProgress,
    input: null,
    ancestry: ancestryOf(more.node ?? 'a', more.attempt ?? 1, []),
    ...more,
  }
}

/** The row of a node in a graph, where every node has a slot and here also an id of its own. */
export function rowOf(node: string, more: Partial<ActiveExecution> = {}): ActiveExecution {
  return row({ node, slot: node, id: `row-${node}`, ...more })
}

/** One that nobody has claimed yet. */
export function idleRowOf(node: string, more: Partial<ActiveExecution> = {}): ActiveExecution {
  return rowOf(node, { state: 'scheduled', owner: null, startedAt: null, ...more })
}

/** How far a resumable step has come. */
export const halfway: Progress = { cursor: '25', completedIterations: 25, total: 50, runs: 2 }

/** A resumable step that has stopped between two items. */
export const suspended = row({ state: 'suspended', owner: null, progress: halfway })

interface Situation extends Partial<Pick<WorkflowRecord, 'blockedBy' | 'finishing' | 'crooked' | 'generation'>> {
  readonly state?: StoredWorkflowState
  readonly pauseCause?: PauseCause | null
  readonly active?: readonly ActiveExecution[]
  /** Without it the facts do not show the ended attempts. */
  readonly latest?: readonly LatestEnding[] | null
  readonly parents?: readonly LatestEnding[]
  readonly fanIns?: Readonly<Record<string, number>>
  /** Set where the facts show some rows only. */
  readonly othersGoOn?: boolean
}

export function facts(situation: Situation): WorkflowFacts {
  const { state = 'ready', pauseCause = null, active = [], latest = null, parents = [], fanIns = {} } = situation
  const { blockedBy = null, finishing = false, crooked = false, generation = 3, othersGoOn } = situation
  const workflow = {
    id: '7',
    type: 'Sample',
    hero: null,
    state,
    pauseCause,
    allowMultiple: false,
    idempotencyKey: null,
    generation,
    frozen: null,
    blockedBy,
    finishing,
    rollback: null,
    partial: false,
    rounds: null,
    crooked,
    openLetters: 0,
    watched: false,
    continuation: null,
    continuedAs: null,
    continues: null,
    deadlineAt: null,
    version: 0,
    parent: null,
    createdAt: 1000,
    pausedAt: null,
    endedAt: null,
    lane: '',
  }
  return {
    workflow,
    active,
    complete: othersGoOn === undefined,
    othersGoOn: othersGoOn ?? false,
    latest: latest === null ? null : byNode(latest),
    parents: byNode(parents),
    letters: [],
    undo: null,
    outworn: [],
    decisions: [],
    signals: [],
    started: new Map(),
    others: new Map(),
    fanIns: new Map(Object.entries(fanIns)),
    ended: new Map(),
  }
}

function byNode(endings: readonly LatestEnding[]): Map<string, LatestEnding> {
  return new Map(endings.map(ending => [ending.node, ending]))
}

/** An ended attempt, one that has failed where nothing else is said. */
export function latest(more: Partial<LatestEnding> = {}): LatestEnding {
  const node = more.node ?? 'a'
  return {
    id: `ended-${node}`,
    node,
    attempt: 1,
    ordinal: 1,
    state: 'failed',
    outcome: 'paused_by_exception',
    reason: null,
    progress: noProgress,
    input: null,
    ancestry: ancestryOf(node, more.attempt ?? 1, []),
    ...more,
  }
}

/** Nodes that have completed. */
export function done(...nodes: string[]): LatestEnding[] {
  return nodes.map(node => latest({ node, state: 'completed', outcome: 'success' }))
}

export const stopTimer = row({
  slot: '#stop',
  id: '9',
  node: '',
  kind: 'timer',
  state: 'scheduled',
  owner: null,
  queue: '',
  fence: 0,
})

export const error = { className: 'Error', message: 'broken', stack: 'at step' }

/** A step threw, and this is what its policy says. */
export function threw(policy: Partial<ExceptionPolicy> & Pick<ExceptionPolicy, 'action'>): StepReport {
  return { kind: 'threw', error, policy: { waitMs: 0, limit: null, then: 'pause', ...policy }, retryMs: null }
}

export const completed: StepReport = { kind: 'completed', output: '"x"' }

/** How attempts ended: node, state and outcome of each. */
export function endings(change: WorkflowChange): string[] {
  return change.endings.map(({ execution, state, outcome }) => `${execution.node} ${state} ${outcome}`)
}

/** What begins or goes on: node, attempt and state of each new row. */
export function begun(change: WorkflowChange): string[] {
  return [...change.replacements, ...change.insertions].map(({ node, attempt, state }) => `${node} ${attempt} ${state}`)
}

export function eventsOf(change: WorkflowChange): string[] {
  return change.events.map(({ type, node }) => (node === undefined || node === null ? type : `${type} ${node}`))
}

/** A report on a row: it has completed, unless it is told otherwise. */
export function requestOn(
  execution: ActiveExecution,
  workflow: WorkflowRecord,
  more: Partial<FinishRequest> & Pick<FinishRequest, 'ids'>,
): FinishRequest {
  const claimed = { execution, workflow, input: null }
  return { claimed, report: completed, progress: null, emitted: [], runOn: null, repeated: false, ...more }
}
