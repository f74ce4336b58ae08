/** The rows of one saga, read straight from the tables beside all code of the engine, and what must always be true of them. */
import type { Graph } from '../../src/definition/graph.ts'
import type { PlainAccess, PlainRow } from '../programs/harness/plain-access.ts'
import { auditSaga, type EndedRow, isWithoutReport, type SagaEvent } from './saga-audit.ts'

export interface StandingRow {
  readonly id: string
  readonly node: string
  readonly kind: string
  readonly state: string
  readonly queue: string
  readonly owner: string | null
}

export interface SagaStanding {
  readonly state: string
  readonly openLetters: number
  readonly active: readonly StandingRow[]
}

const ends: readonly string[] = ['finished', 'failed', 'canceled', 'aborted']

export function hasEnded({ state, active }: SagaStanding): boolean {
  return ends.includes(state) && active.length === 0
}

export async function readStanding(access: PlainAccess, id: string): Promise<SagaStanding> {
  // In one statement: it is asked after every move.
  const rows = await access.query(
    `select w.state as workflow_state, w.open_letters, a.id, a.node, a.kind, a.state, a.queue, a.owner
     from ${access.table('geneva_drive_workflows')} w
     left join ${access.table('geneva_drive_active_executions')} a on a.workflow_id = w.id
     where w.id = ? order by a.slot`,
    [id],
  )
  return {
    state: String(rows[0]?.workflow_state),
    openLetters: Number(rows[0]?.open_letters),
    active: rows.filter(row => row.id !== null).map(standingRow),
  }
}

function standingRow(row: PlainRow): StandingRow {
  return {
    id: String(row.id),
    node: String(row.node),
    kind: String(row.kind),
    state: String(row.state),
    queue: String(row.queue),
    owner: textOf(row.owner),
  }
}

/** After every move. */
export function auditStanding({ state, active, openLetters }: SagaStanding): string[] {
  const forward = active.filter(row => row.kind === 'forward')
  const undoing = active.filter(row => row.kind === 'compensate')
  const rest = active.filter(row => row.kind !== 'compensate')
  const some = (...states: readonly string[]) => forward.some(row => states.includes(row.state))
  const is = active.map(row => `${row.kind} ${row.node} ${row.state}`).join(', ')
  const findings: string[] = []
  const must = (holds: boolean, what: string) => holds || findings.push(`It is ${state}: ${what}. It has ${is}.`)
  must(undoing.length <= 1, 'two compensations at once')
  if (ends.includes(state)) must(rest.length === 0, 'something is active')
  else must(undoing.length === 0 || forward.length === 0, 'something is undone while something stands')
  if (state === 'ready') must(some('scheduled', 'in_progress', 'suspended', 'waiting'), 'nothing goes on')
  if (state === 'paused' || state === 'dlq') must(!some('scheduled', 'suspended'), 'something may run')
  if (state === 'dlq') must(openLetters > 0, 'there is no letter')
  if (state === 'rolling_back') must(undoing.length > 0 || some('in_progress'), 'nothing goes on')
  return findings
}

/** When it has ended. */
export async function auditEnded(access: PlainAccess, graph: Graph, id: string): Promise<string[]> {
  const of = (table: string, columns: string, key = 'workflow_id') =>
    access.query(`select ${columns} from ${access.table(`geneva_drive_${table}`)} where ${key} = ? order by 1`, [id])
  const [workflow] = await of('workflows', 'id, state, rollback', 'id')
  const history = await of(
    'step_executions',
    'id, node, kind, attempt, state, outcome, reason, error_class, started_at, input',
  )
  const events = await of('events', 'id, type, node, execution_id')
  const decisions = await of('decisions', 'id, execution_id, decision')
  const left = await of('fan_ins', 'node')
  const rollback = typeof workflow?.rollback === 'string' ? JSON.parse(workflow.rollback) : workflow?.rollback
  const saga = {
    graph,
    state: String(workflow?.state),
    rollback: rollback?.kind ?? null,
    calledBy: rollback?.calledBy ?? null,
    rows: history.map(endedRow),
    events: events.map(sagaEvent),
  }
  return [
    ...auditSaga(saga),
    ...(left.length === 0 ? [] : [`${left.length} counters are left.`]),
    ...auditDecisions(graph, saga.rows, decisions),
  ]
}

/** Every decision counts once, and none came after its node had been decided. */
function auditDecisions(graph: Graph, rows: readonly EndedRow[], decisions: readonly PlainRow[]): string[] {
  return rows.flatMap(row => {
    const quorum = graph.find(row.node)?.human?.quorum
    if (quorum === undefined) return []
    const own = decisions.filter(decision => String(decision.execution_id) === row.id)
    const rejected = own.filter(({ decision }) => decision === 'rejected').length
    const confirmed = own.length - rejected
    const isRight = confirmed <= quorum && rejected <= 1 && (row.outcome !== 'rejected' || rejected === 1)
    return isRight ? [] : [`${row.node} is ${row.outcome} after ${confirmed} yes and ${rejected} no of ${quorum}.`]
  })
}

function sagaEvent({ type, node, execution_id }: PlainRow): SagaEvent {
  return { type: String(type), node: textOf(node), executionId: textOf(execution_id) }
}

function endedRow(row: PlainRow): EndedRow {
  const input = typeof row.input === 'string' ? JSON.parse(row.input) : row.input
  const kind = String(row.kind)
  return {
    id: String(row.id),
    node: String(row.node),
    kind,
    attempt: Number(row.attempt),
    state: String(row.state),
    outcome: String(row.outcome),
    mayHaveHappened: row.error_class !== null || isWithoutReport(textOf(row.reason)),
    hasBegun: row.started_at !== null,
    undoes: kind === 'compensate' ? String((input as { value?: { undoes?: unknown } } | null)?.value?.undoes) : null,
  }
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value)
}
