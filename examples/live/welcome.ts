/** A signup with waits: seconds here, so that something is to be seen; days would cost no more. */
import { Workflow } from '../../src/index.ts'
import { sendMail } from '../services.ts'
import { People, type Person } from './people.ts'

export class Welcome extends Workflow<Person, { newsletter: boolean }> {
  static {
    this.heroes(People)
    this.step('greet')
    this.step('remind', { wait: '20 s' })
    this.condition('wantsNews', { then: b => b.step('subscribe') })
    this.step('survey', { wait: '40 s' })
  }

  async greet() {
    await sendMail(this.hero.email, 'Welcome')
  }

  async remind() {
    await sendMail(this.hero.email, 'You have not looked around yet')
  }

  wantsNews() {
    return this.input.newsletter
  }

  async subscribe() {
    return { list: 'weekly' }
  }

  async survey() {
    await sendMail(this.hero.email, 'How do you like it?')
  }
}
