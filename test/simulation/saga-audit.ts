/**
 * What must be true of a saga that has ended, found out from its graph, its history and its events alone, whoever has kept
 * them: beyond the boundary everything is undone once, newest first, one at a time. What is wrong is said in sentences.
 */
import type { Graph, GraphNode } from '../../src/definition/graph.ts'

/** An ended attempt at a node, or at undoing one. */
export interface EndedRow {
  readonly id: string
  readonly node: string
  readonly kind: string
  readonly attempt: number
  readonly state: string
  readonly outcome: string
  /** It threw, or nobody has reported on it. */
  readonly mayHaveHappened: boolean
  /** It was claimed, and has ended under that claim. */
  readonly hasBegun: boolean
  /** The attempt that it undoes. */
  readonly undoes: string | null
}

/** Nobody has said how far its call had come. */
export function isWithoutReport(reason: string | null): boolean {
  return / was lost$|in mid-call$|stop in time$/.test(reason ?? '')
}

export interface SagaEvent {
  readonly type: string
  readonly node: string | null
  readonly executionId: string | null
}

export interface EndedSaga {
  readonly graph: Graph
  readonly state: string
  readonly rollback: 'failure' | 'cancel' | null
  /** The attempt that has canceled it by itself. */
  readonly calledBy: string | null
  readonly rows: readonly EndedRow[]
  /** In the order in which things happened. */
  readonly events: readonly SagaEvent[]
}

interface Done {
  readonly row: EndedRow
  readonly node: GraphNode | null
  /** How it had ended before anything was undone. */
  readonly first: string
  readonly undos: readonly EndedRow[]
  /** There is no later attempt at its node. */
  readonly isLast: boolean
  /** Whether a later attempt stands for it; `null`: it cannot be told, because the workflow went back. */
  readonly isRepeated: boolean | null
  /** It is the step that has canceled the workflow, or it has paused it. */
  readonly steered: 'canceled' | 'paused' | null
}

const endings: readonly string[] = ['step.completed', 'step.failed', 'step.skipped', 'step.canceled']

export function auditSaga(saga: EndedSaga): string[] {
  const { graph, state, rows } = saga
  const halfway = rows.filter(row => row.state === 'compensating').map(row => `${nameOf(row)} is being undone.`)
  const joins = graph.nodes.filter(({ kind }) => kind === 'join').flatMap(({ id }) => auditJoin(saga, id))
  // Nothing was called, or nobody knows: it is never simply done again.
  const retaken = rows.filter(({ node, kind, outcome }) => {
    return kind === 'forward' && outcome === 'recovered' && graph.find(node)?.once !== undefined
  })
  const twice = retaken.map(row => `${nameOf(row)} is called once, and was taken over.`)
  const undone = rows.some(row => row.kind === 'compensate' || row.state === 'rolled_back')
  if (state === 'finished')
    return [
      ...halfway,
      ...twice,
      ...joins,
      ...auditWaysBack(saga),
      ...(undone ? ['It is finished, but was undone.'] : []),
    ]
  if (state !== 'failed' && state !== 'canceled') return [...halfway, ...twice, ...joins]
  return [...halfway, ...twice, ...joins, ...(graph.isSaga ? auditRollback(saga) : [])]
}

/** Decided once in every round. */
function auditJoin({ rows, events }: EndedSaga, id: string): string[] {
  const rounds = 1 + events.filter(({ type }) => type === 'workflow.went_back').length
  const decided = rows.filter(({ node, kind }) => node === id && kind === 'forward').length
  return decided <= rounds ? [] : [`${id} was decided ${decided} times in ${rounds} rounds.`]
}

/** Where somebody sent it back to, it was done again, whatever still ran of the round before. */
function auditWaysBack({ rows, events }: EndedSaga): string[] {
  return events.flatMap(({ type, node }, place) => {
    if (type !== 'workflow.went_back') return []
    const later = new Set(events.slice(place).flatMap(event => (endings.includes(event.type) ? event.executionId : [])))
    const again = rows.some(row => row.node === node && row.outcome !== 'not_taken' && later.has(row.id))
    return again ? [] : [`It went back to ${node}, which was not done again.`]
  })
}

function auditRollback(saga: EndedSaga): string[] {
  const done = inOrder(saga)
  const isBound = ({ node, first }: Done) => node?.kind === 'savePoint' && first === 'completed'
  const bound = saga.rollback === 'failure' ? done.findLastIndex(isBound) : -1
  const before = done.slice(0, bound + 1)
  const kept = before.filter(({ row, first, undos }) => row.state !== first || undos.length > 0)
  return [
    ...kept.map(({ row }) => `${nameOf(row)} lies before the boundary, and is ${row.state}.`),
    ...done.slice(bound + 1).flatMap(auditOne),
    ...auditOrder(saga, done),
  ]
}

/** Forward attempts in the order in which they ended. */
function inOrder({ graph, rows, events, calledBy }: EndedSaga): Done[] {
  const wentBack = events.some(({ type }) => type === 'workflow.went_back')
  const byId = new Map(rows.filter(({ kind }) => kind === 'forward').map(row => [row.id, row]))
  // A branch that a join did without may have ended well all the same.
  const isUndone = ({ id }: EndedRow) => rows.some(({ undoes }) => undoes === id)
  const done: Done[] = []
  for (const { type, executionId } of events) {
    const row = endings.includes(type) ? byId.get(executionId ?? '') : undefined
    if (row === undefined) continue
    byId.delete(row.id)
    const undos = rows.filter(({ undoes }) => undoes === row.id)
    const later = rows.filter(({ node, kind, attempt }) => {
      return kind === 'forward' && node === row.node && attempt > row.attempt
    })
    const steered =
      row.outcome !== 'canceled_by_flow_control' ? null : row.id === calledBy ? 'canceled' : ('paused' as const)
    done.push({
      row,
      node: graph.find(row.node),
      first: type.slice('step.'.length),
      undos,
      isLast: later.length === 0,
      isRepeated: wentBack ? null : later.some(call => standsForEarlier(call) || isUndone(call)),
      steered,
    })
  }
  return done
}

const cutOff: readonly string[] = ['stopped', 'superseded', 'canceled_by_condition', 'skipped_by_condition']

/** Something of it may have happened, or it was taken as done. */
function standsForEarlier({ outcome, mayHaveHappened, hasBegun }: EndedRow): boolean {
  return cutOff.includes(outcome) ? mayHaveHappened : hasBegun || outcome === 'resolved'
}

function auditOne(done: Done): string[] {
  const { row, node, first, undos, isLast, steered } = done
  const name = nameOf(row)
  const times = undos.filter(({ outcome }) => outcome === 'compensated').length
  const givenUp = undos.some(({ outcome }) => outcome === 'compensation_failed' || outcome === 'unknown')
  if (times > 1) return [`${name} was undone ${times} times.`]
  if (first === 'canceled' && !row.mayHaveHappened && steered !== 'paused')
    return undos.length === 0 ? [] : [`${name} had not happened, and was undone.`]
  if (first === 'canceled' && isLast && node?.compensation?.afterFailure)
    return times === 1 || givenUp ? [] : [`${name} may have happened, and is left ${row.state}.`]
  if (first !== 'completed')
    return row.state === 'rolled_back' && undos.length > 0 && times !== 1
      ? [`${name} is rolled back, but was not undone.`]
      : []
  if (row.outcome === 'reattempted' && done.isRepeated === null && times === 0) return []
  const isCalled = row.outcome === 'reattempted' ? isCalledAgain(done) : node?.compensation !== undefined
  if (!isCalled)
    return row.state === 'rolled_back' && undos.length === 0
      ? []
      : [`${name} has nothing to undo, and is ${row.state}.`]
  if (row.state === 'rolled_back') return times === 1 ? [] : [`${name} is rolled back, but was not undone.`]
  return row.state === 'failed' && givenUp ? [] : [`${name} is left ${row.state}.`]
}

/** It asked to be called again: it is undone like one that has failed, unless a later call stands for it. */
function isCalledAgain({ node, isRepeated }: Done): boolean {
  return node?.compensation?.afterFailure === true && isRepeated !== true
}

/** Each is undone before what had ended before it. What a person has requeued comes when it comes. */
function auditOrder({ rows, events }: EndedSaga, done: readonly Done[]): string[] {
  if (events.some(({ type }) => type === 'letter.requeued')) return []
  const places = new Map(done.map(({ row }, place) => [row.id, place]))
  const undos = new Map(rows.filter(({ kind }) => kind === 'compensate').map(row => [row.id, row]))
  const order = events
    .filter(({ type }) => type === 'compensation.scheduled' || type === 'compensation.started')
    .flatMap(({ executionId }) => undos.get(executionId ?? '') ?? [])
  const inTurn = order.every((row, index) => {
    const earlier = order[index - 1]
    return earlier === undefined || (places.get(row.undoes ?? '') ?? -1) <= (places.get(earlier.undoes ?? '') ?? -1)
  })
  if (inTurn) return []
  return [
    `Undone in the order ${order.map(nameOf).join()}, but done in the order ${done.map(({ row }) => nameOf(row)).join()}.`,
  ]
}

function nameOf({ node, attempt }: EndedRow): string {
  return `${node}#${attempt}`
}
