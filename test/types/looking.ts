/** Lists and looks across classes, as the compiler sees them. */
import { defineHero, type Geneva, Workflow } from '../../src/index.ts'

interface Order {
  readonly id: number
}

const Orders = defineHero('Order', { id: (order: Order) => order.id, load: (id): Order => ({ id }) })

class OrderWorkflow extends Workflow<Order> {
  static {
    this.heroes(Orders)
    this.step('ship')
  }
  async ship() {}
}

export async function listing(geneva: Geneva, order: Order): Promise<void> {
  await geneva.list({ hero: Orders.ref(42), state: 'active', at: 'ship' })
  await geneva.list(OrderWorkflow, { hero: order })
  await geneva.list(OrderWorkflow, { hero: Orders.ref(42), at: 'ship' })
  await geneva.find({ hero: Orders.of(order) })
  await geneva.find(OrderWorkflow, { hero: order })
  // @ts-expect-error without a class nobody can tell the type of a record
  await geneva.list({ hero: order })
  // @ts-expect-error nor of no hero at all
  await geneva.list({ hero: null })
  // @ts-expect-error nor can a single one be found by its record
  await geneva.find({ hero: order })
  // @ts-expect-error what is looked for has to be said
  await geneva.find({})
  // @ts-expect-error a step that the class does not have
  await geneva.list(OrderWorkflow, { at: 'shipp' })
}
