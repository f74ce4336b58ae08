/** Each marked line must fail to compile: sagas and control flow. The sentence says what is wrong. */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a branch of a condition.
import { z } from 'zod'
import type { Names } from '../../src/definition/step-names.ts'
import { type Compensation, type Decision, defineForm, type Signal, Workflow } from '../../src/index.ts'
import { Approval } from './sagas.ts'

const Other = z.object({ colour: z.string() })

// @ts-expect-error a form is a schema
defineForm('approval', { limit: 'number' })

export class MistakenSaga extends Workflow<null, { total: number }> {
  static {
    // @ts-expect-error a compensation that is no method
    this.step('charge', { compensate: 'refnd' })
    // @ts-expect-error a compensation that does not accept what the step returns
    this.step('reserve', { compensate: 'refund' })
    // @ts-expect-error a compensation that does not accept what the step returns, with options
    this.step('reserve', { compensate: { step: 'refund', retry: 3 } })
    // @ts-expect-error a method that waits for a decision undoes nothing
    this.step('charge', { compensate: 'approve' })
    // @ts-expect-error an option that a compensation does not have
    this.step('charge', { compensate: { step: 'refund', attempts: 3 } })
    // @ts-expect-error a compensation is no step
    this.step('refund')
    // @ts-expect-error a compensation is nothing to depend on
    this.step('charge', { dependsOn: 'refund' })
    // @ts-expect-error a method that does not tell whether the call happened
    this.step('charge', { idempotent: false, reconcile: 'reserve' })
    // @ts-expect-error each item is undone on its own, with what it returned
    this.each('item', { items: () => [1], compensate: 'undoAll' })
    // @ts-expect-error a compensation that does not accept the item
    this.each('item', { items: () => [1], compensate: 'undoText' })
    // @ts-expect-error items are called again
    this.each('item', { items: () => [1], idempotent: false })
    // @ts-expect-error a method that waits for a decision is no step
    this.step('approve')
    // @ts-expect-error a method that asks for nothing waits for nobody
    this.human('charge')
    // @ts-expect-error a form that yields other data than the method wants
    this.human('approve', { form: Other })
    // @ts-expect-error a step to go back to that is no method
    this.human('approve', { form: Approval, onReject: { backTo: 'chrage' } })
    // @ts-expect-error what a rejection cannot do
    this.human('approve', { onReject: 'skip' })
    // @ts-expect-error a human waits until its deadline
    this.human('approve', { timeout: '1 day' })
    // @ts-expect-error a payload that is other than the method wants
    this.waitFor('delivered', { payload: Other })
    // @ts-expect-error a policy that does not exist
    this.waitFor('delivered', { timeout: '1 day', onTimeout: 'explode' })
    // @ts-expect-error a method that waits for a decision waits for no message
    this.waitFor('approve')
    // @ts-expect-error a method that receives something like a message, which is told by the message of the compiler
    this.waitFor('arrived')
    // @ts-expect-error a method that does not answer yes or no
    this.condition('charge', { then: b => b.step('reserve') })
    // @ts-expect-error a function that does not answer yes or no
    this.condition('large', wf => wf.input.total, { then: b => b.step('reserve') })
    // @ts-expect-error a branch that no condition has
    this.condition('large', { otherwise: b => b.step('reserve') })
    // @ts-expect-error a step of a branch that is no method
    this.condition('large', { then: b => b.step('reserv') })
    // @ts-expect-error a save point cannot stand in a branch
    this.condition('large', { then: b => b.savePoint('here') })
    // @ts-expect-error rules of the class cannot stand in a branch
    this.fork('both', { a: b => b.onException('skip'), b: b => b.step('reserve') })
    // @ts-expect-error the branches of a fork have names
    this.fork('both', [() => {}, () => {}])
    // @ts-expect-error a rule that no join has
    this.fork('both', { a: b => b.step('reserve'), b: b => b.step('charge') }, { join: 'first' })
    // @ts-expect-error a fork waits for nothing but what it depends on
    this.fork('both', { a: b => b.step('reserve'), b: b => b.step('charge') }, { wait: '1 day' })
    // @ts-expect-error how many is a number
    this.parallel('all', b => b.step('reserve'), { join: { atLeast: 'two' } })
    // @ts-expect-error a join names what comes together
    this.join('together', {})
    // @ts-expect-error a join that depends on nothing
    this.join('together', { dependsOn: null })
    // @ts-expect-error a default that does not exist
    this.defaults({ stopGrac: '1s' })
    // @ts-expect-error a policy that does not exist
    this.onException('roll back')
  }
  async reserve() {
    return { reservation: 'r' }
  }
  async charge() {
    return { paymentId: 'p' }
  }
  async refund({ output, reason }: Compensation<MistakenSaga['charge']>) {
    // @ts-expect-error there is no output after a failure
    output.paymentId
    // @ts-expect-error a reason that does not exist
    if (reason.kind === 'abort') return
  }
  async undoAll(_: Compensation<number[]>) {}
  async undoText(_: Compensation<number, string>) {}
  async item(item: number) {
    return item
  }
  async approve(decision: Decision<typeof Approval>) {
    // @ts-expect-error a field that the form does not have
    return decision.data.colour
  }
  async delivered(signal: Signal<{ signedBy: string }>) {
    return signal.payload.signedBy
  }
  async arrived({ payload }: { payload: { signedBy: string } }) {
    return payload.signedBy
  }
  large() {
    return this.input.total > 5
  }
}

/** What the compiler says the name should have been: why it is not accepted, and what would be. */
export const whyArrivedIsNone: Exclude<Names<MistakenSaga>['signal'], 'delivered'> =
  'arrived must receive a Signal: arrived({ payload }: Signal<...>)'
