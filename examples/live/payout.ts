/** A step that is given up because of what it was told. Correct the account in its dead letter, requeue, and it goes on. */
import { Workflow } from '../../src/index.ts'
import { chargeCard, sendMail } from '../services.ts'
import { People, type Person } from './people.ts'

export class Payout extends Workflow<Person, { account: string; cents: number }> {
  static {
    this.heroes(People)
    this.step('transfer', { onException: 'dlq' })
    this.step('confirm')
  }

  async transfer() {
    const { account } = (this.execution.input as { account?: string } | undefined) ?? this.input
    if (!/^NL\d{2}[A-Z]{4}\d{10}$/.test(account ?? ''))
      throw new Error(`${account} is no account: write it like NL91ABNA0417164300`)
    return chargeCard(this.input.cents, { key: this.execution.idempotencyKey, down: false })
  }

  async confirm() {
    await sendMail(this.hero.email, 'Your money is on its way')
  }
}
