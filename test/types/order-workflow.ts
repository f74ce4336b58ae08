/** A class about a hero, for whoever starts it or looks for it. */
import { defineHero, Workflow } from '../../src/index.ts'

export interface Order {
  readonly id: number
}

export const Orders = defineHero('Order', { id: (order: Order) => order.id, load: (id): Order => ({ id }) })

export class OrderWorkflow extends Workflow<Order> {
  static {
    this.heroes(Orders)
    this.step('ship')
  }
  async ship() {}
}
