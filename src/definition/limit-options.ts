/**
 * Limits as users write them: how many executions may run at once, and how many may begin in a stretch of time, for a queue,
 * a class, or each key of a class. Here they are checked and brought into numbers; the database holds everybody to them.
 */
import { DefinitionError, GenevaError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import type { HeroId } from './hero.ts'
import type { InputOf } from './start-types.ts'

/** So many executions may begin in any stretch of that length, by the database's clock. */
export interface RateLimit {
  readonly limit: number
  readonly per: Duration
}

export interface LimitOptions {
  /** Most executions that run at once, over all workers and processes. */
  readonly concurrency?: number
  /** Most executions that begin in any stretch of time, over all workers and processes. */
  readonly rate?: RateLimit
}

/** What a key is made from, when the workflow is started. */
export interface KeySource<W> {
  readonly input: InputOf<W>
  /** By type and id: the record is not loaded yet. */
  readonly hero: { readonly type: string; readonly id: HeroId } | null
}

export interface KeyLimitOptions<W> extends LimitOptions {
  /** The tenant, the account, the hero: executions with equal keys share the limits. Nothing means: not limited. */
  readonly key: (workflow: KeySource<W>) => string | number | bigint | null | undefined
}

export interface LimitNumbers {
  readonly concurrency: number | null
  readonly rate: { readonly limit: number; readonly perMs: number } | null
}

export interface ClassLimits extends LimitNumbers {
  readonly perKey: (LimitNumbers & { readonly key: (source: any) => unknown }) | null
}

export const noLimits: LimitNumbers = { concurrency: null, rate: null }

const numbers = ['concurrency', 'rate'] as const

type Mistake = (message: string) => GenevaError

/** Throws what `mistake` makes of what is wrong. */
export function limitNumbers(options: unknown, known: readonly string[], mistake: Mistake): LimitNumbers {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw mistake('limits are written as an object, like { concurrency: 10 }')
  }
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw mistake(`there is no option ${key}. Known are ${known.join(', ')}`)
  }
  const { concurrency, rate } = options as Record<string, unknown>
  return {
    concurrency: concurrency === undefined ? null : whole(concurrency, 'the concurrency', mistake),
    rate: rate === undefined ? null : rateNumbers(rate, mistake),
  }
}

/** What a class says about its limits, on top of what its parent has said. */
export function definedLimits(
  before: ClassLimits,
  given: Readonly<Record<string, unknown>>,
  where: string,
): ClassLimits {
  const mistake = (message: string) => new DefinitionError(`${where}: ${message}.`)
  const { concurrency, rate } = limitNumbers({ concurrency: given.concurrency, rate: given.rate }, numbers, mistake)
  return Object.freeze({
    concurrency: concurrency ?? before.concurrency,
    rate: rate ?? before.rate,
    perKey: given.perKey === undefined ? before.perKey : keyLimits(given.perKey, mistake),
  })
}

function keyLimits(given: unknown, mistake: Mistake): ClassLimits['perKey'] {
  const limits = limitNumbers(given, [...numbers, 'key'], message => mistake(`perKey: ${message}`))
  const { key } = given as { key?: unknown }
  if (typeof key !== 'function') throw mistake('perKey: `key` must be a function, like wf => wf.input.tenant')
  if (limits.concurrency === null && limits.rate === null) throw mistake('perKey: give it a concurrency or a rate')
  return { ...limits, key: key as (source: any) => unknown }
}

function rateNumbers(rate: unknown, mistake: Mistake): LimitNumbers['rate'] {
  if (typeof rate !== 'object' || rate === null) throw mistake("a rate is written like { limit: 100, per: '1 min' }")
  const { limit, per } = rate as Record<string, unknown>
  try {
    const perMs = toMilliseconds(per as Duration, 'the period of a rate')
    if (perMs > 0) return { limit: whole(limit, 'the limit of a rate', mistake), perMs }
  } catch (error) {
    throw error instanceof GenevaError ? mistake(error.message.replace(/\.$/, '')) : error
  }
  throw mistake('the period of a rate must be longer than 0')
}

function whole(value: unknown, what: string, mistake: Mistake): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw mistake(`${what} must be a whole number above 0, not ${String(value)}. Leave it out for none`)
}
