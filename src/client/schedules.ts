/**
 * What an application asks of its schedules: which there are, pause, resume, start one now, remove. Pausing and resuming
 * need no code of the schedule; starting does.
 */
import type { CatchUp } from '../definition/define-schedule.ts'
import type { Ticks } from '../engine/ticks.ts'
import { InvalidArgumentError } from '../errors.ts'
import type { ScheduleRecord } from '../store/schedule-store.ts'
import type { Opened } from './connection.ts'
import { type RequestOptions, requestFrom } from './request-options.ts'
import type { WorkflowHandle } from './workflow-handle.ts'

/** A schedule as it stands in the database. */
export interface ScheduleStatus {
  readonly name: string
  /** The workflow class, by its stored name. */
  readonly workflow: string
  readonly cron: string | null
  readonly timeZone: string | null
  readonly everyMs: number | null
  readonly catchUp: CatchUp
  /** `null` while it is paused. */
  readonly nextAt: Date | null
  readonly paused: boolean
  readonly pausedBy: string | null
  readonly pauseReason: string | null
  readonly lastTickAt: Date | null
  readonly lastWorkflowId: string | null
  /** How many workflows it has started. */
  readonly started: number
  /** How many ticks fell away because a workflow stood in their way. */
  readonly skipped: number
  /** Why the tick that is due could not be started, if that is so. */
  readonly lastError: string | null
  /** This process has the code that starts it. */
  readonly hasCode: boolean
}

export class Schedules {
  readonly #open: () => Promise<Opened>

  constructor(open: () => Promise<Opened>) {
    this.#open = open
  }

  /** Every schedule that the database knows, by name, those without code as well. */
  async list(): Promise<ScheduleStatus[]> {
    const { engine, ticks } = await this.#open()
    return (await engine.store.schedules.list()).schedules.map(row => statusOf(row, ticks))
  }

  async find(name: string): Promise<ScheduleStatus | null> {
    const { engine, ticks } = await this.#open()
    const [row] = (await engine.store.schedules.list([name])).schedules
    return row ? statusOf(row, ticks) : null
  }

  /** From now on no tick is started, in any process. Workflows that were started go on. */
  async pause(name: string, options?: RequestOptions): Promise<void> {
    const asked = requestFrom(options)
    const { engine } = await this.#open()
    if (!(await engine.store.schedules.pause(name, asked))) throw unknown(name)
  }

  /** Goes on with the first tick from now; those that fell into the pause are left out. */
  async resume(name: string, options?: RequestOptions): Promise<void> {
    const asked = requestFrom(options)
    const { engine, ticks } = await this.#open()
    const { schedules, now } = await engine.store.schedules.list([name])
    const [row] = schedules
    if (row === undefined) throw unknown(name)
    const since = Math.floor(now / 1000)
    const nextAt = ticks.timingOf(row.timing).next(since) * 1000
    await engine.store.schedules.resume(name, { nextAt, since: since * 1000 }, asked)
  }

  /** Starts one workflow now, also while the schedule is paused. Its ticks stay as they are. */
  async trigger(name: string, options?: RequestOptions): Promise<WorkflowHandle<any>> {
    const opened = await this.#open()
    const schedule = opened.ticks.find(name)
    if (schedule === null) {
      throw new InvalidArgumentError(
        `This process has no code for the schedule ${JSON.stringify(name)}. List it in \`new Geneva({ schedules: [...] })\`.`,
      )
    }
    const order = { ...(await opened.ticks.orderNow(schedule)), asked: requestFrom(options) }
    const workflow = await opened.starter.startOrder(order)
    return opened.wrap({ workflow, performing: false })
  }

  /** Forgets a schedule that the code no longer has. One that it has would come back, so that is refused. */
  async remove(name: string, options?: RequestOptions): Promise<void> {
    const asked = requestFrom(options)
    const { engine, ticks } = await this.#open()
    if (ticks.find(name) !== null) {
      throw new InvalidArgumentError(
        `The schedule ${JSON.stringify(name)} is still in the code of this process. Take it out there first, or pause it.`,
      )
    }
    await engine.store.schedules.remove(name, asked)
  }
}

function unknown(name: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `There is no schedule ${JSON.stringify(name)}. \`geneva.schedules.list()\` names all.`,
  )
}

function statusOf(row: ScheduleRecord, ticks: Ticks): ScheduleStatus {
  const { cron, timeZone, everyMs } = ticks.timingOf(row.timing)
  const { name, paused, pausedBy, pauseReason, lastWorkflowId, started, skipped, lastError } = row
  return {
    name,
    workflow: row.type,
    cron,
    timeZone,
    everyMs,
    catchUp: row.catchUp as CatchUp,
    nextAt: paused ? null : new Date(row.nextAt / 1000),
    paused,
    pausedBy,
    pauseReason,
    lastTickAt: row.lastTickAt === null ? null : new Date(row.lastTickAt / 1000),
    lastWorkflowId,
    started,
    skipped,
    lastError,
    hasCode: ticks.find(name) !== null,
  }
}
