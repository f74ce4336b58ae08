/** An approval that waits for you, with a form: confirm it in the dashboard and it is paid, reject it and it is undone. */
import { z } from 'zod'
import { type Compensation, type Decision, Workflow } from '../../src/index.ts'
import { chargeCard, reserveItems } from '../services.ts'
import { People, type Person } from './people.ts'

const Approval = z.object({
  limit: z.number().min(1).describe('Up to how many euros'),
  account: z.enum(['travel', 'equipment', 'other']),
  urgent: z.boolean().optional().describe('Pay it today'),
})

export class Expense extends Workflow<Person, { cents: number; what: string }> {
  static {
    this.heroes(People)
    this.step('reserveBudget', { compensate: 'freeBudget' })
    this.human('approve', {
      prompt: 'May this expense be paid?',
      form: Approval,
      assignTo: 'finance',
      deadline: '3 days',
      onReject: 'rollback',
    })
    this.step('pay')
  }

  async reserveBudget() {
    await reserveItems([this.input.what])
    return { cents: this.input.cents }
  }

  async freeBudget(_: Compensation<Expense['reserveBudget']>) {
    await reserveItems([])
  }

  async approve({ by, data }: Decision<typeof Approval>) {
    return { by, ...data }
  }

  async pay() {
    return chargeCard(this.input.cents, { key: this.execution.idempotencyKey, down: false })
  }
}
