/** Workflows that bring every page of the dashboard to life: one for each thing it can show or do. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { z } from 'zod'
import {
  type Compensation,
  type Decision,
  defineHero,
  defineJob,
  defineSchedule,
  type Iteration,
  type Signal,
  Workflow,
} from '../../src/index.ts'

export const Buyers = defineHero('Buyer', { id: (buyer: { id: string }) => buyer.id, load: id => ({ id: String(id) }) })

export const ApprovalForm = z.object({
  limit: z.number().min(1).describe('Up to how much'),
  account: z.enum(['travel', 'other']),
  urgent: z.boolean().optional(),
})

/** A saga that waits for a person, then for a message. */
export class Purchase extends Workflow<{ id: string }, { what?: string }> {
  static {
    this.heroes(Buyers)
    this.allowMultiple()
    this.step('reserve', { compensate: 'release' })
    this.human('approve', {
      prompt: 'May this be bought?',
      form: ApprovalForm,
      assignTo: 'finance',
      onReject: 'rollback',
    })
    this.waitFor('delivered')
    this.step('close')
  }
  async reserve() {
    return { shelf: 'A7' }
  }
  async release(_: Compensation<Purchase['reserve']>) {}
  async approve({ data }: Decision<typeof ApprovalForm>) {
    return data
  }
  async delivered({ payload }: Signal<{ by: string }>) {
    return payload.by
  }
  async close() {}
}

/** A schema of no library that can say itself as JSON Schema. */
export const SignatureForm: StandardSchemaV1<{ ink: string }> = {
  '~standard': {
    version: 1,
    vendor: 'sample',
    validate: value => {
      const { ink } = (value ?? {}) as { ink?: unknown }
      return typeof ink === 'string' ? { value: { ink } } : { issues: [{ message: 'ink is a text' }] }
    },
  },
}

/** Takes two people. */
export class Contract extends Workflow {
  static {
    this.human('sign', { prompt: 'Do you sign?', form: SignatureForm, quorum: 2 })
  }
  async sign({ decisions }: Decision<typeof SignatureForm>) {
    return decisions.length
  }
}

/** Pauses at a step that fails, until the test says that it is mended. */
export class Shaky extends Workflow<null, { text?: string }> {
  static {
    this.step('first')
    this.step('trip')
    this.step('last')
  }
  async first() {}
  async trip() {
    throw new TypeError(this.input.text ?? 'tripped over')
  }
  async last() {}
}

/** Is given up because of its input; with another one it works. */
export class Payout extends Workflow<null, { account: string }> {
  static {
    this.step('transfer', { onException: 'dlq' })
    this.step('confirm')
  }
  async transfer() {
    const { account } = (this.execution.input as { account?: string } | undefined) ?? this.input
    if (account !== 'right') throw new RangeError(`no such account: ${account}`)
    return { account }
  }
  async confirm() {}
}

/** Fails, and what it has done cannot be undone. */
export class Lease extends Workflow {
  static {
    this.step('sign', { compensate: { step: 'tear', retry: 1 } })
    this.step('moveIn', { onException: 'rollback' })
  }
  async sign() {}
  async tear() {
    throw new RangeError('the paper is too strong')
  }
  async moveIn() {
    throw new Error('no key')
  }
}

/** Gets a message that it can make nothing of. */
export class Parcel extends Workflow {
  static {
    this.waitFor('arrived', { onException: 'dlq' })
  }
  async arrived({ payload }: Signal<{ at: string }>) {
    throw new RangeError(`no such place: ${payload.at}`)
  }
}

/** Has a condition, a fork, a fan-out that is folded, and a resumable step that stops half-way. */
export class Wide extends Workflow {
  static {
    this.condition('isBig', () => true, { then: b => b.step('grow'), else: b => b.step('shrink') })
    this.parallel('checks', b => [b.step('left'), b.step('right')])
    this.each('mail', { items: () => Array.from({ length: 40 }, (_, index) => index) })
    this.resumableStep('rows')
    this.step('end')
  }
  async grow() {}
  async shrink() {}
  async left() {}
  async right() {}
  async mail(item: number) {
    return item
  }
  async rows(iter: Iteration<number>) {
    iter.progress({ total: 200 })
    for await (const row of iter.over(Array.from({ length: 200 }, (_, index) => index))) {
      if (row === 80 && !iter.resumed) await iter.suspend({ wait: '1 day' })
    }
  }
  async end() {}
}

/** Stands still at its second step, which is due far in the future. */
export class Patient extends Workflow {
  static {
    this.jobOptions({ queue: 'slow' })
    this.step('begin')
    this.step('later', { wait: '30 days' })
  }
  async begin() {}
  async later() {}
}

export const touch = defineJob('touch', async (args: { at: number }) => args.at)
export const nightly = defineSchedule('nightly', { cron: '0 3 * * *', workflow: Patient })

export const samples = {
  workflows: [Purchase, Contract, Shaky, Payout, Lease, Parcel, Wide, Patient],
  jobs: [touch],
  schedules: [nightly],
}
