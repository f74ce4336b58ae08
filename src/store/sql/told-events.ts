/**
 * Events that say nothing but what a row says itself that was given to what follows: the one has completed, the other has begun. Most
 * events of chains are of that kind, and the database has all that is in them at hand.
 */
import type { NewEvent } from '../change.ts'
import type { SqlContext } from './context.ts'
import { raw, type Sql, sql } from './sql.ts'
import { eventNames, type Handover, namesOfEvents } from './write-records.ts'

/** Whether the events of its workflow are these two. */
export function saysItself({ ending, row, next }: Handover, [end, begin, ...others]: readonly NewEvent[]): boolean {
  if (end === undefined || begin === undefined || others.length > 0) return false
  const hasEnded =
    end.type === 'step.completed' &&
    end.from === 'in_progress' &&
    end.to === ending.state &&
    end.outcome === ending.outcome &&
    end.since === row.startedAt &&
    end.reason === ending.reason &&
    isAbout(end, ending.execution)
  const hasBegun =
    begin.type === 'step.started' &&
    begin.to === next.state &&
    begin.by === next.owner &&
    isAbout(begin, next) &&
    (begin.from ?? begin.outcome ?? begin.since ?? begin.reason ?? null) === null
  return hasEnded && hasBegun && (end.by ?? end.payload ?? begin.payload ?? null) === null
}

function isAbout(event: NewEvent, row: Pick<Handover['next'], 'id' | 'node' | 'nodeName' | 'attempt'>): boolean {
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

const begins: Readonly<Record<string, string>> = {
  workflow_id: 'workflow_id',
  type: `'step.started'`,
  execution_id: 'next_id',
  node: 'next_node',
  node_name: 'next_node_name',
  attempt: 'next_attempt',
  to_state: `'in_progress'`,
  requested_by: 'next_owner',
}

/** Where the type of nothing is told by nothing beside it. */
const nothing: Readonly<Record<string, string>> = { payload: 'cast(null as json)' }

function valuesOf(event: Readonly<Record<string, string>>): Sql {
  return raw(eventNames.map(name => event[name] ?? nothing[name] ?? 'null').join(', '))
}

/** Of the rows that a handover has returned: first what has ended, then what has begun. */
export function tellHandover({ tables, now }: SqlContext, returned: Sql): Sql {
  return sql`insert into ${tables.events} (${namesOfEvents}, at)
    select ${valuesOf(ends)}, ${now} from ${returned} union all select ${valuesOf(begins)}, ${now} from ${returned}`
}
