/**
 * Reads the five fields of a cron expression: lists, ranges, steps and names. What it does not fully understand it refuses,
 * and says in which field.
 */
import { InvalidArgumentError } from '../errors.ts'

export interface CronFields {
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  /** The hour was written as a star: ticks follow time as it passes, not the clocks on the wall. */
  readonly anyHour: boolean
  readonly months: ReadonlySet<number>
  readonly monthDays: ReadonlySet<number>
  readonly lastMonthDay: boolean
  readonly weekDays: ReadonlySet<number>
  /** A day must fit both fields if one is a star, and either of them if none is. */
  readonly eitherDay: boolean
}

interface Field {
  readonly name: string
  readonly low: number
  readonly high: number
  readonly names?: readonly string[]
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const minute: Field = { name: 'minute', low: 0, high: 59 }
const hour: Field = { name: 'hour', low: 0, high: 23 }
const monthDay: Field = { name: 'day of the month', low: 1, high: 31 }
const month: Field = { name: 'month', low: 1, high: 12, names: ['', ...monthNames] }
/** Sunday is 0, and 7 as well. */
const weekDay: Field = { name: 'day of the week', low: 0, high: 7, names: dayNames }

const nicknames: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

type Refuse = (reason: string) => InvalidArgumentError

/** Throws `InvalidArgumentError` that names the expression, the field and what is wrong with it. */
export function parseCron(expression: string): CronFields {
  const refuse: Refuse = reason =>
    new InvalidArgumentError(`The cron expression ${JSON.stringify(expression)} cannot be read: ${reason}.`)
  if (typeof expression !== 'string' || expression.length > 191) throw refuse("it must be a text like '0 9 * * 1-5'")
  const text = expression.trim().toLowerCase()
  const parts = (nicknames[text] ?? text).split(/\s+/)
  const [minuteText = '', hourText = '', monthDayText = '', monthText = '', weekDayText = ''] = parts
  if (parts.length !== 5) {
    const seconds = parts.length === 6 ? '; for less than a minute use `every`' : ''
    throw refuse(
      `it has ${parts.length} fields, not the five of minute, hour, day of the month, month and day of the week${seconds}`,
    )
  }
  const { days, last } = monthDays(monthDayText, refuse)
  return {
    minutes: sorted(valuesOf(minute, minuteText, refuse)),
    hours: sorted(valuesOf(hour, hourText, refuse)),
    anyHour: hourText.startsWith('*'),
    months: valuesOf(month, monthText, refuse),
    monthDays: days,
    lastMonthDay: last,
    weekDays: new Set([...valuesOf(weekDay, weekDayText, refuse)].map(day => day % 7)),
    eitherDay: !monthDayText.startsWith('*') && !weekDayText.startsWith('*'),
  }
}

/** `L` is the last day, whichever that is. */
function monthDays(text: string, refuse: Refuse): { days: Set<number>; last: boolean } {
  const items = text.split(',')
  const plain = items.filter(item => item !== 'l')
  const days = plain.length === 0 ? new Set<number>() : valuesOf(monthDay, plain.join(','), refuse)
  return { days, last: plain.length < items.length }
}

function valuesOf(field: Field, text: string, refuse: Refuse): Set<number> {
  return new Set(text.split(',').flatMap(item => rangeOf(field, item, refuse)))
}

const rangePattern = /^(?:(\*)|([a-z]+|\d{1,2})(?:-([a-z]+|\d{1,2}))?)(?:\/(\d{1,2}))?$/

function rangeOf(field: Field, item: string, refuse: Refuse): number[] {
  const match = rangePattern.exec(item)
  if (match === null) throw refuse(`${JSON.stringify(item)} is no ${field.name}`)
  const [, star, from, to, every] = match
  const step = every === undefined ? 1 : Number(every)
  if (step === 0) throw refuse(`the step of the ${field.name} ${JSON.stringify(item)} must be above 0`)
  const low = star ? field.low : numberOf(field, from ?? '', refuse)
  // `10/15` means: from 10 on, every 15.
  const open = star !== undefined || (to === undefined && every !== undefined)
  const high = to !== undefined ? numberOf(field, to, refuse) : open ? lastOf(field) : low
  if (low > high) throw refuse(`the ${field.name} ${JSON.stringify(item)} begins after it ends; write two ranges`)
  return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, index) => low + index * step)
}

/** The second number of Sunday counts only where it is written. */
function lastOf(field: Field): number {
  return field === weekDay ? 6 : field.high
}

function numberOf(field: Field, text: string, refuse: Refuse): number {
  const value = /^\d+$/.test(text) ? Number(text) : (field.names?.indexOf(text) ?? -1)
  if (value >= field.low && value <= field.high) return value
  const names = field.names ? ` or ${field.names.filter(name => name !== '').join(', ')}` : ''
  throw refuse(`${JSON.stringify(text)} is no ${field.name}, which is ${field.low} to ${field.high}${names}`)
}

function sorted(values: ReadonlySet<number>): number[] {
  return [...values].toSorted((a, b) => a - b)
}
