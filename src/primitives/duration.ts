/**
 * Lengths of time as users write them: milliseconds, text such as `'1d12h'`, parts such as `{ days: 2 }`, or a
 * Temporal.Duration. Refuses what has no fixed length (months, years) and everything it does not fully understand.
 */
import { inspect } from 'node:util'
import parse from 'parse-duration'
import { InvalidArgumentError } from '../errors.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const week = 7 * day
const longestMs = 36_525 * day

const unitMs = {
  ...{ ms: 1, millisecond: 1, milliseconds: 1 },
  ...{ s: second, sec: second, secs: second, second, seconds: second },
  ...{ m: minute, min: minute, mins: minute, minute, minutes: minute },
  ...{ h: hour, hr: hour, hrs: hour, hour, hours: hour },
  ...{ d: day, day, days: day },
  ...{ w: week, week, weeks: week },
}

const partMs = { weeks: week, days: day, hours: hour, minutes: minute, seconds: second, milliseconds: 1 }
const temporalMs = { ...partMs, microseconds: 1e-3, nanoseconds: 1e-6 }

type Unit = keyof typeof unitMs
type ShortUnit = 'w' | 'd' | 'h' | 'm' | 's'

/** `'30s'`, `'2 days'`, `'1d12h'`, `'1 hour 30 minutes'`. More than two parts need `as Duration`; they are read all the same. */
export type DurationText =
  | `${number}${'' | ' '}${Unit}`
  | `${number}${ShortUnit}${'' | ' '}${number}${ShortUnit}`
  | `${number} ${'week' | 'weeks'} ${number} ${'day' | 'days'}`
  | `${number} ${'day' | 'days'} ${number} ${'hour' | 'hours'}`
  | `${number} ${'hour' | 'hours'} ${number} ${'minute' | 'minutes'}`
  | `${number} ${'minute' | 'minutes'} ${number} ${'second' | 'seconds'}`

/** At least one part, none of them negative. Fractions are allowed. */
export interface DurationParts {
  readonly weeks?: number
  readonly days?: number
  readonly hours?: number
  readonly minutes?: number
  readonly seconds?: number
  readonly milliseconds?: number
}

/**
 * What a `Temporal.Duration` has, whether the runtime's own or a polyfill's. Its years and months must be zero; they are
 * left out here so that the compiler refuses `{ months: 1 }`.
 */
export interface TemporalDurationLike extends Required<DurationParts> {
  total(unit: never): number
}

/** A length of time: a number of milliseconds, text, parts, or a `Temporal.Duration`. A day is always 24 hours. */
export type Duration = number | DurationText | DurationParts | TemporalDurationLike

/**
 * Returns whole milliseconds, rounded up, from 0 to 100 years. Throws `InvalidArgumentError` that names `what` and the
 * value when it is negative, not finite, too long, empty, without a unit, or holds anything unknown.
 */
export function toMilliseconds(duration: Duration, what: string): number {
  const ms = measured(duration, reason => {
    const shown = inspect(duration, { depth: 1, maxStringLength: 100, breakLength: Number.POSITIVE_INFINITY })
    return new InvalidArgumentError(`${what} is ${shown}, which is not a usable duration: ${reason}.`)
  })
  // 0.07 minutes are 4200.000000000001 ms: the noise of the multiplication is no reason to round up.
  return Math.ceil(ms - ms * 8 * Number.EPSILON) + 0
}

type Refuse = (reason: string) => InvalidArgumentError

const advice = "write '2 days', '1d12h', { hours: 36 } or a number of milliseconds"
const ambiguous = 'months and years differ in length, use days'

function measured(duration: unknown, refuse: Refuse): number {
  const ms = rawMilliseconds(duration, refuse)
  if (!Number.isFinite(ms)) throw refuse('it must be finite')
  if (ms < 0) throw refuse('it must not be negative')
  if (ms > longestMs) throw refuse('it must not exceed 100 years')
  return ms
}

function rawMilliseconds(duration: unknown, refuse: Refuse): number {
  if (typeof duration === 'number') return duration
  if (typeof duration === 'string') return fromText(duration, refuse)
  if (typeof duration !== 'object' || duration === null) throw refuse(advice)
  if ('total' in duration && typeof duration.total === 'function') return fromTemporal(duration, refuse)
  const unknown = Object.keys(duration).find(key => !Object.hasOwn(partMs, key))
  if (unknown === 'months' || unknown === 'years') throw refuse(ambiguous)
  if (unknown !== undefined) throw refuse(`${JSON.stringify(unknown)} is not one of ${Object.keys(partMs).join(', ')}`)
  return sumOf(duration, partMs, refuse)
}

function fromTemporal(duration: object, refuse: Refuse): number {
  const { years, months } = duration as { years?: number; months?: number }
  if (years || months) throw refuse(ambiguous)
  return sumOf(duration, temporalMs, refuse)
}

/** Each part is checked by itself: `{ days: 1, hours: -1 }` is more likely a mistake than a wish. */
function sumOf(parts: object, factors: Readonly<Record<string, number>>, refuse: Refuse): number {
  const given = Object.entries(factors).flatMap(([key, factor]) => {
    const value: unknown = Reflect.get(parts, key)
    return value === undefined ? [] : [{ key, value, factor }]
  })
  if (given.length === 0) throw refuse(`it is empty, ${advice}`)
  return given.reduce((sum, { key, value, factor }) => {
    if (typeof value !== 'number' || !(value >= 0)) throw refuse(`${key} must be a number and not negative`)
    return sum + value * factor
  }, 0)
}

const token = `\\d{1,15}(?:\\.\\d{1,9})?\\s?(?:${Object.keys(unitMs).join('|')})`
const wholeText = new RegExp(`^${token}(?:\\s?${token})*$`)
const calendarUnit = /\d\s*(?:mo|mos|mth|mths|months?|y|yrs?|years?)(?![a-z])/i

function fromText(text: string, refuse: Refuse): number {
  if (calendarUnit.test(text)) throw refuse(ambiguous)
  if (text.length > 100 || !wholeText.test(text)) throw refuse(advice)
  return withOwnUnits(() => parse(text) ?? Number.NaN)
}

/** parse-duration keeps its locale in a global that the application may have set: in German `'1.5h'` is 15 hours. */
function withOwnUnits(action: () => number): number {
  const theirs = parse.unit
  parse.unit = { ...unitMs, group: ',', decimal: '.' } as unknown as typeof theirs
  try {
    return action()
  } finally {
    parse.unit = theirs
  }
}
