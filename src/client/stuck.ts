/** Work that has not moved for a while, with a sentence on why. It only reads. */
import { InvalidArgumentError } from '../errors.ts'
import { describeTime } from '../primitives/describe-time.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import type { StuckKind, StuckRow } from '../store/housekeeping-store.ts'
import type { ScheduleRecord } from '../store/schedule-store.ts'
import type { Store } from '../store/store.ts'

export interface StuckOptions {
  /** Only what has not moved for at least so long. Default 10 minutes. */
  readonly for?: Duration
  /** How many of each kind, at most. Default 100. */
  readonly limit?: number
}

const known = optionNames<StuckOptions>({ for: 0, limit: 0 })

export interface StuckWork {
  /**
   * `no_worker`: due, and no live worker has the code. `not_claimed`: due, there are workers with the code, but none takes
   * it. `queue_paused`: due, but its queue is paused. `lease_lost`: claimed by a worker that is gone. `paused`: somebody has to look.
   * `dlq`: somebody has to look at a dead letter. `schedule_late`: a tick is due.
   */
  readonly kind: StuckKind | 'schedule_late'
  /** `null` for a schedule. */
  readonly workflowId: string | null
  /** The name of the workflow class, or of the schedule. */
  readonly name: string
  readonly step: string | null
  readonly queue: string | null
  readonly since: Date
  readonly why: string
}

export async function stuck(store: Store, options: StuckOptions = {}): Promise<StuckWork[]> {
  refuseUnknownOptions('stuck', options, known)
  const { limit = 100 } = options
  const forMs = toMilliseconds(options.for ?? '10 min', '`for` of stuck')
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new InvalidArgumentError(`The limit of stuck must be a whole number above 0, not ${String(limit)}.`)
  }
  const { rows, now } = await store.housekeeping.findStuck(forMs, limit)
  const { schedules } = await store.schedules.list()
  const late = schedules.filter(({ paused, nextAt }) => !paused && nextAt <= now - forMs * 1000)
  return [...rows.map(row => ofRow(row)), ...late.slice(0, limit).map(ofSchedule)]
}

function ofRow(row: StuckRow): StuckWork {
  const { kind, workflowId, type, node, queue } = row
  const since = dateOf(row.since)
  return { kind, workflowId, name: type, step: node, queue, since, why: reasonOf(row, since) }
}

function reasonOf({ kind, node, queue, handler, owner, pause }: StuckRow, since: Date): string {
  const at = describeTime(since)
  if (kind === 'no_worker') {
    return `Step ${node} is due since ${at}, and no live worker has the code of ${handler}. Start one, or deploy it.`
  }
  if (kind === 'not_claimed') {
    return `Step ${node} is due since ${at}, and no worker takes it. Workers may be full, not serve queue ${queue}, or have older code.`
  }
  if (kind === 'queue_paused') {
    const by = `${pause?.by == null ? '' : ` by ${pause.by}`}${pause?.reason == null ? '' : `: ${pause.reason}`}`
    const when = pause === null ? '' : ` at ${describeTime(dateOf(pause.at))}`
    return `Step ${node} is due since ${at}, but queue ${queue} was paused${when}${by}. Resume the queue to let it run.`
  }
  if (kind === 'lease_lost') {
    return `Step ${node} is held by worker ${owner}, which is silent since ${at}. A worker with the code would take it over.`
  }
  const after = node === null ? '' : `, after step ${node} had failed`
  if (kind === 'dlq')
    return `In the dead-letter queue since ${at}${after}. Requeue its dead letter, skip the step, or cancel it.`
  return `Paused since ${at}${after}. Resume it, skip the step, or cancel it.`
}

function ofSchedule({ name, type, nextAt, lastError }: ScheduleRecord): StuckWork {
  const since = dateOf(nextAt)
  const cause = lastError === null ? 'Perhaps no live worker has its code' : `Its start fails: ${lastError}`
  const why = `The tick of ${describeTime(since)} has not started ${type}. ${cause}.`
  return { kind: 'schedule_late', workflowId: null, name, step: null, queue: null, since, why }
}

function dateOf(micros: number): Date {
  return new Date(Math.floor(micros / 1000))
}
