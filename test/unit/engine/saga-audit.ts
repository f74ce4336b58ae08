/** What must be true of a played saga, found out from its rows, its history and its events alone. */
import type { GraphNode } from '../../../src/definition/graph.ts'
import { cameIn } from '../../../src/engine/came.ts'
import { isEnd } from '../../../src/engine/end-watch.ts'
import { isSatisfied } from '../../../src/engine/is-satisfied.ts'
import type { Ending } from '../../../src/store/change.ts'
import type { ActiveExecution, EndedState } from '../../../src/store/records.ts'
import type { PlayedWorkflow } from './played-workflow.ts'

class Broken extends Error {
  override readonly name = 'Broken'
}

function must(holds: boolean, what: () => string): void {
  if (!holds) throw new Broken(what())
}

const goesOn: readonly string[] = ['scheduled', 'in_progress', 'suspended']

/** After every move. */
export function auditMove(wf: PlayedWorkflow): void {
  const { state, openLetters } = wf.workflow
  const rows = [...wf.rows.values()]
  const forward = rows.filter(row => row.kind === 'forward')
  const undoing = rows.filter(row => row.kind === 'compensate')
  must(openLetters === wf.letters.size, () => `${openLetters} letters are counted, ${wf.letters.size} are open`)
  must(new Set(forward.map(row => row.node)).size === forward.length, () => `a node has two rows: ${wf.standing}`)
  must(undoing.length <= 1, () => 'two compensations at once')
  if (isEnd(state)) {
    const left = rows.filter(row => row.kind !== 'compensate')
    must(left.length === 0 && wf.counters.size === 0, () => `${state}, but left: ${rows.map(row => row.slot)}`)
  } else {
    must(undoing.length === 0 || state === 'rolling_back', () => `something is undone while it is ${state}`)
    must(undoing.length === 0 || forward.length === 0, () => `undone while something stands: ${wf.standing}`)
  }
  auditState(wf, forward, undoing)
  for (const row of forward) auditRow(wf, row)
  for (const { id, kind } of wf.graph.nodes) if (kind === 'join') auditJoin(wf, id)
}

function auditState(wf: PlayedWorkflow, forward: readonly ActiveExecution[], undoing: readonly unknown[]): void {
  const { state } = wf.workflow
  const some = (states: readonly string[]) => forward.some(row => states.includes(row.state))
  if (state === 'ready') must(some([...goesOn, 'waiting']), () => `ready, but nothing goes on: ${wf.standing}`)
  if (state === 'paused' || state === 'dlq')
    must(!some(['scheduled', 'suspended']), () => `${state}, but something may run: ${wf.standing}`)
  if (state === 'dlq') must(wf.letters.size > 0, () => 'in the dlq without a letter')
  if (state !== 'rolling_back') return
  must(undoing.length > 0 || some(['in_progress']), () => `rolling back, but nothing goes on: ${wf.standing}`)
  must(
    forward.every(row => row.state === 'in_progress'),
    () => `rolling back, but there is ${wf.standing}`,
  )
  must(undoing.length > 0 || wf.rows.has('#stop'), () => 'rolling back without a limit in time')
}

/** It runs after its parents, on a way that was taken, and never again once it is done. */
function auditRow(wf: PlayedWorkflow, row: ActiveExecution): void {
  const { node, attempt } = row
  const known = wf.graph.find(node)
  const last = latestOf(wf, node)
  must(last === null || last.execution.attempt < attempt, () => `${node} runs as attempt ${attempt} again`)
  must(last === null || !isOver(last), () => `${node} runs again after it was ${last?.outcome}`)
  for (const parent of known?.dependsOn ?? []) {
    const before = latestOf(wf, parent)
    must(before !== null && isOver(before), () => `${node} has begun before ${parent} is done`)
  }
  const { guard } = known ?? {}
  if (guard === undefined) return
  const result = latestOf(wf, guard.condition)?.reason
  must(result === String(guard.when), () => `${node} has begun, but ${guard.condition} came to ${result}`)
}

/** Decided once in a round; one that waits for all does so. */
function auditJoin(wf: PlayedWorkflow, id: string): void {
  const endings = wf.attemptsAt(id)
  const rounds = wf.record.filter(({ type }) => type === 'workflow.went_back').length
  must(endings.length <= 1 + rounds, () => `${id} has ended ${endings.length} times`)
}

/** The latest end of this round. */
function latestOf(wf: PlayedWorkflow, node: string): Ending | null {
  const last = wf.attemptsAt(node).at(-1)
  return last !== undefined && last.execution.attempt > (wf.workflow.rounds?.[node] ?? 0) ? last : null
}

function isOver(ending: Ending): boolean {
  return isSatisfied(ending) || ending.outcome === 'not_taken'
}

/** When it has ended. */
export function auditEnd(wf: PlayedWorkflow): void {
  const { state } = wf.workflow
  must(!wf.history.some(ending => ending.state === 'compensating'), () => `${state}, but something is being undone`)
  if (state === 'finished') auditFinished(wf)
  if (state === 'failed' || state === 'canceled') auditUndone(wf)
  auditMessages(wf)
}

function auditFinished(wf: PlayedWorkflow): void {
  must(!wf.history.some(({ execution }) => execution.kind === 'compensate'), () => 'finished, but something was undone')
  must(!wf.history.some(ending => ending.state === 'rolled_back'), () => 'finished, but something was rolled back')
  // A step may have declared it finished, whatever was left.
  if (wf.record.some(({ type, payload }) => type === 'step.completed' && payload === 'finish')) return
}

interface Done {
  readonly ending: Ending
  readonly node: GraphNode | null
  /** How it had ended before anything was undone. */
  readonly first: EndedState
  readonly calls: readonly Ending[]
}

/** Beyond the boundary everything is undone: each once, newest first, one at a time. */
function auditUndone(wf: PlayedWorkflow): void {
  if (!wf.graph.isSaga) return
  const firsts = new Map<string, EndedState>()
  for (const { executionId, type, to } of wf.record) {
    if (!type.startsWith('step.') || !executionId || firsts.has(executionId) || !isEndedState(to)) continue
    firsts.set(executionId, to as EndedState)
  }
  const undos = wf.history.filter(({ execution }) => execution.kind === 'compensate')
  const forward = wf.history.filter(({ execution }) => execution.kind === 'forward')
  const all = forward.map((ending): Done => {
    const { id, node } = ending.execution
    const calls = undos.filter(undo => undo.execution.ancestry.parents[0] === id)
    return { ending, node: wf.graph.find(node), first: firsts.get(id) ?? ending.state, calls }
  })
  const isBounded = wf.workflow.rollback?.kind === 'failure'
  const bound = isBounded
    ? all.findLastIndex(({ node, first }) => node?.kind === 'savePoint' && first === 'completed')
    : -1
  for (const done of all.slice(0, bound + 1)) {
    must(done.ending.state === done.first, () => `${nameOf(done)} lies before the boundary and is ${done.ending.state}`)
    must(done.calls.length === 0, () => `${nameOf(done)} lies before the boundary and was undone`)
  }
  for (const done of all.slice(bound + 1)) auditOne(wf, done)
  const order = undos.flatMap(undo =>
    forward.findIndex(({ execution }) => execution.id === undo.execution.ancestry.parents[0]),
  )
  const isRequeued = wf.record.some(({ type }) => type === 'letter.requeued')
  must(isRequeued || order.every((place, index) => index === 0 || place <= (order[index - 1] ?? 0)), () => {
    return `undone in the order ${order.map(place => forward[place]?.execution.node)}, after ${wf.story}`
  })
}

function auditOne(wf: PlayedWorkflow, done: Done): void {
  const { ending, node, first, calls } = done
  const { outcome, state } = ending
  const compensated = calls.filter(call => call.outcome === 'compensated').length
  must(state !== 'completed', () => `${nameOf(done)} is left ${state}`)
  must(compensated <= 1, () => `${nameOf(done)} was undone ${compensated} times`)
  const isCalled = node?.compensation !== undefined && outcome !== 'reattempted'
  if (first === 'completed' && isCalled) {
    const given = wf.letters.size > 0
    must(state === 'rolled_back' || (state === 'failed' && given), () => `${nameOf(done)} is ${state}`)
    must(state !== 'rolled_back' || compensated === 1, () => `${nameOf(done)} was undone ${compensated} times`)
    must(calls.length > 0, () => `${nameOf(done)} was not undone`)
  } else if (first === 'completed') {
    must(state === 'rolled_back' && calls.length === 0, () => `${nameOf(done)} has nothing to undo, and is ${state}`)
  } else if (first === 'canceled') must(calls.length === 0, () => `${nameOf(done)} has not happened, and was undone`)
}

function auditMessages(wf: PlayedWorkflow): void {
  for (const { execution, outcome, state } of wf.attemptsOf('human')) {
    const came = cameIn(execution.input)
    const decidedOn = came?.came === 'decision' ? came.on : execution.id
    const own = wf.decisions.filter(({ executionId }) => executionId === decidedOn)
    const quorum = wf.graph.find(execution.node)?.human?.quorum ?? 1
    const confirmed = own.filter(({ decision }) => decision === 'confirmed').length
    const rejected = own.length - confirmed
    must(confirmed <= quorum && rejected <= 1, () => `${execution.node} was decided on ${own.length} times`)
    if (outcome === 'confirmed') must(confirmed === quorum && rejected === 0, () => `${execution.node} is ${state}`)
    if (outcome === 'rejected') must(rejected === 1, () => `${execution.node} is rejected by nobody`)
  }
  const used = new Set<string>()
  for (const { execution, outcome } of wf.attemptsOf('signal')) {
    if (outcome !== 'success') continue
    const came = cameIn(execution.input)
    const signal = wf.signals.find(({ id }) => came?.came === 'signal' && came.id === id)
    must(signal?.takenBy !== undefined && signal.takenBy !== null, () => `${execution.node} went on without a signal`)
    must(!used.has(signal?.id ?? ''), () => `${execution.node} went on with a signal that it had before`)
    used.add(signal?.id ?? '')
  }
}

const endedStates: readonly (string | null | undefined)[] = ['completed', 'failed', 'skipped', 'canceled']

function isEndedState(state: string | null | undefined): boolean {
  return endedStates.includes(state)
}

function nameOf({ ending: { execution } }: Done): string {
  return `${execution.node}#${execution.attempt}`
}
