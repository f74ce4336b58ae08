/** Waits of days, which no process has to stay alive for, and a step that is skipped when it has become pointless. */
import { Workflow } from '../../src/index.ts'
import { sendMail } from '../services.ts'
import { type Customer, Customers } from './customers.ts'

export class Signup extends Workflow<Customer> {
  static {
    this.heroes(Customers)
    this.step('welcome')
    this.step('remind', { wait: '2 days', skipIf: wf => wf.hero.hasLoggedIn })
    this.step('survey', { wait: '7 days' })
  }

  async welcome() {
    await sendMail(this.hero.email, 'Welcome')
  }

  async remind() {
    await sendMail(this.hero.email, 'You have not looked around yet')
  }

  async survey() {
    await sendMail(this.hero.email, 'How do you like it?')
  }
}
