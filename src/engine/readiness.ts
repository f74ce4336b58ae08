/**
 * Which nodes of a workflow may run now, and why the others may not: one pure function over what the store reads in one
 * look. It says of a node what a claim would do; it claims, schedules and writes nothing.
 *
 * A node may run when every condition holds, looked at in this order: the workflow goes on; the node is not done; what it
 * depends on is; attempts are left and the error was worth one; nobody runs it; it waits for nothing else; its time has
 * come; a live worker has its code; its queue is not paused; and its limits leave room.
 */
import type { Graph, GraphNode, NodeKind } from '../definition/graph.ts'
import { toDate, toOptionalDate } from '../primitives/to-date.ts'
import type { StandingEnd, StandingRow, WorkflowStanding } from '../store/readiness-facts.ts'
import { isEnd } from './end-watch.ts'
import { hasFailed } from './failed-nodes.ts'
import { isSatisfied } from './is-satisfied.ts'
import { type NodeStanding, nodeStandings } from './node-standings.ts'
import type { NodeState } from './node-state.ts'
import type { QueueHolds } from './queue-holds.ts'
import { childIn } from './stored-input.ts'
import type { FailureCause, WaitReason } from './wait-reason.ts'
import { stopTimerSlot } from './wind-down.ts'
import type { Workforce } from './workforce.ts'

export interface NodeReadiness {
  readonly id: string
  readonly name: string
  /** `null`: the code does not have it any more. */
  readonly kind: NodeKind | null
  readonly state: NodeState
  /** Its compensation is under way: attempt, failures and the like are those of that. */
  readonly undoing: boolean
  /** The number of its latest attempt; 0 while there is none. */
  readonly attempt: number
  /** It may run now: a live worker claims it at its next look. */
  readonly ready: boolean
  /** Why it does not, in the order of the conditions. Empty exactly when it is ready. */
  readonly reasons: readonly WaitReason[]
  /** What it depends on and is not done. */
  readonly openParents: readonly string[]
  /** Errors in a row; `null` where no attempt is planned. */
  readonly failures: number | null
  /** How often it may still be called before its errors have consequences; `null` where that is not known here. */
  readonly attemptsLeft: number | null
  /** False when its error was not worth another attempt. */
  readonly retryable: boolean
  readonly claimedBy: string | null
  /** When its planned attempt is due, or was. */
  readonly dueAt: Date | null
}

export interface Surroundings {
  readonly graph: Graph
  /** The time of the database in microseconds. */
  readonly now: number
  readonly workers: Workforce
  /** Pauses and limits of queues; without it there are none. */
  readonly holds?: QueueHolds
  /** How often a node, or its compensation, may be called. `null`: it is not retried. `undefined`: its code is not here. */
  attemptsOf(node: GraphNode, undoing: boolean): number | null | undefined
}

export function readinessOf(standing: WorkflowStanding, around: Surroundings): NodeReadiness[] {
  return nodeStandings(standing, around.graph).map(part => nodeReadiness(part, standing, around))
}

function nodeReadiness(part: NodeStanding, standing: WorkflowStanding, around: Surroundings): NodeReadiness {
  const { id, node, row, latest, openParents } = part
  const undoing = row?.kind === 'compensate'
  const attempts = node === null ? undefined : around.attemptsOf(node, undoing)
  const reasons = new Conditions(part, standing, around).reasons(attempts)
  const failed = reasons.find(reason => reason.kind === 'failed')
  return {
    id,
    name: node?.name ?? id,
    kind: node?.kind ?? null,
    state: row?.state ?? (latest?.outcome === 'not_taken' ? 'not_taken' : (latest?.state ?? 'pending')),
    undoing,
    attempt: row?.attempt ?? latest?.attempt ?? 0,
    ready: reasons.length === 0,
    reasons,
    openParents,
    failures: row?.failures ?? null,
    attemptsLeft: failed ? 0 : latest !== null && row === null ? null : attemptsLeft(row, attempts),
    retryable: failed?.why !== 'not_retryable',
    claimedBy: row?.owner ?? null,
    dueAt: toOptionalDate(row?.dueAt ?? null),
  }
}

/** Without a retry there is one call; more of them follow only from a policy that says `reattempt`. */
function attemptsLeft(row: StandingRow | null, attempts: number | null | undefined): number | null {
  const failures = row?.failures ?? 0
  if (attempts === undefined) return null
  if (attempts === null) return failures === 0 ? 1 : null
  return Math.max(0, attempts - failures)
}

/** Where one of these holds, it is clear why a node has no row. */
const explaining: ReadonlySet<WaitReason['kind']> = new Set(['stopping', 'dependencies', 'failed'])

class Conditions {
  readonly #part: NodeStanding
  readonly #standing: WorkflowStanding
  readonly #around: Surroundings

  constructor(part: NodeStanding, standing: WorkflowStanding, around: Surroundings) {
    this.#part = part
    this.#standing = standing
    this.#around = around
  }

  /** All that keep the node, in order. What is over has one reason. */
  reasons(attempts: number | null | undefined): WaitReason[] {
    const over = this.#done() ?? this.#ended()
    if (over) return [over]
    const found = [
      this.#stopping(),
      this.#paused(),
      this.#lost(),
      this.#dependencies(),
      this.#failed(attempts),
      this.#claimed(),
      this.#waiting(),
      this.#notDue(attempts),
      this.#unserved(),
      ...this.#heldBack(),
    ].filter(reason => reason !== null)
    const explained = found.some(({ kind }) => explaining.has(kind))
    return this.#part.row !== null || explained ? found : [...found, { kind: 'not_scheduled' }]
  }

  #done(): WaitReason | null {
    const { row, latest, isSpared } = this.#part
    if (row !== null || latest === null) return null
    if (isSpared || latest.outcome === 'not_taken' || latest.outcome === 'superseded') return { kind: 'left_out' }
    return isSatisfied(latest) ? { kind: 'done', outcome: latest.outcome } : null
  }

  #ended(): WaitReason | null {
    const { state } = this.#standing.workflow
    return isEnd(state) ? { kind: 'ended', state } : null
  }

  #stopping(): WaitReason | null {
    const { workflow, active } = this.#standing
    const timer = active.find(row => row.slot === stopTimerSlot)
    const until = toOptionalDate(timer?.dueAt ?? null)
    if (workflow.state === 'rolling_back') return { kind: 'stopping', how: 'canceling', until }
    return workflow.finishing ? { kind: 'stopping', how: 'finishing', until } : null
  }

  /** What runs goes on running. */
  #paused(): WaitReason | null {
    const { workflow, change } = this.#standing
    const state = this.#part.row?.state
    if (state === 'in_progress' || (workflow.state !== 'paused' && state !== 'paused')) return null
    const { by = null, reason = null } = change ?? {}
    return { kind: 'paused', cause: workflow.pauseCause, by, reason, since: toOptionalDate(workflow.pausedAt) }
  }

  #lost(): WaitReason | null {
    return this.#part.node === null ? { kind: 'lost' } : null
  }

  /** What has begun does not wait for parents that came later. */
  #dependencies(): WaitReason | null {
    const { row, latest, openParents } = this.#part
    if (row !== null || latest !== null || openParents.length === 0) return null
    return { kind: 'dependencies', open: openParents }
  }

  #failed(attempts: number | null | undefined): WaitReason | null {
    const { row, latest } = this.#part
    if (row !== null || latest === null || !hasFailed(latest)) return null
    const { attempt, error, endedAt } = latest
    return { kind: 'failed', why: failureCause(latest, attempts), attempt, error, at: toDate(endedAt) }
  }

  #claimed(): WaitReason | null {
    const { row } = this.#part
    if (row?.state !== 'in_progress' || row.owner === null) return null
    const worker = this.#around.workers.find(row.owner)
    return {
      kind: 'claimed',
      worker: row.owner,
      host: worker?.host ?? null,
      since: toOptionalDate(row.startedAt),
      alive: worker?.alive ?? false,
    }
  }

  #waiting(): WaitReason | null {
    const { row, node, id } = this.#part
    if (row?.state !== 'waiting') return null
    if (node?.kind === 'item') return { kind: 'place', limit: node.concurrency ?? null }
    if (node?.kind === 'signal') return { kind: 'signal', name: node.name }
    if (node?.kind === 'human') return this.#people(row, node)
    const child = childIn(row.input)
    if (child !== null) {
      const { type = null, state = null } = this.#standing.children.get(child.workflowId) ?? {}
      return { kind: 'child', workflowId: child.workflowId, type, state }
    }
    return node?.kind === 'each'
      ? { kind: 'items', open: this.#standing.fanIns.get(id) ?? this.#standing.fanIns.get(row.node) ?? 0 }
      : { kind: 'outside' }
  }

  #people({ id, startedAt }: StandingRow, { human, waitTimeoutMs }: GraphNode): WaitReason {
    const { prompt = null, assignTo = [], quorum = 1 } = human ?? {}
    const made = this.#standing.confirmed.filter(({ executionId }) => executionId === id)
    const until = waitTimeoutMs === undefined || startedAt === null ? null : toDate(startedAt + waitTimeoutMs * 1000)
    return { kind: 'people', prompt, assignTo, quorum, confirmedBy: made.map(({ by }) => by), until }
  }

  /** A held row keeps its time. */
  #notDue(attempts: number | null | undefined): WaitReason | null {
    const { row, latest } = this.#part
    if (row === null || row.state === 'in_progress' || row.state === 'waiting') return null
    if (row.dueAt <= this.#around.now) return null
    const until = toDate(row.dueAt)
    if (row.failures === 0) return { kind: 'time', until }
    const before = row.kind === 'compensate' ? this.#standing.undo : latest
    return { kind: 'backoff', failures: row.failures, attempts: attempts ?? null, until, error: before?.error ?? null }
  }

  #heldBack(): WaitReason[] {
    const { row } = this.#part
    const { now, holds } = this.#around
    if (holds === undefined || (row?.state !== 'scheduled' && row?.state !== 'suspended') || row.dueAt > now) return []
    return [holds.pauseOf(row) ?? [], holds.limitsOf(row)].flat()
  }

  #unserved(): WaitReason | null {
    const { row } = this.#part
    const { now, workers } = this.#around
    if ((row?.state !== 'scheduled' && row?.state !== 'suspended') || row.dueAt > now) return null
    const { served, lastServedAt } = workers.coverOf(row)
    if (served) return null
    const { handler, queue, generation, dueAt } = row
    return { kind: 'no_worker', handler, queue, generation, since: toDate(Math.max(dueAt, lastServedAt ?? 0)) }
  }
}

/** The row of an ended attempt does not tell how many failures came before it; its number is the next best. */
function failureCause(latest: StandingEnd, attempts: number | null | undefined): FailureCause {
  const { outcome, error, attempt } = latest
  if (outcome === 'canceled_by_flow_control') return 'paused_itself'
  if (outcome === 'unknown') return 'unknown_outcome'
  if (outcome === 'recovered') return 'crash_limit'
  if (error?.className === 'PermanentError') return 'not_retryable'
  if (attempts === null || attempts === undefined) return 'not_retried'
  return attempt >= attempts ? 'attempts_exhausted' : 'not_retryable'
}
