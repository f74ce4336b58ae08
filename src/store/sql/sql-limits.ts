/**
 * Limits, pauses and the aging of priority in SQL. Every change and the raised revision are one transaction: a worker that
 * sees the old revision in its own transaction still goes by the old rules, and by no mixture.
 */
import type { LimitDeclaration, LimitKey, LimitRules, LimitStore, QueueCount, StoredLimits } from '../limit-store.ts'
import type { AskedBy } from '../request-store.ts'
import { setAging, useAging } from './aging.ts'
import { AgingLooks } from './aging-looks.ts'
import type { SqlContext } from './context.ts'
import { int, optionalInt, optionalText, text } from './decode.ts'
import type { Executor } from './dialect.ts'
import { insertLimit, limitRecord } from './limit-rows.ts'
import { runTransaction } from './run-transaction.ts'
import { raw, type Sql, sql } from './sql.ts'
import { insertRequest } from './sql-requests.ts'

export class SqlLimits implements LimitStore {
  readonly #context: SqlContext
  readonly #aging: AgingLooks

  constructor(context: SqlContext) {
    this.#context = context
    this.#aging = new AgingLooks(context)
  }

  async read(): Promise<LimitRules> {
    const rows = await this.#context.read(sql`select l.* from ${this.#context.tables.limits} l where l.lane = ''`)
    const own = rows.find(row => text(row, 'scope') === '')
    if (own !== undefined) useAging(this.#context, own)
    return {
      revision: own === undefined ? 0 : int(own, 'revision'),
      limits: rows.filter(row => row !== own).map(limitRecord),
    }
  }

  /** Looks first: a process that starts with what is known already writes nothing and locks nothing. */
  async declare(declarations: readonly LimitDeclaration[]): Promise<void> {
    if (declarations.length === 0) return
    const known = await this.#declared()
    const fresh = declarations.filter(item => isNews(item, known.get(keyOf(item))))
    if (fresh.length === 0) return
    await this.#change(async executor => {
      for (const item of fresh) {
        await executor.run(insertLimit(this.#context, { ...item, lane: '' }))
        const perKey = item.perKey ?? { concurrency: null, rate: null }
        // Once there were keys there may be rows in lanes, and somebody must look for them.
        const lanes = item.perKey === null ? raw('has_lanes') : raw('1')
        await executor.run(
          sql`update ${this.#context.tables.limits} set declared = ${declaredText(item)}, has_lanes = ${lanes},
            ${assign(item.limits, '')}, ${assign(perKey, 'lane_')} where ${isRow(item)}`,
        )
      }
    })
  }

  async set(queue: string, limits: StoredLimits, asked: AskedBy): Promise<void> {
    const key = { scope: 'queue', name: queue } as const
    await this.#change(async executor => {
      await executor.run(insertLimit(this.#context, { ...key, lane: '' }))
      await executor.run(sql`update ${this.#context.tables.limits} set ${assign(limits, '')} where ${isRow(key)}`)
      const detail = JSON.stringify(limits)
      await executor.run(insertRequest(this.#context, { ...asked, action: 'queue.limit', name: queue, detail }))
    })
  }

  async pause(queue: string, asked: AskedBy): Promise<void> {
    const key = { scope: 'queue', name: queue } as const
    await this.#change(async executor => {
      await executor.run(insertLimit(this.#context, { ...key, lane: '' }))
      const touched = await executor.run(
        sql`update ${this.#context.tables.limits} set paused = 1, paused_by = ${asked.by}, pause_reason = ${asked.reason},
          paused_at = ${this.#context.now} where ${isRow(key)} and paused = 0`,
      )
      if (touched === 0) return
      await executor.run(insertRequest(this.#context, { ...asked, action: 'queue.pause', name: queue, detail: null }))
    })
  }

  async resume(queue: string, asked: AskedBy): Promise<boolean> {
    let resumed = false
    await this.#change(async executor => {
      const touched = await executor.run(
        sql`update ${this.#context.tables.limits} set paused = 0, paused_by = null, pause_reason = null, paused_at = null
          where ${isRow({ scope: 'queue', name: queue })} and paused = 1`,
      )
      resumed = touched > 0
      if (!resumed) return
      await executor.run(insertRequest(this.#context, { ...asked, action: 'queue.resume', name: queue, detail: null }))
    })
    return resumed
  }

  async counts(): Promise<{ readonly now: number; readonly queues: readonly QueueCount[] }> {
    const { now, tables } = this.#context
    const due = sql`case when a.sort_key is not null and a.due_at <= ${now}`
    const [clock = [], rows = []] = await this.#context.snapshot([
      sql`select ${now} as now`,
      sql`select a.queue, sum(case when a.owner is not null then 1 else 0 end) as running,
        sum(${due} then 1 else 0 end) as due, min(${due} then a.due_at end) as oldest,
        sum(case when a.sort_key is not null and a.due_at > ${now} then 1 else 0 end) as later
        from ${tables.active} a where a.kind <> 'timer' and a.queue <> '' group by a.queue`,
    ])
    const queues = rows.map(row => ({
      queue: text(row, 'queue'),
      running: int(row, 'running'),
      due: int(row, 'due'),
      later: int(row, 'later'),
      oldestDueAt: optionalInt(row, 'oldest'),
    }))
    return { now: clock[0] ? int(clock[0], 'now') : 0, queues }
  }

  setAging(rate: number | null | undefined) {
    return setAging(this.#context, rate)
  }

  /** Under the lock of the classes, which every claim takes before it counts. */
  async forgetKeys(): Promise<void> {
    const { limits } = this.#context.tables
    const old = sql`lane <> '' and kept_until < ${this.#context.now}`
    if ((await this.#context.read(sql`select 1 as one from ${limits} where ${old} limit 1`)).length === 0) return
    await runTransaction(this.#context.database, async transaction => {
      await transaction.query(
        sql`select l.name from ${limits} l where l.lane = '' and l.scope = 'class' order by l.scope, l.name${this.#context.dialect.lock}`,
      )
      await transaction.run(sql`delete from ${limits} where ${old}`)
    })
  }

  ageCapped(sources: readonly { readonly queue: string; readonly handler: string }[]) {
    return this.#aging.look(sources)
  }

  async #declared(): Promise<Map<string, string | null>> {
    const rows = await this.#context.read(
      sql`select l.scope, l.name, l.declared from ${this.#context.tables.limits} l where l.lane = ''`,
    )
    return new Map(
      rows.map(row => [JSON.stringify([text(row, 'scope'), text(row, 'name')]), optionalText(row, 'declared')]),
    )
  }

  /** The revision is raised last, so that whoever changes the same at the same time comes after. */
  async #change(work: (executor: Executor) => Promise<void>): Promise<void> {
    await runTransaction(this.#context.database, async transaction => {
      await work(transaction)
      await transaction.run(
        sql`update ${this.#context.tables.limits} set revision = revision + 1 where scope = '' and name = '' and lane = ''`,
      )
    })
  }
}

/** A class that says nothing and never has needs no row. */
function isNews(item: LimitDeclaration, known: string | null | undefined): boolean {
  const text = declaredText(item)
  if (known === undefined || known === null) return item.scope === 'queue' || text !== nothing
  return known !== text
}

function declaredText({ limits, perKey }: LimitDeclaration): string {
  return JSON.stringify([limits.concurrency, limits.rate, perKey && [perKey.concurrency, perKey.rate]])
}

const nothing = JSON.stringify([null, null, null])

function keyOf({ scope, name }: LimitKey): string {
  return JSON.stringify([scope, name])
}

function isRow({ scope, name }: LimitKey): Sql {
  return sql`scope = ${scope} and name = ${name} and lane = ''`
}

function assign({ concurrency, rate }: StoredLimits, prefix: '' | 'lane_'): Sql {
  const name = (column: string) => raw(`${prefix}${column}`)
  const per = rate === null ? null : Math.round(rate.perMs * 1000)
  return sql`${name('concurrency')} = ${concurrency}, ${name('rate_limit')} = ${rate?.limit ?? null}, ${name('rate_per')} = ${per}`
}
