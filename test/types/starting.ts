/** The options of a start, as the compiler sees them. */
import type { Geneva } from '../../src/index.ts'
import { type Order, OrderWorkflow } from './order-workflow.ts'

export async function starting(geneva: Geneva, order: Order): Promise<void> {
  await geneva.start(OrderWorkflow, { hero: order }, { allowMultiple: true, idempotencyKey: 'once' })
  await geneva.startMany(OrderWorkflow, [{ hero: order }], { allowMultiple: true, identity: 'content' })
  await geneva.startByName('OrderWorkflow', { hero: { type: 'Order', id: 42 } }, { allowMultiple: true })
  // @ts-expect-error an option that is misspelled
  await geneva.start(OrderWorkflow, { hero: order }, { idempotencykey: 'once' })
  // @ts-expect-error whether there may be several is yes or no
  await geneva.start(OrderWorkflow, { hero: order }, { allowMultiple: 'yes' })
  // @ts-expect-error one key is for one workflow
  await geneva.startMany(OrderWorkflow, [{ hero: order }], { idempotencyKey: 'once' })
  // @ts-expect-error an option in the place of what is started
  await geneva.start(OrderWorkflow, { hero: order, tags: ['q4'] })
}
