/**
 * How steps and jobs emit events of the application. Nothing is written here: events are kept with the attempt, and go into
 * the transaction that records its outcome.
 */
import { InvalidArgumentError } from '../errors.ts'
import { encodeValue } from '../primitives/json-codec.ts'
import { maxNameLength } from './node-name.ts'
import type { StepContext } from './step-context.ts'

/** Names that begin so are the engine's own. */
export const reservedPrefixes = [
  'workflow.',
  'step.',
  'timer.',
  'letter.',
  'compensation.',
  'decision.',
  'reconciliation.',
  'signal.',
  'schedule.',
  'worker.',
  'geneva.',
] as const

export const maxPayloadBytes = 64 * 1024
/** More belongs into a table of the application. */
export const maxEventsPerRun = 1000

/** Throws for a name that is not the application's to use, and for a payload that cannot be stored. */
export function emit(context: StepContext, type: unknown, payload: unknown): void {
  const { emitted, workflowId, execution } = context
  const where = `Step ${execution.node} of workflow ${workflowId}`
  const mistake = mistakeInEventName(type)
  if (mistake !== null) throw new InvalidArgumentError(`${where} emits ${JSON.stringify(type)}: ${mistake}.`)
  if (context.hasEnded) {
    throw new InvalidArgumentError(
      `${where} emits ${type} after it has ended. Wait for everything that the step begins with \`await\`.`,
    )
  }
  if (emitted.length >= maxEventsPerRun) {
    throw new InvalidArgumentError(
      `${where} emits more than ${maxEventsPerRun} events in one run. Emit one for many, or write rows of your own.`,
    )
  }
  const encoded = encodeValue(payload, { what: `The payload of ${type} from ${where}`, maxBytes: maxPayloadBytes })
  context.addEvent({ type: type as string, payload: encoded ?? 'null' })
}

/** Says what is wrong with the name of an event of the application; `null` when it is fine. */
export function mistakeInEventName(name: unknown): string | null {
  if (typeof name !== 'string') return `the name of an event is a text, not a ${typeof name}`
  if (name.length > maxNameLength) return `its name is longer than ${maxNameLength} characters`
  if (!/^[\p{L}_][\p{L}\p{N}_-]*(\.[\p{L}\p{N}_-]+)+$/u.test(name)) {
    return 'the name of an event has a namespace and a dot, such as order.shipped'
  }
  const reserved = reservedPrefixes.find(prefix => name.toLowerCase().startsWith(prefix))
  return reserved === undefined ? null : `names that begin with ${reserved} are kept for the engine`
}
