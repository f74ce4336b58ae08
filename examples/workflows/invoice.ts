/** An error that nobody foresaw: the workflow pauses, somebody puts things right, and it goes on where it stood. */
import { Workflow } from '../../src/index.ts'
import { lookUpTaxRate, sendMail } from '../services.ts'
import { type Customer, Customers } from './customers.ts'

export class Invoice extends Workflow<Customer, { cents: number }> {
  static {
    this.heroes(Customers)
    this.step('tax')
    this.step('send')
  }

  /** Nothing is said about errors here, and the default is `pause`. */
  async tax() {
    const rate = await lookUpTaxRate(this.hero.country, { missing: this.execution.attempt === 1 })
    return { cents: Math.round(this.input.cents * (1 + rate)) }
  }

  async send() {
    const { cents } = await this.output(this.tax)
    await sendMail(this.hero.email, `Invoice over ${cents / 100} EUR`)
  }
}
