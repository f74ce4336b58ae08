/**
 * Checks the rows that fan-ins have left: every node ended once, the fan-in once and after all of its parents. It reads
 * the tables itself and knows nothing of the engine's code. What it finds wrong it says in sentences.
 */
import { auditEvents, auditJournal, type CrashRows, type HistoryRow, wasLost } from './crash-audit.ts'
import type { ExpectedFanIn, Manner } from './fan-in-graphs.ts'
import { groupBy } from './group-by.ts'
import type { Death } from './worker-fleet.ts'

export interface FanInRows extends CrashRows {
  /** Counters of open parents that are still there. */
  readonly counters: number
}

/** Without deaths nobody may have been called twice. */
export function auditFanIns(rows: FanInRows, expected: readonly ExpectedFanIn[], deaths: readonly Death[]): string[] {
  const history = groupBy(rows.history, row => row.workflowId)
  const killed = new Set(deaths.flatMap(death => death.workerIds))
  const undisturbed = deaths.length === 0
  const calls = rows.journal.length
  return [
    ...[...rows.workflows].flatMap(([id, state]) => (state === 'finished' ? [] : [`Workflow ${id} is ${state}.`])),
    ...(rows.workflows.size === expected.length ? [] : [`There are ${rows.workflows.size} workflows.`]),
    ...(rows.activeRows === 0 ? [] : [`${rows.activeRows} active rows are left.`]),
    ...(rows.counters === 0 ? [] : [`${rows.counters} counters of fan-ins are left.`]),
    ...expected.flatMap(one => auditFanIn(one, history.get(one.workflowId) ?? [], killed)),
    ...(undisturbed && calls !== rows.history.length ? [`${rows.history.length} attempts made ${calls} calls.`] : []),
    ...auditJournal(rows),
    ...auditEvents(rows),
  ]
}

function auditFanIn(expected: ExpectedFanIn, history: readonly HistoryRow[], killed: ReadonlySet<string>): string[] {
  const { workflowId, nodes, fanIn, parents } = expected
  const attempts = groupBy(history, row => row.step)
  const unknown = [...attempts.keys()].filter(node => !nodes.has(node))
  return [
    ...unknown.map(node => `Workflow ${workflowId} has run ${node}, which it does not have.`),
    ...[...nodes].flatMap(([node, manner]) =>
      auditNode(`Workflow ${workflowId} node ${node}`, { manner, attempts: attempts.get(node) ?? [], killed }),
    ),
    ...(attempts.get(fanIn) ?? []).flatMap(row =>
      auditOrder(
        row,
        parents.flatMap(node => attempts.get(node)?.toSorted(byAttempt).at(-1) ?? []),
      ),
    ),
  ]
}

interface NodeHistory {
  readonly manner: Manner
  readonly attempts: readonly HistoryRow[]
  readonly killed: ReadonlySet<string>
}

/** It ended once, as it should, and the attempts before that were asked for or lost their worker. */
function auditNode(what: string, { manner, attempts, killed }: NodeHistory): string[] {
  const sorted = attempts.toSorted(byAttempt)
  const numbers = sorted.map(row => row.attempt)
  if (numbers.length === 0) return [`${what} has not run.`]
  if (numbers.some((number, index) => number !== index + 1)) return [`${what} has the attempts ${numbers.join()}.`]
  const lost = (row: HistoryRow) => wasLost(row) && killed.has(row.owner ?? '')
  const failed = (row: HistoryRow) => row.outcome === 'reattempted_by_exception' && row.attempt === 1
  const last = sorted.at(-1)?.outcome
  const outcome = manner === 'skip' ? 'skipped_by_flow_control' : 'success'
  const first = sorted[0]
  return [
    ...(last === outcome ? [] : [`${what} ended as ${last}.`]),
    ...sorted
      .slice(0, -1)
      .filter(row => !lost(row) && !(manner === 'retry' && failed(row)))
      .map(row => `${what} went on after ${row.outcome}.`),
    ...(manner === 'retry' && first && !failed(first) && !lost(first) ? [`${what} did not fail once.`] : []),
  ]
}

/** It was made due by the last of its parents, and it says which attempts of theirs it came after. */
function auditOrder(fanIn: HistoryRow, parents: readonly HistoryRow[]): string[] {
  const what = `Workflow ${fanIn.workflowId} fan-in ${fanIn.step}`
  const early = parents.filter(parent => parent.endedAt > fanIn.createdAt || parent.ordinal >= fanIn.ordinal)
  const named = new Set(fanIn.parents)
  const right = named.size === parents.length && parents.every(parent => named.has(parent.id))
  return [
    ...(early.length === 0 ? [] : [`${what} was due before ${early.length} of its parents had ended.`]),
    ...(right && fanIn.parents.length === named.size ? [] : [`${what} came after ${fanIn.parents.length} attempts.`]),
  ]
}

function byAttempt(a: HistoryRow, b: HistoryRow): number {
  return a.attempt - b.attempt
}

export interface Coincidence {
  /** Fan-ins whose parents ended in several processes. */
  readonly split: number
  /** From the first end of a parent to the last one, of each fan-in, in milliseconds. */
  readonly spreadMs: readonly number[]
  /** Deaths that left parents or fan-ins behind which others had to take over. */
  readonly hits: number
}

/** How well the parents were made to end at the same instant, and the killed to die meanwhile. */
export function coincidenceOf(
  rows: FanInRows,
  expected: readonly ExpectedFanIn[],
  deaths: readonly Death[],
): Coincidence {
  const lost = new Set(rows.history.filter(wasLost).map(row => row.owner))
  const history = groupBy(rows.history, row => row.workflowId)
  const ends = expected.map(({ workflowId, parents }) => {
    const ids = new Set(parents)
    return (history.get(workflowId) ?? []).filter(row => ids.has(row.step) && row.state !== 'failed')
  })
  return {
    hits: deaths.filter(death => death.workerIds.some(id => lost.has(id))).length,
    split: ends.filter(rows => new Set(rows.map(row => row.owner)).size > 1).length,
    spreadMs: ends.map(rows => {
      const times = rows.map(row => row.endedAt).sort((a, b) => a - b)
      return Math.round(((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000)
    }),
  }
}
