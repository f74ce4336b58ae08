/** What `geneva.on` means: which events a handler asks for, checked when it asks. */
import { mistakeInEventName } from '../definition/emit.ts'
import type { Registry } from '../definition/registry.ts'
import type { StepName } from '../definition/step-names.ts'
import type { AnyWorkflow, ConcreteClass } from '../definition/workflow.ts'
import { typesOf } from '../engine/courses.ts'
import { InvalidArgumentError } from '../errors.ts'
import type { EventBus } from './event-bus.ts'
import { isEngineEvent, isEngineEventType } from './event-from.ts'
import type { EventHandler, EventPattern, GenevaEvent } from './events.ts'

/** What `geneva.on` accepts. Returns a function that ends it. */
export interface Listen {
  <const K extends EventPattern>(type: K, handler: EventHandler<NoInfer<K>>): () => void
  <const K extends EventPattern, W extends AnyWorkflow>(
    type: K,
    workflow: ConcreteClass<W>,
    handler: EventHandler<NoInfer<K>, StepName<W>>,
  ): () => void
}

export interface Wanted {
  readonly type: string
  readonly workflow: ConcreteClass<any> | null
  readonly handler: (...args: any[]) => unknown
}

export function subscribe(bus: EventBus, registry: Registry, { type, workflow, handler }: Wanted): () => void {
  checkEventType(type)
  if (typeof handler !== 'function') {
    throw new InvalidArgumentError(`\`on\` needs a function that is called for each ${type}, not a ${typeof handler}.`)
  }
  const types = workflow === null ? null : new Set(typesOf(registry.definitionFor(workflow)))
  return bus.subscribe({
    accepts: ({ event, workflowType }) => (type === '*' || event.type === type) && types?.has(workflowType) !== false,
    handle: event => (type !== '*' && isCustom(event) ? handler(event.payload, event) : handler(event)),
  })
}

/** A name that nothing can have would never be heard of. */
export function checkEventType(type: unknown): void {
  if (type === '*' || (typeof type === 'string' && isEngineEventType(type))) return
  const mistake = mistakeInEventName(type)
  if (mistake === null) return
  throw new InvalidArgumentError(
    `There is no event ${JSON.stringify(type)}: ${mistake}. docs/reference/events.md lists the events of the engine.`,
  )
}

function isCustom(event: GenevaEvent): event is GenevaEvent & { readonly payload: unknown } {
  return !isEngineEvent(event)
}
