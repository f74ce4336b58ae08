/** What code says about limits and about the aging of priority, checked, before it is brought into the database. */
import { type LimitNumbers, type LimitOptions, limitNumbers } from '../definition/limit-options.ts'
import { mistakeInStoredName } from '../definition/node-name.ts'
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import { InvalidArgumentError } from '../errors.ts'
import type { LimitDeclaration } from '../store/limit-store.ts'

export function queueName(name: unknown): string {
  const mistake = mistakeInStoredName(name)
  if (mistake !== null) throw new InvalidArgumentError(`The name of a queue ${mistake}.`)
  return name as string
}

export function queueLimits(name: string, limits: unknown): LimitNumbers {
  const mistake = (message: string) => new InvalidArgumentError(`Queue ${name}: ${message}.`)
  return limitNumbers(limits, ['concurrency', 'rate'], mistake)
}

/** What `new Geneva({ queues })` says. */
export function queueDeclarations(queues: Readonly<Record<string, LimitOptions>> = {}): LimitDeclaration[] {
  if (typeof queues !== 'object' || queues === null) {
    throw new InvalidArgumentError('The `queues` of a Geneva must be an object, like { mail: { concurrency: 10 } }.')
  }
  return Object.entries(queues).map(([name, limits]) => ({
    scope: 'queue',
    name: queueName(name),
    limits: queueLimits(name, limits),
    perKey: null,
  }))
}

/** A class speaks for itself alone: what it does not say any more is taken away. */
export function classDeclaration({ type, limits }: WorkflowDefinition): LimitDeclaration {
  const { concurrency, rate, perKey } = limits
  const ofKeys = perKey === null ? null : { concurrency: perKey.concurrency, rate: perKey.rate }
  return { scope: 'class', name: type, limits: { concurrency, rate }, perKey: ofKeys }
}

/** `undefined`: nothing was said, so what others have said holds. */
export function agingRate(aging: { readonly rate: number } | false | undefined): number | null | undefined {
  if (aging === undefined) return undefined
  if (aging === false) return null
  const rate = aging?.rate
  if (typeof rate === 'number' && rate >= 0.000_01 && rate <= 1000) return rate
  throw new InvalidArgumentError(
    `The rate of aging is points of priority a second, from 0.00001 to 1000, not ${String(rate)}. \`aging: false\` switches it off.`,
  )
}
