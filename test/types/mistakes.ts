/** Each marked line must fail to compile; the sentence says what the compiler is to notice. */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a word of exception policies.
import type { Kysely } from 'kysely'
import { z } from 'zod'
import { defineHero } from '../../src/definition/hero.ts'
import type { StartsAlone, StartWhat } from '../../src/definition/start-types.ts'
import { type AnyWorkflow, type ConcreteClass, Workflow } from '../../src/definition/workflow.ts'
import { fromKysely, fromSql, type Iteration, type NestedCursor, type RecordPlace } from '../../src/index.ts'
import { InvoiceWorkflow, Nightly, type Order, Orders, OrderWorkflow } from './api.ts'

declare const geneva: {
  start<W extends AnyWorkflow>(workflowClass: ConcreteClass<W> & StartsAlone<W>): Promise<void>
  start<W extends AnyWorkflow>(workflowClass: ConcreteClass<W>, what: StartWhat<W>): Promise<void>
}
interface Cat {
  id: string
  meows: boolean
}
const Cats = defineHero('Cat', { id: (cat: Cat) => cat.id, load: () => null })

export class Mistaken extends Workflow<Order, { currency: string }> {
  static {
    // @ts-expect-error a step that is no method
    this.step('chrage')
    // @ts-expect-error a private method is no step
    this.step('secret')
    // @ts-expect-error a method that asks for something is no plain step
    this.step('release')
    // @ts-expect-error a member of Workflow is no step
    this.step('cancel')
    // @ts-expect-error a property that is no method
    this.step('label')
    // @ts-expect-error returns a value that cannot be stored: a function
    this.step('leaks')
    // @ts-expect-error returns a value that cannot be stored: a class instance with methods, nested
    this.step('leaksDeep')
    // @ts-expect-error an inline step that returns a value that cannot be stored
    this.inline('leaky', () => () => 1)
    // @ts-expect-error a position that is no step
    this.step('charge', { afterStep: 'shp' })
    // @ts-expect-error a position that is no step
    this.step('charge', { beforeStep: 'label' })
    // @ts-expect-error a position by something that no verb returned
    this.step('charge', { beforeStep: { name: 'ship' } })
    // @ts-expect-error a condition that is no method
    this.step('charge', { if: 'isBig' })
    // @ts-expect-error a condition method that does not answer yes or no
    this.step('charge', { skipIf: 'ship' })
    // @ts-expect-error a condition function that does not answer yes or no, here because the call is missing
    this.step('charge', { if: wf => wf.isSmall })
    // @ts-expect-error a field that the hero does not have
    this.step('charge', { if: wf => wf.hero.totl > 1 })
    // @ts-expect-error a policy that does not exist
    this.step('charge', { onException: 'explode' })
    // @ts-expect-error then cannot be reattempt
    this.step('charge', { onException: { policy: 'reattempt', then: 'reattempt' } })
    // @ts-expect-error a limit belongs to reattempt
    this.step('charge', { onException: { policy: 'cancel', limit: 3 } })
    // @ts-expect-error a function that picks a policy that does not exist
    this.step('charge', { onException: () => 'explode' })
    // @ts-expect-error an error-class map with something that is no class
    this.onException([['CardDeclined', 'cancel']])
    // @ts-expect-error a duration with a unit that does not exist
    this.step('charge', { wait: '2 fortnights' })
    // @ts-expect-error an option that does not exist
    this.step('charge', { wiat: '2 days' })
    // @ts-expect-error a result that is no step
    this.result('label')
    // @ts-expect-error heroes of another type
    this.heroes(Cats)
    // @ts-expect-error a schema for another input
    this.input(z.object({ amount: z.number() }))
    // @ts-expect-error something that is no schema
    this.input({ currency: 'string' })
    // @ts-expect-error a queue is a name
    this.jobOptions({ queue: 5 })
  }
  label = 'x'
  isSmall() {
    return this.hero.total < 5
  }
  async charge() {
    // @ts-expect-error a field that the input does not have
    return String(this.input.curency)
  }
  async ship() {
    // @ts-expect-error output takes the method, not its name
    await this.output('charge')
    // @ts-expect-error the hero cannot be replaced
    this.hero = null
    // @ts-expect-error the output of charge is a text
    const charged: number = await this.output(this.charge)
    return charged
  }
  async over() {
    // @ts-expect-error what it goes on as needs an input, because the class does
    if (this.isSmall()) this.restart()
    // @ts-expect-error an input of another type
    if (this.isSmall()) this.restart({ currency: 5 })
    // @ts-expect-error a field that the input does not have
    if (this.isSmall()) this.restart({ currency: 'EUR', curency: 'USD' })
    // @ts-expect-error a duration with a unit that does not exist
    this.restart({ currency: 'EUR' }, { wait: '2 fortnights' })
  }
  async release(amount: number) {
    return amount
  }
  async leaks() {
    return () => 1
  }
  async leaksDeep() {
    return { rows: [{ found: /x/.exec('x'), pattern: /x/ }] }
  }
  private async secret() {}
  /** Keeps the compiler from calling it unused. */
  protected useSecret() {
    return this.secret()
  }
}

interface Reading {
  id: number
  takenAt: Date
}
declare const readings: {
  query(text: string, values: unknown[]): Promise<Reading[]>
  after(after: number | null): Promise<Reading[]>
}
declare const kysely: Kysely<{ readings: Reading }>

export class Iterating extends Workflow<Order> {
  static {
    // @ts-expect-error a method that receives nothing is no resumable step
    this.resumableStep('plain')
    // @ts-expect-error a method that receives an iteration is no plain step
    this.step('numbers')
    // @ts-expect-error a method that asks for something else is neither
    this.resumableStep('release')
    // @ts-expect-error returns a value that cannot be stored: a function
    this.resumableStep('leaks')
    // @ts-expect-error a count is a number
    this.resumableStep('numbers', { yieldEvery: '100' })
    // @ts-expect-error checkpoints are written after items or after some time
    this.resumableStep('numbers', { checkpoint: { rows: 100 } })
    // @ts-expect-error there is no way not to write checkpoints
    this.resumableStep('numbers', { checkpoint: 'never' })
    // @ts-expect-error a plain step does not yield
    this.step('plain', { yieldEvery: 100 })
  }
  async plain() {}
  async release(amount: number) {
    return amount
  }
  async leaks(_iter: Iteration<number>) {
    return () => 1
  }
  async numbers(iter: Iteration<number>) {
    // @ts-expect-error a cursor of another type
    await iter.set('5')
    // @ts-expect-error a cursor of another type
    await iter.skipTo(new Date())
    // @ts-expect-error the records have cursors of another type
    iter.records(readings.after, r => r.takenAt)
    // @ts-expect-error a fetch function needs to be told the cursor of a record
    iter.records(readings.after)
    // @ts-expect-error a source of records has places, and no numbers, as cursors
    iter.records(fromSql({ select: 'select * from readings', id: 'id', query: readings.query }))
    // @ts-expect-error two levels need a cursor of two levels
    iter.nested(readings.after, r => r.id)
    // @ts-expect-error a total is a number
    iter.progress({ total: '5' })
  }
  async texts(iter: Iteration<string>) {
    // @ts-expect-error only a number can be counted up
    await iter.advance()
    // @ts-expect-error the place in a list is a number
    iter.over(['a', 'b'])
    // @ts-expect-error the fetch function expects cursors of another type
    iter.records(readings.after, r => String(r.id))
    // @ts-expect-error the pairs have cursors of another type
    iter.pairs(() => [['item', 5] as const])
  }
  async nested(iter: Iteration<NestedCursor<number, string>>) {
    for await (const [, inner] of iter.nested(readings.after, r => r.id)) {
      // @ts-expect-error the inner cursor is a text
      await inner.set(5)
    }
  }
  async sources(iter: Iteration<RecordPlace>) {
    // @ts-expect-error a column that the records do not have
    iter.records(fromSql({ select: '', by: 'takenOn', id: 'id', query: readings.query }))
    // @ts-expect-error an order that does not exist
    iter.records(fromKysely(kysely.selectFrom('readings').selectAll(), { id: 'id', order: 'up' }))
    // @ts-expect-error a column that the query does not select
    iter.records(fromKysely(kysely.selectFrom('readings').select('id'), { by: 'takenAt', id: 'id' }))
  }
}

export class Hiding extends Workflow<Order> {
  // @ts-expect-error a member of Workflow cannot be something else
  override cancel() {
    return 5
  }
}

abstract class Unfinished extends Workflow {}

export async function starting(order: Order, cat: Cat) {
  // @ts-expect-error an abstract class cannot be started
  await geneva.start(Unfinished, {})
  // @ts-expect-error a workflow with a hero needs one
  await geneva.start(OrderWorkflow)
  // @ts-expect-error a workflow with a hero needs one
  await geneva.start(OrderWorkflow, {})
  // @ts-expect-error a hero of another type
  await geneva.start(OrderWorkflow, { hero: cat })
  // @ts-expect-error a reference to a hero of another type
  await geneva.start(OrderWorkflow, { hero: Cats.ref('tom') })
  // @ts-expect-error a reference that no hero type made
  await geneva.start(OrderWorkflow, { hero: { heroType: 'Order', id: 42 } })
  // @ts-expect-error an id of another type
  Orders.ref('42')
  // @ts-expect-error the input is required
  await geneva.start(InvoiceWorkflow, { hero: order })
  // @ts-expect-error an input of another type
  await geneva.start(InvoiceWorkflow, { hero: order, input: { currency: 'NLG' } })
  // @ts-expect-error an input with a field too many
  await geneva.start(OrderWorkflow, { hero: order, input: { cupon: 'x' } })
  // @ts-expect-error there is no hero to pass
  await geneva.start(Nightly, { hero: order })
  // @ts-expect-error there is no input to pass
  await geneva.start(Nightly, { input: { force: true } })
  // @ts-expect-error ids are numbers, bigints or texts
  defineHero('Symbolic', { id: (record: { key: symbol }) => record.key, load: () => null })
}
