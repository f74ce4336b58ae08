/** Lists and looks across classes, as the compiler sees them. */
import { type Geneva, Workflow } from '../../src/index.ts'
import { type Order, Orders, OrderWorkflow } from './order-workflow.ts'

class Import extends Workflow {
  static {
    this.step('rows')
  }
  async rows() {}
}

export async function executions(geneva: Geneva): Promise<void> {
  const page = await geneva.executions(Import, { state: ['suspended', 'waiting'], step: 'rows', due: true })
  const [first] = page.items
  const facts: (string | number | Date | null | undefined)[] = [
    first?.workflowId,
    first?.step,
    first?.scheduledFor,
    first?.completed,
    first?.queue,
    first?.error?.message,
  ]
  await geneva.executions({ state: 'failed', step: 'anything', cursor: page.nextCursor ?? String(facts.length) })
  await geneva.views.executions({ type: ['Import', ''], node: 'rows' })
  // @ts-expect-error a step that the class does not have
  await geneva.executions(Import, { step: 'row' })
  // @ts-expect-error a state that executions do not have
  await geneva.executions({ state: 'finished' })
  // @ts-expect-error whether it is due is yes or no
  await geneva.executions({ due: 'now' })
}

export async function ancestry(geneva: Geneva): Promise<void> {
  const wf = await geneva.start(Import)
  for (const { id, owner, ancestryHash, parents } of [...(await wf.history()), ...(await wf.currentExecutions())]) {
    const facts: readonly (string | null)[] = [id, owner, ancestryHash, ...parents]
    console.log(facts.length)
  }
  // @ts-expect-error payloads are not read with the history
  console.log((await wf.history())[0]?.output)
}

export async function listing(geneva: Geneva, order: Order): Promise<void> {
  await geneva.list({ hero: Orders.ref(42), state: 'active', at: 'ship' })
  await geneva.list(OrderWorkflow, { hero: order })
  await geneva.list(OrderWorkflow, { hero: Orders.ref(42), at: 'ship' })
  await geneva.find({ hero: Orders.of(order) })
  await geneva.find(OrderWorkflow, { hero: order })
  // @ts-expect-error without a class nobody can tell the type of a record
  await geneva.list({ hero: order })
  // @ts-expect-error nor of no hero at all
  await geneva.list({ hero: null })
  // @ts-expect-error nor can a single one be found by its record
  await geneva.find({ hero: order })
  // @ts-expect-error what is looked for has to be said
  await geneva.find({})
  // @ts-expect-error a step that the class does not have
  await geneva.list(OrderWorkflow, { at: 'shipp' })
}
