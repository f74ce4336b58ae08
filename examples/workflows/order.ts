/** The one whose worker is killed while it packs: another worker packs again, and what was done before stays done. */
import { Workflow } from '../../src/index.ts'
import { handToCourier, packParcel, reserveItems } from '../services.ts'
import { type Customer, Customers } from './customers.ts'

export class Order extends Workflow<Customer, { items: string[] }> {
  static {
    this.heroes(Customers)
    this.step('reserve')
    this.step('pack')
    this.step('ship', { wait: '1 day' })
  }

  async reserve() {
    return { reserved: await reserveItems(this.input.items) }
  }

  async pack() {
    return packParcel({ byHand: this.execution.attempt === 1, signal: this.signal })
  }

  async ship() {
    const { parcel } = await this.output(this.pack)
    return handToCourier(parcel)
  }
}
