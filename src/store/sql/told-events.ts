/**
 * Events that say nothing but what a row says itself that is written with them: one has completed, another has begun. Most
 * events of chains and fans are of that kind, and the database has all that is in them at hand.
 */
import { invariant } from '../../primitives/invariant.ts'
import type { NewEvent, NewExecution } from '../change.ts'
import type { SqlContext } from './context.ts'
import { raw, type Sql, sql } from './sql.ts'
import { insertReturning } from './write-active.ts'
import { eventNames, type Handover, namesOfEvents, type StandingEnding } from './write-records.ts'

/** Whether the events of its workflow are that one has ended and the other has begun, and no more. */
export function saysItself({ ending, row, next }: Handover, [end, begin, ...others]: readonly NewEvent[]): boolean {
  if (end === undefined || begin === undefined || others.length > 0) return false
  return saysEnd(end, { ending, row }) && saysBegin(begin, next)
}

/** Whether it says that the row has completed, and nothing else. */
export function saysEnd(event: NewEvent, { ending, row }: StandingEnding): boolean {
  return (
    event.type === 'step.completed' &&
    event.from === 'in_progress' &&
    event.to === ending.state &&
    event.outcome === ending.outcome &&
    event.since === row.startedAt &&
    event.reason === ending.reason &&
    isAbout(event, ending.execution) &&
    (event.by ?? event.payload ?? null) === null
  )
}

/** Whether it says that the row has begun as it was written, and nothing else. */
export function saysBegin(event: NewEvent, next: NewExecution): boolean {
  return (
    event.type === 'step.started' &&
    event.to === 'in_progress' &&
    next.state === 'in_progress' &&
    event.by === next.owner &&
    isAbout(event, next) &&
    (event.from ?? event.outcome ?? event.since ?? event.reason ?? event.payload ?? null) === null
  )
}

type Subject = Pick<NewExecution, 'id' | 'node' | 'nodeName' | 'attempt'>

function isAbout(event: NewEvent, row: Subject): boolean {
  const { id, node, nodeName = null, attempt } = row
  return (
    event.executionId === id &&
    event.node === node &&
    (event.nodeName ?? null) === nodeName &&
    event.attempt === attempt
  )
}

const ends: Readonly<Record<string, string>> = {
  workflow_id: 'workflow_id',
  type: `'step.completed'`,
  execution_id: 'id',
  node: 'node',
  node_name: 'node_name',
  attempt: 'attempt',
  from_state: `'in_progress'`,
  to_state: 'state',
  reason: 'reason',
  outcome: 'outcome',
  since: 'started_at',
}

/** `of` stands before what the row that begins is told by. */
function beginsWith(of: string): Readonly<Record<string, string>> {
  return {
    workflow_id: 'workflow_id',
    type: `'step.started'`,
    execution_id: `${of}id`,
    node: `${of}node`,
    node_name: `${of}node_name`,
    attempt: `${of}attempt`,
    to_state: `'in_progress'`,
    requested_by: `${of}owner`,
  }
}

const begins = beginsWith('')
const follows = beginsWith('next_')

/** Where the type of nothing is told by nothing beside it. */
const nothing: Readonly<Record<string, string>> = { payload: 'cast(null as json)' }

function valuesOf(event: Readonly<Record<string, string>>): Sql {
  return raw(eventNames.map(name => event[name] ?? nothing[name] ?? 'null').join(', '))
}

/** Of the rows that a handover has returned: first what has ended, then what has begun. */
export function tellHandover({ tables, now }: SqlContext, returned: Sql): Sql {
  return sql`insert into ${tables.events} (${namesOfEvents}, at)
    select ${valuesOf(ends)}, ${now} from ${returned} union all select ${valuesOf(follows)}, ${now} from ${returned}`
}

/** Of rows that have gone to history, all of which are known to have been in progress. */
export function tellEnds({ tables, now }: SqlContext, returned: Sql): Sql {
  return sql`insert into ${tables.events} (${namesOfEvents}, at) select ${valuesOf(ends)}, ${now} from ${returned}`
}

/** Rows that begin at once, and that they have. Not every database can do that. */
export function insertTelling(context: SqlContext, executions: readonly NewExecution[]): Sql {
  return insertReturning(context, executions, tellingBegin)
}

function tellingBegin({ dialect, tables, now }: SqlContext, insertion: Sql): Sql {
  invariant(dialect.takeReturned !== undefined, 'What is inserted cannot be told by another write here.')
  return dialect.takeReturned(
    insertion,
    sql`insert into ${tables.events} (${namesOfEvents}, at) select ${valuesOf(begins)}, ${now} from s0`,
  )
}
