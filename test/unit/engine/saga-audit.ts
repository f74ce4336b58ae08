/** What must be true of a played saga, found out from its rows, its history and its events alone. */
import { joinsOver } from '../../../src/definition/join-stretch.ts'
import { isEnd } from '../../../src/engine/end-watch.ts'
import { isSatisfied } from '../../../src/engine/is-satisfied.ts'
import { cameIn } from '../../../src/engine/stored-input.ts'
import type { Ending } from '../../../src/store/change.ts'
import type { ActiveExecution } from '../../../src/store/records.ts'
import { auditSaga, type EndedSaga, isWithoutReport } from '../../simulation/saga-audit.ts'
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
  // After a deploy what has begun may stand before what it depends on now.
  if (wf.generation === 1) for (const row of forward) auditRow(wf, row)
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

/** The latest end of this round. */
function latestOf(wf: PlayedWorkflow, node: string): Ending | null {
  const last = wf.attemptsAt(node).at(-1)
  return last !== undefined && last.execution.attempt > (wf.workflow.rounds?.[node] ?? 0) ? last : null
}

function isOver(ending: Ending): boolean {
  return isSatisfied(ending) || ending.outcome === 'not_taken'
}

/** When it has ended. `declared`: a step has said that it is finished, whatever was left. */
export function auditEnd(wf: PlayedWorkflow, declared: boolean): void {
  const { state } = wf.workflow
  const findings = auditSaga(endedSaga(wf))
  must(findings.length === 0, () => `${state}: ${findings.join(' ')}`)
  if (state === 'finished') auditFinished(wf, declared)
  auditMessages(wf)
}

function auditFinished(wf: PlayedWorkflow, declared: boolean): void {
  if (declared) return
  for (const { id } of wf.graph.nodes) {
    const last = latestOf(wf, id)
    const decided = joinsOver(wf.graph, id).some(({ join }) => latestOf(wf, join.id) !== null)
    must(last !== null && (isOver(last) || decided), () => `finished, but ${id} is ${last?.outcome ?? 'not done'}`)
    if (last?.state !== 'failed') continue
    // One that lies in a branch which was not waited for has not gone on at all.
    const settled = joinsOver(wf.graph, id).some(
      ({ join }) => join.join?.rule === 'settled' && latestOf(wf, join.id)?.state === 'completed',
    )
    must(!settled || wf.workflow.partial, () => `finished, not partial, but ${id} has failed`)
  }
}

/** As the shared auditor wants it. */
function endedSaga({ graph, workflow, history, record }: PlayedWorkflow): EndedSaga {
  const rows = history.map(({ execution, state, outcome, error, reason }) => {
    const { id, node, kind, attempt, ancestry } = execution
    return {
      id,
      node,
      kind,
      attempt,
      state,
      outcome,
      mayHaveHappened: error !== null || isWithoutReport(reason),
      hasBegun: execution.startedAt !== null,
      undoes: kind === 'compensate' ? (ancestry.parents[0] ?? null) : null,
    }
  })
  const events = record.map(({ type, node = null, executionId = null }) => ({ type, node, executionId }))
  const { state, rollback } = workflow
  return { graph, state, rollback: rollback?.kind ?? null, calledBy: rollback?.calledBy ?? null, rows, events }
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
