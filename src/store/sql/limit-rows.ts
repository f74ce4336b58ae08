/** The rows of limits: how they are read, and how it is written down that executions have begun under a rate. */
import type { LimitRecord, StoredLimits } from '../limit-store.ts'
import type { Standing } from './claim-budget.ts'
import type { LaneLogs } from './claim-search.ts'
import type { SqlContext } from './context.ts'
import { int, optionalInt, optionalText, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { type Sql, sql } from './sql.ts'
import { type StartLog, withStarts } from './start-log.ts'

export function limitRecord(row: Row): LimitRecord {
  return {
    scope: text(row, 'scope') as LimitRecord['scope'],
    name: text(row, 'name'),
    limits: storedLimits(row, ''),
    perKey: storedLimits(row, 'lane_'),
    hasLanes: int(row, 'has_lanes') === 1,
    paused:
      int(row, 'paused') === 0
        ? null
        : {
            by: optionalText(row, 'paused_by'),
            reason: optionalText(row, 'pause_reason'),
            at: optionalInt(row, 'paused_at') ?? 0,
          },
  }
}

function storedLimits(row: Row, prefix: '' | 'lane_'): StoredLimits {
  const limit = optionalInt(row, `${prefix}rate_limit`)
  const per = optionalInt(row, `${prefix}rate_per`)
  return {
    concurrency: optionalInt(row, `${prefix}concurrency`),
    rate: limit === null || per === null ? null : { limit, perMs: per / 1000 },
  }
}

export interface Starts {
  readonly limits: readonly (LimitRecord & { readonly log: StartLog })[]
  readonly logs: LaneLogs
  readonly at: number
  readonly started: readonly Standing[]
}

/** Under the lock of the limits. Where there is no rate, nothing is written. */
export function writeStarts(context: SqlContext, { limits, logs, at, started }: Starts): Sql[] {
  return limits.flatMap(limit => {
    const { scope, name, log, perKey } = limit
    const own = started.filter(row => (scope === 'queue' ? row.queue : row.className) === name)
    if (own.length === 0) return []
    const { rate } = limit.limits
    const whole = rate === null ? [] : [writeLog(context, limit, '', withStarts(log, at, own.length, rate.perMs))]
    const lanes = perKey.rate === null ? [] : [...new Set(own.map(row => row.lane))].filter(lane => lane !== '')
    return [
      ...whole,
      ...lanes.flatMap(lane => {
        const count = own.filter(row => row.lane === lane).length
        const next = withStarts(logs.of(name, lane), at, count, perKey.rate?.perMs ?? 0)
        return [insertLane(context, name, lane), writeLog(context, limit, lane, next)]
      }),
    ]
  })
}

function writeLog(context: SqlContext, { scope, name }: LimitRecord, lane: string, log: StartLog): Sql {
  return sql`update ${context.tables.limits} set starts = ${JSON.stringify(log)}
    where scope = ${scope} and name = ${name} and lane = ${lane}`
}

function insertLane(context: SqlContext, name: string, lane: string): Sql {
  return insertLimit(context, { scope: 'class', name, lane })
}

/** Makes the row if there is none yet. */
export function insertLimit(
  context: SqlContext,
  { scope, name, lane }: { readonly scope: string; readonly name: string; readonly lane: string },
): Sql {
  const rows = context.rows('r', {
    columns: { scope: 'text', name: 'text', lane: 'text' },
    rows: [[scope, name, lane]],
  })
  return context.dialect.insertNew(
    context.tables.limits,
    ['scope', 'name', 'lane', 'revision', 'has_lanes', 'paused'],
    sql`select r.scope, r.name, r.lane, 0 as revision, 0 as has_lanes, 0 as paused from ${rows}`,
  )
}
