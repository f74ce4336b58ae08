/**
 * Schedules in SQL. A tick is taken by moving `next_at` on, where it still is what was seen, in the transaction that starts
 * the workflow: whoever is killed in between has done neither.
 */
import { failpoint } from '../../primitives/failpoint.ts'
import type { AskedBy, RequestEntry } from '../request-store.ts'
import type { ScheduleEntry, ScheduleRecord, ScheduleStore, TickRun } from '../schedule-store.ts'
import type { StartOrder, StartResult } from '../store.ts'
import type { SqlContext } from './context.ts'
import { int, optionalInt, optionalText, text } from './decode.ts'
import type { Executor, Row } from './dialect.ts'
import { endedStates } from './ended-states.ts'
import { retriesWithin } from './retrying.ts'
import { runTransaction } from './run-transaction.ts'
import { oneOf, raw, type Sql, sql } from './sql.ts'
import { insertRequest } from './sql-requests.ts'
import { startAll, startEvents } from './start-workflows.ts'

/** A tick that others keep waiting stays due, and other schedules tick meanwhile. */
const tickPatienceMs = 1500

export class SqlSchedules implements ScheduleStore<StartOrder> {
  readonly #context: SqlContext

  constructor(context: SqlContext) {
    this.#context = context
  }

  async list(names?: readonly string[]) {
    const { schedules } = this.#context.tables
    if (names?.length === 0) return { now: 0, schedules: [] }
    const rows = await this.#context.read(
      sql`select s.*, ${this.#context.now} as database_now from ${schedules} s ${whereName(names)} order by s.name`,
    )
    return { now: rows[0] ? int(rows[0], 'database_now') : 0, schedules: rows.map(scheduleRecord) }
  }

  async add(entry: ScheduleEntry) {
    const { name, type, timing, catchUp, nextAt, since } = entry
    const rows = this.#context.rows('r', {
      columns: { name: 'text', type: 'text', timing: 'text', catch_up: 'text', next_at: 'int', since: 'int' },
      rows: [[name, type, timing, catchUp, nextAt, since]],
    })
    await this.#context.write(
      this.#context.dialect.insertNew(
        this.#context.tables.schedules,
        ['name', 'type', 'timing', 'catch_up', 'next_at', 'since', 'paused', 'started', 'skipped'],
        sql`select r.name, r.type, r.timing, r.catch_up, r.next_at, r.since, 0, 0, 0 from ${rows}`,
      ),
    )
  }

  async replace({ name, type, timing, catchUp, nextAt, since }: ScheduleEntry, seenTiming: string) {
    const { now, tables } = this.#context
    if (timing === seenTiming) {
      await this.#context.write(
        sql`update ${tables.schedules} set type = ${type}, catch_up = ${catchUp} where name = ${name} and timing = ${timing}`,
      )
      return
    }
    // Assignments are carried out from left to right in places, so what is compared comes before it is changed.
    await this.#context.write(
      sql`update ${tables.schedules} set next_at = case when next_at <= ${now} then next_at else ${nextAt} end,
        since = ${since}, type = ${type}, catch_up = ${catchUp}, timing = ${timing}
        where name = ${name} and timing = ${seenTiming}`,
    )
  }

  async run(run: TickRun<StartOrder>) {
    const work = async (transaction: Executor) => {
      const done = await this.#runInside(transaction, run)
      if (done !== null) failpoint?.('tick.before-commit')
      return done
    }
    const results = await runTransaction(this.#context.database, work, retriesWithin(tickPatienceMs))
    if (results !== null) failpoint?.('tick.after-commit')
    this.#context.tell(() => startEvents(run.orders, results ?? []))
    return results
  }

  async #runInside(executor: Executor, run: TickRun<StartOrder>): Promise<readonly StartResult[] | null> {
    const { schedules } = this.#context.tables
    const { name, timing, nextAt } = run.seen
    const rows = await executor.query(
      sql`select a.last_workflow_id from ${schedules} a where a.name = ${name} and a.next_at = ${nextAt}
        and a.timing = ${timing} and a.paused = 0 and a.next_at <= ${this.#context.now}${this.#context.dialect.lockSkipping}`,
    )
    const [row] = rows
    if (row === undefined) return null
    const orders = run.skipOverlap ? await this.#withoutOverlap(executor, run, row) : run.orders
    const results = await startAll(this.#context, executor, orders, new Map())
    const started = results.filter(result => result.kind !== 'active')
    const lastId = started.at(-1)?.workflow.id
    const lastWorkflow = lastId === undefined ? raw('last_workflow_id') : sql`${this.#context.id(lastId)}`
    const lastTick = run.lastTickAt === null ? raw('last_tick_at') : sql`${run.lastTickAt}`
    await executor.run(
      sql`update ${schedules} set next_at = ${run.nextAt}, last_tick_at = ${lastTick}, last_workflow_id = ${lastWorkflow},
        started = started + ${started.length}, skipped = skipped + ${run.orders.length - started.length}, last_error = null
        where name = ${name}`,
    )
    return results
  }

  /** Of several ticks at once only the first can find nothing in its way. */
  async #withoutOverlap(executor: Executor, { orders }: TickRun<StartOrder>, row: Row) {
    const last = optionalText(row, 'last_workflow_id')
    if (last === null) return orders.slice(0, 1)
    const { workflows } = this.#context.tables
    const active = await executor.query(
      sql`select w.id from ${workflows} w where w.id = ${this.#context.id(last)} and w.state not in ${raw(endedStates)}`,
    )
    return active.length > 0 ? [] : orders.slice(0, 1)
  }

  async pause(name: string, asked: AskedBy) {
    const found = await this.list([name])
    await this.#changed(
      sql`update ${this.#context.tables.schedules} set paused = 1, paused_by = ${asked.by}, pause_reason = ${asked.reason}
        where name = ${name} and paused = 0`,
      { ...asked, action: 'schedule.pause', name, detail: null },
    )
    return found.schedules.length > 0
  }

  resume(name: string, { nextAt, since }: Pick<ScheduleRecord, 'nextAt' | 'since'>, asked: AskedBy) {
    return this.#changed(
      sql`update ${this.#context.tables.schedules} set paused = 0, paused_by = null, pause_reason = null,
        next_at = ${nextAt}, since = ${since} where name = ${name} and paused = 1`,
      { ...asked, action: 'schedule.resume', name, detail: null },
    )
  }

  remove(name: string, asked: AskedBy) {
    return this.#changed(sql`delete from ${this.#context.tables.schedules} where name = ${name}`, {
      ...asked,
      action: 'schedule.remove',
      name,
      detail: null,
    })
  }

  /** A change and its record in one transaction. False where there was nothing to change: then nothing is recorded. */
  #changed(change: Sql, entry: RequestEntry): Promise<boolean> {
    return runTransaction(this.#context.database, async transaction => {
      if ((await transaction.run(change)) === 0) return false
      await transaction.run(insertRequest(this.#context, entry))
      return true
    })
  }

  async noteError({ name, nextAt }: TickRun<StartOrder>['seen'], message: string) {
    await this.#context.write(
      sql`update ${this.#context.tables.schedules} set last_error = ${message}
        where name = ${name} and next_at = ${nextAt}`,
    )
  }
}

function whereName(names: readonly string[] | undefined): Sql {
  if (names === undefined) return raw('')
  return sql`where ${oneOf(raw('s.name'), names)}`
}

function scheduleRecord(row: Row): ScheduleRecord {
  return {
    name: text(row, 'name'),
    type: text(row, 'type'),
    timing: text(row, 'timing'),
    catchUp: text(row, 'catch_up'),
    nextAt: int(row, 'next_at'),
    since: int(row, 'since'),
    paused: int(row, 'paused') === 1,
    pausedBy: optionalText(row, 'paused_by'),
    pauseReason: optionalText(row, 'pause_reason'),
    lastTickAt: optionalInt(row, 'last_tick_at'),
    lastWorkflowId: optionalText(row, 'last_workflow_id'),
    started: int(row, 'started'),
    skipped: int(row, 'skipped'),
    lastError: optionalText(row, 'last_error'),
  }
}
