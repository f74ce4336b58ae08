/** Made-up standings of workflows, and the workers around them, for the tests of readiness and what is told from it. */
import type { Graph } from '../../../src/definition/graph.ts'
import { type NodeReadiness, readinessOf, type Surroundings } from '../../../src/engine/readiness.ts'
import { Workforce } from '../../../src/engine/workforce.ts'
import type { KnownWorker, StandingEnd, WorkflowStanding } from '../../../src/store/readiness-facts.ts'
import type { ActiveExecution, WorkflowRecord } from '../../../src/store/records.ts'
import { facts } from './facts.ts'

/** In microseconds: 2026-01-01, noon. */
export const noon = Date.UTC(2026, 0, 1, 12) * 1000
export const minute = 60_000_000

export interface Standing extends Partial<Omit<WorkflowStanding, 'workflow' | 'active' | 'latest' | 'fanIns'>> {
  readonly workflow?: Partial<WorkflowRecord>
  readonly active?: readonly ActiveExecution[]
  readonly latest?: readonly StandingEnd[]
  readonly fanIns?: Readonly<Record<string, number>>
}

export function standingOf(given: Standing): WorkflowStanding {
  return {
    workflow: { ...facts({}).workflow, ...given.workflow },
    active: given.active ?? [],
    latest: new Map((given.latest ?? []).map(ending => [ending.node, ending])),
    undo: given.undo ?? null,
    fanIns: new Map(Object.entries(given.fanIns ?? {})),
    change: given.change ?? null,
    children: given.children ?? new Map(),
    letters: given.letters ?? [],
    confirmed: given.confirmed ?? [],
  }
}

/** An ended attempt, one that has failed where nothing else is said. */
export function endOf(node: string, more: Partial<StandingEnd> = {}): StandingEnd {
  return {
    id: `ended-${node}`,
    node,
    attempt: 1,
    state: 'failed',
    outcome: 'paused_by_exception',
    endedAt: noon - minute,
    error: { className: 'Error', message: 'broken' },
    reason: null,
    ...more,
  }
}

export function doneEnd(node: string): StandingEnd {
  return endOf(node, { state: 'completed', outcome: 'success', error: null })
}

/** A worker that has all the code there is. */
export const ableWorker: KnownWorker = {
  id: 'worker',
  host: 'host-1',
  pid: 1,
  alive: true,
  leaseUntil: noon + minute,
  handlers: ['Sample'],
  serves: { queues: ['default'], generations: { Sample: 3 } },
}

export interface Around extends Partial<Omit<Surroundings, 'graph' | 'workers'>> {
  readonly workers?: readonly KnownWorker[]
}

export function readiness(standing: WorkflowStanding, graph: Graph, around: Around = {}): NodeReadiness[] {
  const { workers = [ableWorker], now = noon, attemptsOf = () => null } = around
  return readinessOf(standing, { graph, now, attemptsOf, workers: new Workforce(workers) })
}

/** Each node with the kinds of its reasons: `a ready, b dependencies`. */
export function told(nodes: readonly NodeReadiness[]): string {
  return nodes
    .map(({ id, ready, reasons }) => `${id} ${ready ? 'ready' : reasons.map(({ kind }) => kind).join('+')}`)
    .join(', ')
}
