/** The rows of limits: how they are read, and how it is written down that executions have begun under a rate. */
import type { LimitRecord, StoredLimits } from '../limit-store.ts'
import { type StartLog, withStarts } from '../start-log.ts'
import type { Standing } from './claim-budget.ts'
import type { LaneLogs } from './claim-search.ts'
import type { SqlContext } from './context.ts'
import { int, optionalInt, optionalText, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { type Sql, sql } from './sql.ts'

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
    const whole =
      rate === null
        ? []
        : [writeLog(context, limit, { lane: '', until: null }, withStarts(log, at, own.length, rate.perMs))]
    const lanes = perKey.rate === null ? [] : [...new Set(own.map(row => row.lane))].filter(lane => lane !== '')
    return [
      ...whole,
      ...lanes.flatMap(lane => {
        const count = own.filter(row => row.lane === lane).length
        const perMs = perKey.rate?.perMs ?? 0
        const next = withStarts(logs.of(name, lane), at, count, perMs)
        const until = at + perMs * 1000
        return [insertLimit(context, { scope, name, lane }), writeLog(context, limit, { lane, until }, next)]
      }),
    ]
  })
}

/** The row of a key is of no use once all that it tells of is a period ago. */
function writeLog(
  context: SqlContext,
  { scope, name }: LimitRecord,
  { lane, until }: { readonly lane: string; readonly until: number | null },
  log: StartLog,
): Sql {
  return sql`update ${context.tables.limits} set starts = ${JSON.stringify(log)}, kept_until = ${until === null ? null : Math.ceil(until)}
    where lane = ${lane} and scope = ${scope} and name = ${name}`
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
