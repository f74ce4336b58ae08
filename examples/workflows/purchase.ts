/** A saga with an approval: what was done is undone when a person says no, or when no courier goes there. */
import { type Compensation, type Decision, Workflow } from '../../src/index.ts'

export class Purchase extends Workflow<null, { buyer: string; cents: number; to: string }> {
  static {
    this.onException('rollback')
    this.step('reserve', { compensate: 'release' })
    this.step('charge', { compensate: { step: 'refund', retry: { attempts: 5 } } })
    this.human('approve', {
      if: wf => wf.input.cents > 100_000,
      prompt: 'May this be sent?',
      deadline: '3 days',
      onReject: 'rollback',
    })
    this.step('ship')
  }

  async reserve() {
    this.say('the goods are reserved')
    return { shelf: 'A7' }
  }

  async release({ output }: Compensation<Purchase['reserve']>) {
    this.say(`shelf ${output?.shelf} is free again`)
  }

  async charge() {
    this.say(`${this.input.cents / 100} € are charged`)
    return { payment: `p-${this.input.buyer}` }
  }

  async refund({ output, reason }: Compensation<Purchase['charge']>) {
    this.say(`payment ${output?.payment} is refunded: ${reason.message}`)
  }

  async approve({ by, comment }: Decision) {
    this.say(`${by} approves: ${comment}`)
  }

  async ship() {
    if (this.input.to === 'the moon') throw new Error('no courier goes there')
    this.say(`a courier is on the way to ${this.input.to}`)
  }

  private say(what: string): void {
    console.log(`${this.input.buyer.padEnd(4)} ${what}`)
  }
}
