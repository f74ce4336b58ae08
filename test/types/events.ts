/** Events as the compiler sees them: what each type says, steps by name, and events of the application. */
import type { EngineEventType, GenevaEvent } from '../../src/index.ts'
import { defineJob, type Geneva, Workflow } from '../../src/index.ts'
import type { EngineEvents } from '../../src/observe/events.ts'
import './register.ts'

class Order extends Workflow<{ id: number }> {
  static {
    this.step('charge')
    this.step('ship')
  }
  charge() {}
  ship() {
    this.emit('order.shipped', { orderId: 1 })
    // @ts-expect-error a text is no number
    this.emit('order.shipped', { orderId: 'one' })
    // @ts-expect-error nobody has registered it
    this.emit('order.lost', { orderId: 1 })
  }
}

export const shipping = defineJob('shipping', async (_args: { id: number }, job) => {
  job.emit('order.noted', 'done')
  // @ts-expect-error it carries a text
  job.emit('order.noted', 1)
})

export function subscribe(geneva: Geneva): void {
  geneva.on('step.failed', Order, event => {
    const message: string = event.error.message
    if (event.step === 'charge') return message
    // @ts-expect-error Order has no step of that name
    return event.step === 'chrage'
  })
  geneva.on('step.started', event => event.waitedMs.toFixed())
  geneva.on('workflow.finished', ({ lastedMs, workflow }) => [lastedMs, workflow])
  geneva.on('order.shipped', ({ orderId }, { workflowId, step }) => [orderId.toFixed(), workflowId, step])
  geneva.on('*', event => (event.type === 'step.completed' ? event.ranMs : event.at))
  // @ts-expect-error there is no such event
  geneva.on('step.faild', () => {})
}

export async function read(geneva: Geneva): Promise<string | null> {
  for await (const event of geneva.events({ types: ['order.shipped', 'workflow.finished'] })) {
    if (event.type === 'order.shipped') event.payload.orderId.toFixed()
    else return event.position
    // @ts-expect-error it was not asked for
    if (event.type === 'step.started') return null
  }
  for await (const event of geneva.events()) if (event.type === 'step.skipped') return event.outcome
  return null
}

/** The catalogue has exactly the types that the engine writes. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
export const catalogueIsComplete: Same<keyof EngineEvents, EngineEventType> = true
export const everyEventHasAType: GenevaEvent['type'] extends string ? true : false = true
