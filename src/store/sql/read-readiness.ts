/**
 * Reads what readiness is told from: for any set of workflows, one statement per table, all as of one moment and in one
 * round trip. It looks rows up by the keys of the workflows that were asked for, so history costs nothing. It decides nothing.
 */
import { InvariantError } from '../../errors.ts'
import {
  type ChildStanding,
  type KnownWorker,
  maxReadinessIds,
  type ReadinessFacts,
  type StandingEnd,
  type StandingRow,
  type StateChange,
} from '../readiness-facts.ts'
import type { StoredWorkflowState, WorkerServes } from '../records.ts'
import { workflowColumns } from './columns.ts'
import type { SqlContext } from './context.ts'
import { int, json, optionalInt, optionalText, text, workflowRecord } from './decode.ts'
import type { Row } from './dialect.ts'
import { endedStates } from './ended-states.ts'
import { letterRecord, selectStandingLetters } from './letters.ts'
import { limitStanding, placeHolder, selectHolders, selectLimits } from './limit-standings.ts'
import { grouped } from './lock-facts.ts'
import { raw, type Sql, sql } from './sql.ts'

export async function readReadiness(context: SqlContext, ids: readonly string[]): Promise<ReadinessFacts> {
  if (ids.length > maxReadinessIds) {
    throw new InvariantError(`${ids.length} workflows were asked for at once; ${maxReadinessIds} are allowed.`)
  }
  const [clock = [], workers = [], limits = [], holders = [], ...rest] = await context.snapshot([
    sql`select ${context.now} as now, ${context.leaseNow} as lease_now`,
    selectWorkers(context),
    selectLimits(context, ids),
    selectHolders(context),
    ...(ids.length === 0 ? [] : selectStandings(context, [...new Set(ids)])),
  ])
  const [workflows = [], active = [], latest = [], fanIns = [], changes = [], children = [], ...more] = rest
  const [letters = [], confirmed = []] = more
  const rowsOf = grouped(active, standingRow)
  const isForward = (row: Row) => text(row, 'kind') === 'forward'
  const latestOf = grouped(latest.filter(isForward), row => [text(row, 'node'), standingEnd(row)] as const)
  const undoOf = grouped(
    latest.filter(row => !isForward(row)),
    standingEnd,
  )
  const fanInsOf = grouped(fanIns, row => [text(row, 'node'), int(row, 'open_parents')] as const)
  const changeOf = grouped(changes, stateChange)
  const lettersOf = grouped(letters, letterRecord)
  const confirmedOf = grouped(confirmed, row => ({
    executionId: text(row, 'execution_id'),
    by: text(row, 'decided_by'),
  }))
  const childrenOf = grouped(children, row => [text(row, 'id'), childStanding(row)] as const)
  return {
    now: clock[0] ? int(clock[0], 'now') : 0,
    workers: workers.map(row => knownWorker(context, row, clock[0] ? int(clock[0], 'lease_now') : 0)),
    limits: limits.map(limitStanding),
    holders: holders.map(placeHolder),
    workflows: workflows.map(row => {
      const workflow = workflowRecord(row)
      return {
        workflow,
        active: rowsOf.get(workflow.id) ?? [],
        latest: new Map(latestOf.get(workflow.id) ?? []),
        undo: undoOf.get(workflow.id)?.[0] ?? null,
        fanIns: new Map(fanInsOf.get(workflow.id) ?? []),
        change: changeOf.get(workflow.id)?.[0] ?? null,
        children: new Map(childrenOf.get(workflow.id) ?? []),
        letters: lettersOf.get(workflow.id) ?? [],
        confirmed: confirmedOf.get(workflow.id) ?? [],
      }
    }),
  }
}

function selectStandings(context: SqlContext, ids: readonly string[]): Sql[] {
  return [
    selectWorkflows(context, ids),
    selectRows(context, ids),
    selectLatest(context, ids),
    selectFanIns(context, ids),
    selectChanges(context, ids),
    selectChildren(context, ids),
    selectStandingLetters(context, ids),
    selectConfirmed(context, ids),
  ]
}

/** Few rows; also those of workers that are gone and have left something behind. */
function selectWorkers(context: SqlContext): Sql {
  return sql`select k.id, k.host, k.pid, k.state, k.lease_until, k.handlers, k.serves from ${context.tables.workers} k`
}

function selectWorkflows(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select ${workflowColumns} from ${context.tables.workflows} w where ${context.among(raw('w.id'), ids)}`
}

/** The input of an item may be large, and says nothing about what it waits for. */
function selectRows(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select a.workflow_id, a.slot, a.id, a.node, a.kind, a.attempt, a.state, a.queue, a.handler, a.lane, a.generation,
      a.due_at, a.started_at, a.owner, a.fence, a.failures, a.crashes, a.held_from,
      case when a.state = 'waiting' and a.node not like '%/%' then a.input end as a_input
    from ${context.tables.active} a where ${context.among(raw('a.workflow_id'), ids)}`
}

const endColumns = raw(
  'e.workflow_id, e.id, e.node, e.kind, e.attempt, e.state, e.outcome, e.ended_at, e.error_class, e.error_message, e.reason',
)

/**
 * Attempts are numbered without gaps at their end, so the latest one is the one that no other follows. Both sides are held to
 * the workflows that were asked for: else a planner may look for followers in the whole of history. Of compensations, one is
 * under way at a time, and the attempt before it is the latest.
 */
function selectLatest(context: SqlContext, ids: readonly string[]): Sql {
  const { history, active } = context.tables
  return sql`select ${endColumns} from ${history} e
    where ${context.among(raw('e.workflow_id'), ids)} and e.kind = 'forward' and not exists
      (select 1 from ${history} l where ${context.among(raw('l.workflow_id'), ids)} and l.workflow_id = e.workflow_id
        and l.node = e.node and l.kind = 'forward' and l.attempt = e.attempt + 1)
    union all select ${endColumns} from ${active} a ${context.dialect.keyedJoin} ${history} e
      on e.workflow_id = a.workflow_id and e.node = a.node and e.kind = 'compensate' and e.attempt = a.attempt - 1
    where ${context.among(raw('a.workflow_id'), ids)} and a.kind = 'compensate'`
}

function selectFanIns(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select f.workflow_id, f.node, f.open_parents from ${context.tables.fanIns} f
    where ${context.among(raw('f.workflow_id'), ids)}`
}

/** The event by which a workflow came into its state is among its last, so each is looked for from the end. */
function selectChanges(context: SqlContext, ids: readonly string[]): Sql {
  const { workflows, events } = context.tables
  return sql`select v.workflow_id, v.at, v.requested_by, v.reason from ${workflows} w
    ${context.dialect.keyedJoin} ${events} v on v.workflow_id = w.id and v.id =
      (select n.id from ${events} n where n.workflow_id = w.id and n.to_state = w.state and n.execution_id is null
        order by n.id desc limit 1)
    where ${context.among(raw('w.id'), ids)} and w.state <> 'ready'`
}

function selectChildren(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select c.parent_id as workflow_id, c.id, c.type, c.state
    from ${context.tables.workflows} c
    where ${context.among(raw('c.parent_id'), ids)} and c.state not in ${raw(endedStates)}`
}

/** Also of executions that have ended: a workflow has few decisions. */
function selectConfirmed(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select d.workflow_id, d.execution_id, d.decided_by from ${context.tables.decisions} d
    where ${context.among(raw('d.workflow_id'), ids)} and d.decision = 'confirmed' order by d.id`
}

function standingRow(row: Row): StandingRow {
  return {
    slot: text(row, 'slot'),
    id: text(row, 'id'),
    node: text(row, 'node'),
    kind: text(row, 'kind') as StandingRow['kind'],
    attempt: int(row, 'attempt'),
    state: text(row, 'state') as StandingRow['state'],
    queue: text(row, 'queue'),
    handler: text(row, 'handler'),
    lane: text(row, 'lane'),
    generation: int(row, 'generation'),
    dueAt: int(row, 'due_at'),
    startedAt: optionalInt(row, 'started_at'),
    owner: optionalText(row, 'owner'),
    fence: int(row, 'fence'),
    failures: int(row, 'failures'),
    crashes: int(row, 'crashes'),
    heldFrom: optionalText(row, 'held_from') as StandingRow['heldFrom'],
    input: json(row, 'a_input'),
  }
}

function standingEnd(row: Row): StandingEnd {
  const className = optionalText(row, 'error_class')
  return {
    id: text(row, 'id'),
    node: text(row, 'node'),
    attempt: int(row, 'attempt'),
    state: text(row, 'state') as StandingEnd['state'],
    outcome: text(row, 'outcome') as StandingEnd['outcome'],
    endedAt: int(row, 'ended_at'),
    error: className === null ? null : { className, message: text(row, 'error_message') },
    reason: optionalText(row, 'reason'),
  }
}

function stateChange(row: Row): StateChange {
  return { at: int(row, 'at'), by: optionalText(row, 'requested_by'), reason: optionalText(row, 'reason') }
}

function childStanding(row: Row): ChildStanding {
  const state = text(row, 'state') as StoredWorkflowState
  return { id: text(row, 'id'), type: text(row, 'type'), state }
}

/** Leases lapse in real time; what the test kit adds to the time of due rows is added here, so that both compare. */
function knownWorker(context: SqlContext, row: Row, leaseNow: number): KnownWorker {
  const leaseUntil = int(row, 'lease_until')
  const serves = json(row, 'serves')
  return {
    id: text(row, 'id'),
    host: text(row, 'host'),
    pid: int(row, 'pid'),
    alive: text(row, 'state') === 'alive' && leaseUntil >= leaseNow,
    leaseUntil: leaseUntil + context.clockOffset,
    handlers: JSON.parse(json(row, 'handlers') ?? '[]') as string[],
    serves: serves === null ? null : (JSON.parse(serves) as WorkerServes),
  }
}
