/** Everything here must compile: the foundation part of the examples in the API document, and the types they yield. */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a word of exception policies.
import { eq, getTableColumns, sql, and as sqlAnd } from 'drizzle-orm'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import { integer, pgTable, timestamp } from 'drizzle-orm/pg-core'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import { isFlowControl } from '../../src/definition/flow-control.ts'
import { defineHero } from '../../src/definition/hero.ts'
import type { WorkflowMember } from '../../src/definition/node-name.ts'
import type { HeroOf, InputOf, StartInput, StartsAlone, StartWhat } from '../../src/definition/start-types.ts'
import type { OutputOf, StepName } from '../../src/definition/step-names.ts'
import { type AnyWorkflow, type ConcreteClass, Workflow } from '../../src/definition/workflow.ts'
import {
  fromDrizzle,
  fromKysely,
  fromSql,
  type Iteration,
  type NestedCursor,
  type RecordPlace,
} from '../../src/index.ts'

export interface Order {
  id: number
  total: number
  deletedAt: Date | null
  items: string[]
}
interface User {
  id: string
  email: string
  deactivated: boolean
}
interface Admin extends User {
  level: number
}
class CardDeclined extends Error {}
class RateLimited extends Error {
  retryAfter = 60
}

declare const db: {
  orders: { find(id: number): Promise<Order | undefined> }
  drafts: { remove(id: number): Promise<void> }
  accounts(after: number | null): Promise<{ id: number }[]>
  transactions(account: { id: number }, after: string | null): Promise<{ ref: string }[]>
  byDate(after: [Date, number] | null, limit: number): Promise<{ createdAt: Date; id: number }[]>
  query(text: string, values: unknown[]): Promise<Reading[]>
}
interface Reading {
  id: number
  takenAt: Date
  value: number
}
declare function fetchPage(token: string | null): Promise<{ limited: boolean; next: string }>
declare function readLines(after: bigint | null): AsyncIterable<readonly [string, bigint]>
declare const kysely: Kysely<{ readings: Reading }>
declare function pay(
  total: number,
  options: { key: string; signal: AbortSignal },
): Promise<{ id: string; createdAt: Date }>
declare function timed<T>(label: string, action: () => Promise<T>): Promise<T>
declare function touch(text: string): Promise<void>

/** Stands in for `geneva`, with the signatures that the client gives to its methods. */
declare const geneva: {
  start<W extends AnyWorkflow>(workflowClass: ConcreteClass<W> & StartsAlone<W>): Promise<Started<W>>
  start<W extends AnyWorkflow>(
    workflowClass: ConcreteClass<W>,
    what: StartWhat<W>,
    options?: object,
  ): Promise<Started<W>>
  startMany<W extends AnyWorkflow>(
    workflowClass: ConcreteClass<W>,
    what: readonly StartWhat<W>[],
  ): Promise<Started<W>[]>
}
interface Started<W> {
  output<K extends StepName<W>>(step: K): Promise<OutputOf<W, K> | undefined>
}

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function expectType<_T extends true>(): void {}

export const Orders = defineHero('Order', { id: (order: Order) => order.id, load: id => db.orders.find(id) })
const Checkout = z.object({ coupon: z.string().optional(), giftWrap: z.boolean().default(false) })

export class InvoiceWorkflow extends Workflow<Order, { currency: 'EUR' | 'USD' }> {
  static {
    this.heroes(Orders)
    this.step('render')
    this.result('render')
  }
  async render() {
    return { url: `https://example.com/${this.hero.id}`, currency: this.input.currency }
  }
}

export class OrderWorkflow extends Workflow<Order, typeof Checkout> {
  static {
    this.heroes(Orders)
    this.input(Checkout)
    this.cancelIf(wf => wf.hero.deletedAt !== null)
    const charged = this.step('charge')
    this.step('ship', { wait: '2 days', onException: { policy: 'reattempt', wait: '1 min', limit: 3, then: 'cancel' } })
    this.inline('tidyUp', { wait: { days: 1, hours: 12 } }, async wf => {
      await db.drafts.remove(wf.hero.id)
    })
    const noted = this.inline({ afterStep: charged }, wf => ({ giftWrap: wf.input.giftWrap }))
    this.inline('last', { afterStep: noted }, () => {})
    this.result(noted)
    this.beforeEach((wf, step) => touch(`${wf.id} ${step.name} ${step.attempt}`))
    this.afterEach((wf, step) => touch(`${wf.hero.total} ${step.name}`))
  }

  async charge() {
    if (this.hero.total === 0) this.skip('nothing to pay')
    const payment = await pay(this.hero.total, { key: this.execution.idempotencyKey, signal: this.signal })
    return { paymentId: payment.id, at: payment.createdAt }
  }
  async ship() {
    const { paymentId } = await this.output(this.charge)
    const charge = await this.output(this.charge, null)
    expectType<Equal<typeof charge, { paymentId: string; at: Date } | null>>()
    return { paymentId, giftWrap: this.input.giftWrap }
  }
}

export class PaymentWorkflow extends Workflow<Order> {
  static {
    this.named('payments', 'PaymentFlow')
    this.jobOptions({ queue: 'payments', priority: 10 })
    this.allowMultiple()
    this.onException([
      [CardDeclined, 'cancel'],
      [RateLimited, { policy: 'reattempt', wait: '1 min' }],
      [TypeError, { policy: 'pause' }],
    ])
    this.onException('skip')
    this.aroundEach(async (wf, step, next) => timed(`${wf.id} ${step.name}`, next))
    this.step('charge', {
      onException: error =>
        error instanceof RateLimited ? { policy: 'reattempt', wait: error.retryAfter * 1000 } : 'cancel',
    })
    this.step('receipt', { onException: 'skip', if: 'wantsReceipt' })
    this.step('audit', { afterStep: 'charge', skipIf: wf => wf.hero.total < 10, queue: 'audits', priority: 0 })
    this.step('remind', {
      skipIf: async wf => wf.hero.total === 0,
      onException: [[RateLimited, (error: RateLimited) => ({ policy: 'reattempt', wait: error.retryAfter })]],
    })
    this.step('archive', {
      if: true,
      onException: error => {
        if (error instanceof CardDeclined) return 'cancel'
        return
      },
    })
    this.inline(async wf => {
      await db.drafts.remove(wf.hero.id)
    })
  }
  async charge() {
    return { paymentId: 'p1' }
  }
  async receipt() {}
  async audit() {}
  remind() {}
  async archive(): Promise<
    | {
        when: Date
        bytes: Uint8Array
        total: bigint
        nested: { list: (string | null)[] }[]
        tags: Set<string>
        at: URL
      }
    | undefined
  > {
    this.finish({ paid: true })
  }
  wantsReceipt() {
    return this.hero.total > 0
  }
}

export class Nightly extends Workflow {
  static {
    this.step('sweep')
  }
  async sweep() {
    expectType<Equal<typeof this.hero, null>>()
  }
}

abstract class UserWorkflow<H extends User, In extends object = Record<string, never>> extends Workflow<H, In> {
  static {
    this.cancelIf(wf => wf.hero.deactivated)
    this.jobOptions({ queue: 'users' })
    this.step('greet')
    this.step('done')
  }
  async greet() {
    return this.hero.email
  }
  abstract done(): Promise<void>
}
const Admins = defineHero('Admin', { id: (admin: Admin) => admin.id, load: async () => null })

export class AdminOnboarding extends UserWorkflow<Admin, { ticket: string }> {
  static {
    this.heroes(Admins)
    this.step('raise', { afterStep: 'greet', if: wf => wf.hero.level > 1 })
  }
  async raise() {
    return `${await this.output(this.greet)} ${this.input.ticket}`
  }
  async done() {}
}

export class Careful extends Workflow<Order | null> {
  static {
    this.heroes(Orders)
    this.mayOutliveHero()
    this.step('settle')
    this.inline('note', async wf => {
      const hero = wf.hero ?? wf.cancel()
      await touch(`${hero.id}`)
    })
  }
  async settle() {
    if (!this.hero) this.cancel('hero is gone')
    try {
      await pay(this.hero.total, { key: this.execution.idempotencyKey, signal: this.signal })
    } catch (error) {
      if (isFlowControl(error)) throw error
      this.reattempt({ wait: '5 min' })
    }
  }
}

/** The input of what it goes on as is what a caller would start it with: what the schema takes, not what it yields. */
export class Subscription extends Workflow<Order, typeof Checkout> {
  static {
    this.heroes(Orders)
    this.step('renew')
    this.step('close')
  }
  async renew(): Promise<{ month: number }> {
    if (this.hero.total > 0) this.restart({ coupon: 'again' }, { wait: '30 days' })
    const next = this.input.giftWrap ? () => this.restart({}) : () => ({ month: 1 })
    return next()
  }
  close(): never {
    return this.restart({ giftWrap: !this.input.giftWrap })
  }
}

export class Imports extends Workflow<Order> {
  static {
    this.heroes(Orders)
    this.resumableStep('rows')
    this.resumableStep('mail', { maxRuntime: '5 min' })
    this.resumableStep('ledger', { yieldEvery: 1000, maxIterations: 1e6, checkpoint: { items: 100, time: '1s' } })
    this.resumableStep('files', { checkpoint: 'each', wait: '1 hour', skipIf: wf => wf.hero.total === 0 })
    this.resumableStep('batches')
    this.step('done', { afterStep: 'batches' })
  }
  async rows(iter: Iteration<number>) {
    for await (const item of iter.over(this.hero.items)) await touch(item)
    await iter.over(this.hero.items, item => touch(item))
    await iter.advance({ start: 0 })
  }
  async mail(iter: Iteration<string>) {
    for (;;) {
      const page = await fetchPage(iter.cursor)
      if (page.limited) return iter.skipTo(page.next, { wait: '1 min' })
      if (!page.next) return
      await iter.set(page.next)
    }
  }
  async ledger(iter: Iteration<NestedCursor<number, string>>) {
    for await (const [account, inner] of iter.nested(
      after => db.accounts(after),
      a => a.id,
    )) {
      const fetch = (after: string | null) => db.transactions(account, after)
      for await (const t of inner.records(fetch, t => t.ref)) await touch(t.ref)
    }
  }
  async files(iter: Iteration<bigint>) {
    for await (const line of iter.pairs(after => readLines(after))) await touch(line)
  }
  async batches(iter: Iteration<[Date, number]>) {
    iter.progress({ total: 1_000_000 })
    for await (const batch of iter.batches(
      (after, limit) => db.byDate(after, limit),
      r => [r.createdAt, r.id],
      { size: 500 },
    )) {
      await iter.transaction(async tx => {
        await tx.query('update rows set done = true where id = any($1)', [batch.map(r => r.id)])
      })
    }
    const place: [string, [Date, number] | null] = [iter.name, iter.cursor]
    await touch(`${iter.description} ${place[0]}`)
    return { count: iter.completedIterations, resumed: iter.resumed, advanced: iter.advanced }
  }
  async done() {
    const { count } = await this.output(this.batches)
    expectType<Equal<typeof count, number>>()
  }
}

const readings = pgTable('readings', { id: integer().primaryKey(), takenAt: timestamp().notNull() })
declare const drizzle: NodePgDatabase

export class Readings extends Workflow {
  static {
    this.resumableStep('plain')
    this.resumableStep('built')
    this.resumableStep('drizzled')
  }
  async plain(iter: Iteration<RecordPlace>) {
    const source = fromSql({ select: 'select * from readings', by: 'takenAt', id: 'id', query: db.query })
    for await (const reading of iter.records(source, { size: 500 })) expectType<Equal<typeof reading, Reading>>()
  }
  async built(iter: Iteration<RecordPlace>) {
    const query = kysely.selectFrom('readings').select(['id', 'takenAt'])
    const source = fromKysely(query, { by: 'takenAt', id: 'id', order: 'desc' })
    for await (const { id, takenAt } of iter.records(source)) await touch(`${id} ${takenAt.toISOString()}`)
    fromKysely(query, { by: 'readings.takenAt', id: 'readings.id' })
  }
  async drizzled(iter: Iteration<RecordPlace>) {
    const source = fromDrizzle(
      page =>
        drizzle
          .select({ ...getTableColumns(readings), ...page.place })
          .from(readings)
          .where(sqlAnd(eq(readings.id, 5), page.where))
          .orderBy(...page.orderBy)
          .limit(page.limit),
      { by: readings.takenAt, id: readings.id, sql },
    )
    for await (const batch of iter.batches(source)) {
      const [first] = batch
      expectType<Equal<typeof first, { id: number; takenAt: Date } | undefined>>()
    }
  }
}

interface Cat {
  id: bigint
  meows: true
}
interface Dog {
  id: string
  barks: true
}
const Cats = defineHero('Cat', { id: (cat: Cat) => cat.id, load: () => null, is: animal => 'meows' in animal })
const Dogs = defineHero('Dog', { id: (dog: Dog) => dog.id, load: () => undefined, is: animal => 'barks' in animal })

export class Checkup extends Workflow<Cat | Dog> {
  static {
    this.heroes(Cats, Dogs)
    this.step('weigh')
  }
  weigh() {
    return 'meows' in this.hero ? 4 : 12
  }
}

export class MaybeOrder extends Workflow<Order | undefined, { note?: string }> {
  static {
    this.mayOutliveHero()
    this.input(z.object({ note: z.string().optional() }) as z.ZodType<{ note?: string }>)
  }
}

export async function starting(order: Order, admin: Admin, cat: Cat) {
  const wf = await geneva.start(OrderWorkflow, { hero: order }, {})
  await geneva.start(OrderWorkflow, { hero: order, input: { coupon: 'x' } })
  await geneva.start(InvoiceWorkflow, { hero: Orders.ref(42), input: { currency: 'USD' } })
  await geneva.start(Nightly)
  await geneva.start(Nightly, {}, {})
  await geneva.startMany(InvoiceWorkflow, [{ hero: order, input: { currency: 'EUR' } }])
  await geneva.start(AdminOnboarding, { hero: admin, input: { ticket: 't' } })
  await geneva.start(Careful, { hero: null })
  await geneva.start(Careful, { hero: Orders.of(order) })
  await geneva.start(Checkup, { hero: cat })
  await geneva.start(Checkup, { hero: Dogs.ref('rex') })
  await geneva.start(MaybeOrder)
  await geneva.start(MaybeOrder, { hero: order, input: { note: 'n' } })
  const charged = await wf.output('charge')
  expectType<Equal<typeof charged, { paymentId: string; at: Date } | undefined>>()
}

expectType<Equal<HeroOf<OrderWorkflow>, Order>>()
expectType<Equal<HeroOf<AdminOnboarding>, Admin>>()
expectType<Equal<InputOf<OrderWorkflow>, { coupon?: string | undefined; giftWrap: boolean }>>()
expectType<Equal<StartInput<OrderWorkflow>, { coupon?: string | undefined; giftWrap?: boolean | undefined }>>()
expectType<Equal<InputOf<InvoiceWorkflow>, { currency: 'EUR' | 'USD' }>>()
expectType<Equal<StepName<AdminOnboarding>, 'greet' | 'done' | 'raise'>>()
expectType<Equal<OutputOf<AdminOnboarding, 'raise'>, string>>()
expectType<Equal<StepName<Imports>, 'rows' | 'mail' | 'ledger' | 'files' | 'batches' | 'done'>>()
expectType<Equal<WorkflowMember, keyof AnyWorkflow & string>>()
