/**
 * Schedules: workflows that are started again and again, by a cron expression or an interval. Here they are only declared;
 * a worker starts what is due, and the database makes sure that every tick is started once.
 */
import { DefinitionError } from '../errors.ts'
import { Timing, type TimingNotation } from '../primitives/timing.ts'
import { mistakeInStoredName } from './node-name.ts'
import { refuseUnknownKeys } from './option-checks.ts'
import type { StartWhat } from './start-types.ts'
import { isPlainObject } from './validate-input.ts'
import type { AnyWorkflow, ConcreteClass } from './workflow.ts'

const brand = Symbol.for('geneva-drive.schedule')

/**
 * What becomes of ticks that nobody was there to start: every one is started later, only the latest, or none that is more
 * than a minute late.
 */
export type CatchUp = 'all' | 'latest' | 'none'

/** One moment of a schedule. */
export interface Tick {
  readonly schedule: string
  /** The moment itself, however late the start may be. */
  readonly at: Date
  /** Somebody asked for it; it is no moment of the schedule. */
  readonly manual: boolean
}

type Awaitable<T> = T | Promise<T>
type TickStart<W> = StartWhat<W> | ((tick: Tick) => Awaitable<StartWhat<W>>)

/** What to start may be left out where the class can be started with nothing. */
type WithStart<W> =
  Record<never, never> extends StartWhat<W> ? { readonly start?: TickStart<W> } : { readonly start: TickStart<W> }

export type ScheduleOptions<W extends AnyWorkflow> = TimingNotation &
  WithStart<W> & {
    /** The class to start. */
    readonly workflow: ConcreteClass<W>
    /** Default `latest`. */
    readonly catchUp?: CatchUp
    /** `skip`: a tick is left out while the workflow of an earlier one goes on. Default `allow`. */
    readonly overlap?: 'allow' | 'skip'
    /** Words to find its workflows by, besides `schedule:` and the name. */
    readonly tags?: readonly string[]
  }

/** A schedule as code declares it. */
export interface Schedule {
  readonly name: string
  readonly workflow: ConcreteClass<any>
  readonly timing: Timing
  readonly catchUp: CatchUp
  readonly overlap: 'allow' | 'skip'
  readonly tags: readonly string[]
  /** What to start at a tick. May be called in several processes for the same tick; one of the answers counts. */
  start(tick: Tick): Awaitable<object>
}

const known = ['cron', 'timeZone', 'every', 'workflow', 'start', 'catchUp', 'overlap', 'tags']
/** The name stands in idempotency keys, together with a time. */
const longestName = 100

/** Declares a schedule. The name is stored: keep it, and the schedule goes on where it was. */
export function defineSchedule<W extends AnyWorkflow>(name: string, options: ScheduleOptions<W>): Schedule {
  const mistake = mistakeInStoredName(name)
  if (mistake !== null) throw new DefinitionError(`defineSchedule: the name of a schedule ${mistake}.`)
  const where = `defineSchedule(${JSON.stringify(name)})`
  if (name.length > longestName) throw new DefinitionError(`${where}: the name is longer than ${longestName} letters.`)
  if (!isPlainObject(options)) throw new DefinitionError(`${where}: the options must be an object.`)
  refuseUnknownKeys(options, known, where)
  const { workflow, start = {}, catchUp = 'latest', overlap = 'allow', tags = [] } = options
  if (typeof workflow !== 'function') throw new DefinitionError(`${where}: \`workflow\` must be a workflow class.`)
  if (typeof start !== 'function' && !isPlainObject(start)) {
    throw new DefinitionError(`${where}: \`start\` is { hero, input }, or a function of the tick that returns it.`)
  }
  refuseOther(catchUp, ['all', 'latest', 'none'], `${where}: \`catchUp\``)
  refuseOther(overlap, ['allow', 'skip'], `${where}: \`overlap\``)
  const schedule: Schedule = {
    name,
    workflow,
    timing: new Timing(notationOf(options), `schedule ${name}`),
    catchUp,
    overlap,
    tags: [`schedule:${name}`, ...tags],
    start: typeof start === 'function' ? (start as Schedule['start']) : () => start,
  }
  return Object.freeze(Object.defineProperty(schedule, brand, { value: true }))
}

export function isSchedule(value: unknown): value is Schedule {
  return typeof value === 'object' && value !== null && brand in value
}

function notationOf({ cron, timeZone, every }: TimingNotation): TimingNotation {
  return { cron, timeZone, every } as TimingNotation
}

function refuseOther(value: unknown, allowed: readonly string[], what: string): void {
  if (typeof value === 'string' && allowed.includes(value)) return
  throw new DefinitionError(`${what} must be one of ${allowed.join(', ')}, not ${JSON.stringify(value)}.`)
}
