/** A saga with a fork. Some orders cannot be shipped: what was done for them is undone, newest first. */
import { type Compensation, Workflow } from '../../src/index.ts'
import { chargeCard, handToCourier, reserveItems } from '../services.ts'
import { People, type Person } from './people.ts'

export class OrderSaga extends Workflow<Person, { items: string[]; cents: number; to: string }> {
  static {
    this.heroes(People)
    this.onException('rollback')
    this.step('reserve', { compensate: 'release' })
    this.step('charge', { compensate: { step: 'refund', retry: { attempts: 5 } }, retry: 3 })
    this.fork('fulfilment', {
      goods: b => {
        b.step('pack', { compensate: 'unpack' })
        b.step('label')
      },
      papers: b => b.step('invoice'),
    })
    this.step('ship', { retry: { attempts: 2 } })
  }

  async reserve() {
    return { reserved: await reserveItems(this.input.items) }
  }

  async release(_: Compensation<OrderSaga['reserve']>) {
    await reserveItems([])
  }

  async charge() {
    return chargeCard(this.input.cents, { key: this.execution.idempotencyKey, down: this.execution.attempt === 1 })
  }

  async refund({ output }: Compensation<OrderSaga['charge']>) {
    await reserveItems([])
    return { refunded: output?.paymentId ?? null }
  }

  async pack() {
    return { boxes: await reserveItems(this.input.items) }
  }

  async unpack(_: Compensation<OrderSaga['pack']>) {
    await reserveItems([])
  }

  async label() {
    await reserveItems([])
  }

  async invoice() {
    return { number: `R-${this.execution.idempotencyKey.slice(0, 6)}` }
  }

  async ship() {
    if (this.input.to === 'the moon') throw new Error('no courier goes to the moon')
    return handToCourier(this.input.to)
  }
}
