/** How counts, times and lengths of time are written. One place, so that every page says it the same way. */

const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
/** Moments are written as the person is used to, in the zone of the browser; which one that is stands in `exactText`. */
const clocks = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const minutes = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const zones = new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' })

export function count(value: number): string {
  return numbers.format(value)
}

export function shortCount(value: number): string {
  return value < 10_000 ? numbers.format(value) : compact.format(value)
}

/** `3 workflows`, `1 workflow`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

/** For tooltips: with the name of the zone, and the moment as machines write it. */
export function exactText(iso: string): string {
  const date = new Date(iso)
  const zone = zones.formatToParts(date).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  return `${dates.format(date)} ${zone}, ${date.toISOString()}`
}

/** The time of day to the minute, for axes. */
export function minuteText(iso: string): string {
  return minutes.format(new Date(iso))
}

/** The time of day, with the date where it is not today's. */
export function momentText(iso: string, now: number): string {
  const date = new Date(iso)
  return date.toDateString() === new Date(now).toDateString() ? clocks.format(date) : dates.format(date)
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const

/** Two units at most: `2 d 3 h`, `850 ms`. */
export function span(ms: number): string {
  if (ms < 1) return '0 ms'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  const at = units.findIndex(([, size]) => ms >= size)
  const [unit, size] = units[at] ?? ['s', 1000]
  const whole = Math.floor(ms / size)
  const next = units[at + 1]
  const rest = next === undefined ? 0 : Math.floor((ms - whole * size) / next[1])
  return rest === 0 || next === undefined ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${next[0]}`
}

/** One unit, where there is little room: `2 d`, `850 ms`. */
export function shortSpan(ms: number): string {
  return span(ms).split(' ').slice(0, 2).join(' ')
}

/** `3 min ago`, `in 2 d`. */
export function relative(iso: string, now: number): string {
  const ms = new Date(iso).getTime() - now
  if (Math.abs(ms) < 5000) return 'just now'
  const [first = '0', unit = 's', ...rest] = span(Math.abs(ms)).split(' ')
  const text =
    Math.abs(ms) < 3_600_000 * 3 || rest.length === 0
      ? `${Math.round(Number(first))} ${unit}`
      : [first, unit, ...rest].join(' ')
  return ms < 0 ? `${text} ago` : `in ${text}`
}

/** `rolling_back` reads as `rolling back`. */
export function words(name: string): string {
  return name.replaceAll('_', ' ')
}

/** A payload as it is stored, laid out for reading. Text stays text: it is never made into anything else. */
export function pretty(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2)
}

/** Workers are known by long random names: the beginning is enough to tell them apart. */
export function shortOwner(by: string): string {
  return /^[0-9a-f]{32}$/.test(by) ? `worker ${by.slice(0, 8)}` : by
}

/** The same inside a sentence. */
export function shortOwners(sentence: string): string {
  return sentence.replace(/\b([0-9a-f]{8})[0-9a-f]{24}\b/g, '$1')
}

/** Why work was given up. */
export function letterReason(reason: string): string {
  return letterReasons[reason] ?? words(reason)
}

const letterReasons: Readonly<Record<string, string>> = {
  policy: 'its policy says so',
  retries_exhausted: 'no attempts left',
  crash_limit: 'lost its worker too often',
  compensation_exhausted: 'could not be undone',
  unknown_outcome: 'unknown whether it happened',
}

/** The last characters of a long id: what tells one from another. */
export function shortId(id: string): string {
  return id.length > 14 ? `…${id.slice(-8)}` : id
}
