/**
 * What a node of a stored graph says beyond its edges: branches, joins, people, messages and compensations, as they stand
 * in the JSON. Reading them from outside is `parse-flow.ts`, which checks everything.
 */
import type { GraphCompensation, GraphNode, Guard, HumanWait, Join } from './graph.ts'
import type { StoredRetry } from './retry-in-graph.ts'
import type { PolicyNotation } from './step-options.ts'

/** What is absent is as it would be by default. */
export interface FrozenFlow {
  /** An expression: the node runs only when it comes to true. */
  readonly if?: string
  /** An expression: the node is skipped when it comes to true. */
  readonly skip_if?: string
  /** The node runs only when the condition came out so. */
  readonly guard?: Guard
  /** Of joins. */
  readonly join?: Join
  /** The expression of a condition. */
  readonly test?: string
  readonly compensation?: FrozenCompensation
  /** Of human nodes. */
  readonly human?: FrozenHuman
  /** How long a human or signal node waits. */
  readonly wait_timeout_ms?: number
  /** What happens when nothing came in time, in the notation of `onException`. */
  readonly on_timeout?: PolicyNotation
  /** The name of the form that the payload of a signal must fit. */
  readonly payload?: string
  /** Its code is called once; `job` tells whether a lost call happened. */
  readonly once?: { readonly reconciles: boolean; readonly job?: string }
}

export interface FrozenCompensation {
  /** Of the job, or of the method in the graph of a class. */
  readonly name: string
  readonly after_failure?: boolean
  readonly idempotent?: boolean
  readonly retry?: StoredRetry
  readonly timeout_ms?: number
}

export interface FrozenHuman {
  readonly prompt?: string
  /** The name of a form. */
  readonly form?: string
  readonly assign_to?: readonly string[]
  readonly quorum?: number
  readonly on_reject?: 'abort' | 'rollback' | { readonly back_to: string }
  readonly escalations?: readonly { readonly after_ms: number; readonly to: readonly string[] }[]
}

/** An expression that is asked when a node is about to run, and the answer on which it does. */
export interface StoredTest {
  readonly text: string
  readonly runsWhen: boolean
}

/** `null` for a node that runs in any case. */
export function testOf({ if: runIf, skip_if: skipIf }: FrozenFlow): StoredTest | null {
  if (runIf !== undefined) return { text: runIf, runsWhen: true }
  return skipIf === undefined ? null : { text: skipIf, runsWhen: false }
}

type GraphFlow = Pick<GraphNode, 'guard' | 'join' | 'test' | 'compensation' | 'human' | 'waitTimeoutMs' | 'once'>

export function flowOfFrozen(node: FrozenFlow): GraphFlow {
  const { guard, join, test, compensation, human, wait_timeout_ms: waitTimeoutMs, once } = node
  return {
    ...(guard && { guard }),
    ...(join && { join }),
    ...(test === undefined ? {} : { test }),
    ...(compensation && { compensation: compensationOf(compensation) }),
    ...(human && { human: humanOf(human) }),
    ...(waitTimeoutMs === undefined ? {} : { waitTimeoutMs }),
    ...(once && { once: { reconciles: once.reconciles } }),
  }
}

export function frozenFlowOf(node: GraphFlow): FrozenFlow {
  const { guard, join, test, compensation, human, waitTimeoutMs, once } = node
  return {
    ...(guard && { guard }),
    ...(join && { join }),
    ...(test === undefined ? {} : { test }),
    ...(compensation && { compensation: frozenCompensation(compensation) }),
    ...(human && { human: frozenHuman(human) }),
    ...(waitTimeoutMs === undefined ? {} : { wait_timeout_ms: waitTimeoutMs }),
    ...(once && { once: { reconciles: once.reconciles } }),
  }
}

function compensationOf({ name, after_failure = true, idempotent = true }: FrozenCompensation): GraphCompensation {
  return { name, afterFailure: after_failure, ...(idempotent ? {} : { once: true }) }
}

function frozenCompensation({ name, afterFailure, once }: GraphCompensation): FrozenCompensation {
  return { name, ...(afterFailure ? {} : { after_failure: false }), ...(once ? { idempotent: false } : {}) }
}

function humanOf({ prompt, form, assign_to, quorum, on_reject = 'abort', escalations }: FrozenHuman): HumanWait {
  return {
    ...(prompt === undefined ? {} : { prompt }),
    ...(form === undefined ? {} : { form }),
    ...(assign_to && { assignTo: assign_to }),
    quorum: quorum ?? 1,
    onReject: typeof on_reject === 'object' ? { backTo: on_reject.back_to } : on_reject,
    ...(escalations && { escalations: escalations.map(({ after_ms, to }) => ({ afterMs: after_ms, to })) }),
  }
}

export function frozenHuman({ prompt, form, assignTo, quorum, onReject, escalations }: HumanWait): FrozenHuman {
  const rejected = typeof onReject === 'object' ? { back_to: onReject.backTo } : onReject
  return {
    ...(prompt === undefined ? {} : { prompt }),
    ...(form === undefined ? {} : { form }),
    ...(assignTo && { assign_to: assignTo }),
    ...(quorum === 1 ? {} : { quorum }),
    ...(rejected === 'abort' ? {} : { on_reject: rejected }),
    ...(escalations && { escalations: escalations.map(({ afterMs, to }) => ({ after_ms: afterMs, to })) }),
  }
}

type ShapedNode = FrozenFlow & { readonly kind?: string; readonly workflow?: string }

/** What tells graphs apart besides names, edges and jobs; `null` where there is nothing. */
export function flowShape(node: ShapedNode, nameOf: (id: string) => string): unknown {
  const { kind, workflow } = node
  const runs = testOf(node)
  const isPlain = node.guard === undefined && node.compensation === undefined && node.once === undefined
  if (isPlain && runs === null && workflow === undefined && !isStructural(kind)) return null
  const { guard, join, test, compensation, human, on_timeout, payload, once } = node
  const onReject = human?.on_reject
  const shape = {
    ...(isStructural(kind) && { kind }),
    ...(workflow !== undefined && { workflow }),
    ...(guard && { guard: [nameOf(guard.condition), guard.when] }),
    ...(join && { join: [join.rule, join.branches.map(branch => branch.map(nameOf).sort()).sort()] }),
    ...(test !== undefined && { test }),
    ...(runs && { runs: [runs.text, runs.runsWhen] }),
    ...(compensation && { compensation }),
    ...(human && { human }),
    ...(typeof onReject === 'object' && { back: nameOf(onReject.back_to), human: { ...human, on_reject: null } }),
    ...(on_timeout !== undefined && { on_timeout }),
    ...(payload !== undefined && { payload }),
    ...(once && { once }),
  }
  return shape
}

/** The kinds that there were before have no part in signatures. */
function isStructural(kind: string | undefined): boolean {
  return kind !== undefined && kind !== 'resumable' && kind !== 'each' && kind !== 'child'
}
