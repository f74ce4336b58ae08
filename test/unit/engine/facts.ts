/** Made-up workflows, rows and plans for the tests of pure decisions. */
import type { Graph } from '../../../src/definition/graph.ts'
import type { Plan } from '../../../src/engine/schedule.ts'
import type { LatestEnding, WorkflowFacts } from '../../../src/store/change.ts'
import {
  type ActiveExecution,
  noProgress,
  type PauseCause,
  type Progress,
  type StoredWorkflowState,
} from '../../../src/store/records.ts'

export function chain(...names: string[]): Graph {
  const nodes = names.map(name => ({ name, kind: 'step' as const, waitMs: 0, queue: 'default', priority: 0 }))
  return { type: 'Sample', queue: 'default', priority: 0, nodes }
}

export function planFor(graph: Graph, more: Partial<Plan> = {}): Plan {
  return { graph, generation: 3, movedBack: new Set(), others: [], nextId: '90', skippedId: '91', runOn: null, ...more }
}

export function row(more: Partial<ActiveExecution> = {}): ActiveExecution {
  return {
    workflowId: '7',
    slot: '',
    id: '8',
    node: 'a',
    kind: 'forward',
    attempt: 1,
    ordinal: 1,
    state: 'in_progress',
    queue: 'default',
    handler: 'Sample',
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
    ...more,
  }
}

/** How far a resumable step has come. */
export const halfway: Progress = { cursor: '25', completedIterations: 25, total: 50, runs: 2 }

/** A resumable step that has stopped between two items. */
export const suspended = row({ state: 'suspended', owner: null, progress: halfway })

interface Situation {
  readonly state?: StoredWorkflowState
  readonly pauseCause?: PauseCause | null
  readonly active?: readonly ActiveExecution[]
  readonly latest?: LatestEnding | null
  readonly passed?: readonly string[]
}

export function facts(situation: Situation): WorkflowFacts {
  const { state = 'ready', pauseCause = null, active = [], latest = null, passed = [] } = situation
  const workflow = {
    id: '7',
    type: 'Sample',
    hero: null,
    state,
    pauseCause,
    allowMultiple: false,
    idempotencyKey: null,
    createdAt: 1000,
    pausedAt: null,
    endedAt: null,
  }
  return { workflow, active, latest, passed: new Set(passed), endedBy: new Map() }
}

export function latest(more: Partial<LatestEnding> = {}): LatestEnding {
  return {
    node: 'a',
    attempt: 1,
    ordinal: 1,
    state: 'failed',
    outcome: 'paused_by_exception',
    progress: noProgress,
    ...more,
  }
}

export const stopTimer = row({
  slot: 'timer',
  id: '9',
  node: '',
  kind: 'timer',
  state: 'scheduled',
  owner: null,
  queue: '',
  fence: 0,
})
