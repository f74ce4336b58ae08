/** Everything here must compile: sagas and control flow, as the API document shows them. */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a branch of a condition.
import { z } from 'zod'
import {
  type Child,
  type Compensation,
  type Decision,
  defineForm,
  defineHero,
  defineJob,
  type Iteration,
  type NodeRef,
  type Signal,
  type StepName,
  type Transaction,
  Workflow,
} from '../../src/index.ts'

interface Order {
  id: number
  total: number
  kind: 'digital' | 'goods'
  country: string
}
declare const db: { drop(reservation: string | undefined): Promise<void>; order(id: number): Promise<Order> }
declare function refundPayment(id: string, why: string): Promise<void>

const Orders = defineHero('Order', { id: (order: Order) => order.id, load: id => db.order(id) })
export const Approval = z.object({ limit: z.number() })
const ApprovalForm = defineForm('approval', Approval)
const Received = z.object({ signedBy: z.string() })
const audit = defineJob('audit', async (args: { id: number }) => ({ audited: args.id }))

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function expectType<_T extends true>(): void {}

export class Invoice extends Workflow<Order> {
  static {
    this.heroes(Orders)
    this.step('render')
  }
  async render() {
    return { url: 'https://example.com' }
  }
}

export class OrderSaga extends Workflow<Order> {
  static {
    this.heroes(Orders)
    this.defaults({ retry: 3, stopGrace: '10s' })
    this.onException('rollback')
    this.step('reserve', { compensate: 'release' })
    const charged = this.step('charge', {
      compensate: { step: 'refund', retry: 5, timeout: '10s', idempotent: true, afterFailure: false },
      timeout: '30s',
      idempotent: false,
      reconcile: 'findCharge',
    })
    expectType<Equal<typeof charged, NodeRef<{ paymentId: string; at: Date }>>>()
    const paid = this.savePoint('paid')
    this.task('pickItems', { dependsOn: paid, compensate: 'putBack' })
    this.task('checkFraud', { dependsOn: 'charge', retry: { attempts: 5 } })
    this.task('imported', { resumable: true, dependsOn: charged, compensate: 'putBack' })
    this.human('approve', {
      dependsOn: ['pickItems', 'checkFraud'],
      if: wf => wf.hero.total > 1000,
      prompt: 'Is this order fine?',
      form: Approval,
      assignTo: ['ann', 'bob'],
      quorum: 2,
      deadline: '3 days',
      escalate: [
        { after: '1 day', to: 'carol' },
        { after: '2 days', to: ['dave', 'eve'] },
      ],
      onReject: { backTo: 'checkFraud' },
    })
    this.human('sign', { form: ApprovalForm, onReject: 'rollback', compensate: 'unsign' })
    this.human('glance')
    this.child('invoice', { workflow: Invoice, start: wf => ({ hero: wf.hero }), compensate: 'unsign' })
    this.step('ship', { wait: '2 days', alsoDependsOn: 'checkFraud', onException: 'rollback' })
    this.waitFor('delivered', { timeout: '14 days', onTimeout: 'skip' })
    this.waitFor('received', { payload: Received, compensate: 'putBack' })
    this.resumableStep('notify', { compensate: 'putBack' })
    this.inline('tidyUp', { compensate: 'putBack', idempotent: false, reconcile: 'findCharge' }, async () => {})
    this.each('line', { items: wf => [{ sku: wf.hero.country }], compensate: 'unline' })
    this.eachJob('audits', { job: audit, items: () => [{ id: 1 }], compensate: { step: 'unaudit', transaction: true } })
    this.job('audited', { job: audit, args: wf => ({ id: wf.hero.id }), compensate: { step: 'putBack', retry: 2 } })
  }

  async reserve() {
    return { reservation: `r-${this.hero.id}` }
  }
  async release(undo: Compensation<OrderSaga['reserve']>) {
    await db.drop(undo.output?.reservation)
    expectType<Equal<typeof undo.reason.kind, 'failure' | 'cancel'>>()
    expectType<Equal<typeof undo.reason.by, string | null>>()
    expectType<Equal<typeof undo.item, undefined>>()
  }
  async charge() {
    return { paymentId: 'p', at: new Date() }
  }
  async refund({ output, reason, idempotencyKey, node, attempt }: Compensation<OrderSaga['charge']>) {
    if (output) await refundPayment(output.paymentId, `${reason.message} ${idempotencyKey} ${node} ${attempt}`)
  }
  async findCharge() {
    return { happened: false }
  }
  async line(line: { sku: string }) {
    return line.sku.length
  }
  async unline({ item, output }: Compensation<OrderSaga['line']>) {
    expectType<Equal<typeof item, { sku: string }>>()
    expectType<Equal<typeof output, number | undefined>>()
  }
  async unaudit({ item, output }: Compensation<{ audited: number }, { id: number }>, _: Transaction) {
    expectType<Equal<typeof item, { id: number }>>()
    return output?.audited
  }
  async pickItems() {}
  async putBack() {}
  async checkFraud() {
    return { score: 0.1 }
  }
  async imported(iter: Iteration<number>) {
    return { items: iter.completedIterations }
  }
  async approve(decision: Decision<typeof Approval>) {
    expectType<Equal<typeof decision.data, { limit: number }>>()
    expectType<Equal<(typeof decision.decisions)[0]['data'], { limit: number }>>()
    return { by: decision.by, limit: decision.data.limit, comment: decision.comment, at: decision.at }
  }
  async sign(decision: Decision<typeof ApprovalForm>) {
    return decision.data.limit
  }
  async unsign(_: Compensation) {}
  async glance(decision: Decision) {
    expectType<Equal<typeof decision.data, unknown>>()
    return decision.decision
  }
  async invoice(child: Child<Invoice>) {
    return (await child.output('render')).url
  }
  async ship() {
    const { paymentId } = await this.output(this.charge)
    const approval = await this.output(this.approve, null)
    return `${paymentId} ${approval?.limit ?? this.hero.total}`
  }
  async delivered({ payload, by, at }: Signal<{ signedBy: string }>) {
    return `${payload.signedBy} ${by} ${at.toISOString()}`
  }
  async received(signal: Signal<typeof Received>) {
    return signal.payload.signedBy
  }
  async notify(iter: Iteration<number>) {
    await iter.advance()
  }
}

export class Fulfilment extends Workflow<Order> {
  static {
    this.heroes(Orders)
    const routed = this.condition('isDigital', {
      then: b => b.step('deliver'),
      else: b => {
        b.fork(
          'fulfil',
          {
            goods: b => {
              b.step('pack', { compensate: 'unpack' })
              b.step('label', { afterStep: 'pack' })
            },
            papers: b => b.condition('abroad', wf => wf.hero.country !== 'NL', { then: b => b.step('customs') }),
          },
          { join: 'all' },
        )
        b.parallel(
          'couriers',
          b => {
            b.step('askDhl')
            b.step('askUps', { retry: 2 })
          },
          { join: 'any' },
        )
      },
    })
    expectType<Equal<typeof routed, NodeRef<boolean>>>()
    this.parallel(
      'surveys',
      b => {
        b.step('askDhl2')
        b.inline('askUps2', wf => wf.hero.total)
      },
      { join: { atLeast: 1 }, dependsOn: routed },
    )
    const free = this.fork(
      'free',
      { a: b => b.task('left'), b: b => b.human('ask', { onReject: 'rollback' }) },
      { join: false },
    )
    this.join('both', { dependsOn: [free, 'left', 'ask'], rule: 'settled' })
    this.step('close', { dependsOn: this.node('surveys') })
  }
  isDigital() {
    return this.hero.kind === 'digital'
  }
  async deliver() {}
  async pack() {}
  async unpack() {}
  async label() {}
  async customs() {}
  async askDhl() {}
  async askUps() {}
  async askDhl2() {}
  async left() {}
  async ask(_: Decision) {}
  async close() {}
}

expectType<
  Equal<
    Extract<StepName<OrderSaga>, 'approve' | 'delivered' | 'invoice' | 'release' | 'unsign' | 'putBack'>,
    'approve' | 'delivered' | 'invoice' | 'putBack'
  >
>()
