/** A step that fails, is tried again by its policy, and passes its result on to the next one. */
import { Workflow } from '../../src/index.ts'
import { chargeCard, sendMail } from '../services.ts'
import { type Customer, Customers } from './customers.ts'

export class Payment extends Workflow<Customer, { cents: number }> {
  static {
    this.heroes(Customers)
    this.step('charge', { onException: { policy: 'reattempt', limit: 5, wait: '30 minutes' } })
    this.step('receipt', { onException: 'skip' })
  }

  /** The key is the same on every attempt, so that a charge whose answer was lost is not made twice. */
  async charge() {
    return chargeCard(this.input.cents, {
      key: this.execution.idempotencyKey,
      down: this.execution.attempt < 3,
    })
  }

  async receipt() {
    const { paymentId } = await this.output(this.charge)
    await sendMail(this.hero.email, `Receipt ${paymentId}`)
  }
}
