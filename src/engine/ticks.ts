/**
 * Starts what schedules say, each tick once, whoever does it and however often they are killed: the workflow and the move
 * to the next tick are one transaction. It keeps no time of its own.
 */
import type { Schedule, Tick } from '../definition/define-schedule.ts'
import type { ScheduleRegistry } from '../definition/schedule-registry.ts'
import { InvalidArgumentError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import { Timing } from '../primitives/timing.ts'
import type { ScheduleRecord } from '../store/schedule-store.ts'
import type { StartOrder } from '../store/store.ts'
import { dueTicks } from './due-ticks.ts'
import type { Engine } from './engine.ts'
import { idsFor, prepareStart, type StartOptions, startOrder } from './start-orders.ts'

/** How many ticks one transaction starts, where many have to be made up for. */
const batch = 100
/** Others may change a schedule meanwhile, so nobody sleeps for longer. */
const longestWaitMs = 2000
/** Somebody else was faster, or is at it: look again soon. */
const contendedMs = 50
const longestBackoffMs = 60_000
/** How often the code's schedules are compared with the stored ones: during a deploy older code may have set them back. */
const refreshMs = 60_000

interface Failing {
  readonly times: number
  /** By the clock of this process, which is only asked how much time has passed. */
  readonly until: number
}

type ScheduleErrorListener = (error: unknown, schedule: string) => void

export class Ticks {
  readonly #engine: Engine
  readonly #schedules: ScheduleRegistry
  readonly #maxInputBytes: number
  readonly #failing = new Map<string, Failing>()
  readonly #timings = new Map<string, Timing>()
  #registeredAt = Number.NEGATIVE_INFINITY

  constructor(engine: Engine, schedules: ScheduleRegistry, maxInputBytes: number) {
    this.#engine = engine
    this.#schedules = schedules
    this.#maxInputBytes = maxInputBytes
  }

  get isEmpty(): boolean {
    return this.#schedules.all.length === 0
  }

  find(name: string): Schedule | null {
    return this.#schedules.find(name)
  }

  /** Makes the schedules of this code known, and changes those that it has otherwise. */
  async register(): Promise<void> {
    const { all } = this.#schedules
    if (all.length === 0) return
    const store = this.#engine.store.schedules
    const now = Math.floor((await this.#engine.store.now()) / 1000)
    const stored = new Map((await store.list(all.map(({ name }) => name))).schedules.map(row => [row.name, row]))
    for (const { name, timing, workflow, catchUp } of all) {
      const { type } = this.#engine.registry.definitionFor(workflow)
      const from = { nextAt: timing.next(now) * 1000, since: now * 1000 }
      const entry = { name, type, timing: timing.text, catchUp, ...from }
      const known = stored.get(name)
      if (known === undefined) await store.add(entry)
      else if (known.timing !== timing.text || known.type !== type || known.catchUp !== catchUp) {
        await store.replace(entry, known.timing)
      }
    }
    this.#registeredAt = performance.now()
  }

  /** Starts what is due. Returns in how many milliseconds to look again. Errors of one schedule keep no other waiting. */
  async runDue(onError: ScheduleErrorListener): Promise<number> {
    if (performance.now() - this.#registeredAt > refreshMs) await this.register()
    const { now, schedules } = await this.#engine.store.schedules.list(this.#schedules.all.map(({ name }) => name))
    let waitMs = longestWaitMs
    for (const row of schedules) {
      if (row.paused) continue
      const wait = row.nextAt > now ? (row.nextAt - now) / 1000 : await this.#runGuarded(row, now, onError)
      waitMs = Math.min(waitMs, Math.ceil(wait))
    }
    return waitMs
  }

  /** Starts one workflow now, besides all ticks. */
  async orderNow(schedule: Schedule): Promise<StartOrder> {
    const at = new Date(Math.floor((await this.#engine.store.now()) / 1000))
    return this.#orderFor(schedule, { schedule: schedule.name, at, manual: true })
  }

  /** What a stored schedule ticks by. */
  timingOf(text: string): Timing {
    const known = this.#timings.get(text) ?? Timing.fromText(text)
    this.#timings.set(text, known)
    return known
  }

  /** A tick whose start fails stays due: it is tried again, ever more rarely, and shown with the schedule. */
  async #runGuarded(row: ScheduleRecord, now: number, onError: ScheduleErrorListener): Promise<number> {
    const failing = this.#failing.get(row.name)
    if (failing && failing.until > performance.now()) return failing.until - performance.now()
    try {
      const waitMs = await this.#run(row, now)
      this.#failing.delete(row.name)
      return waitMs
    } catch (error) {
      const times = (failing?.times ?? 0) + 1
      const waitMs = Math.min(1000 * 2 ** (times - 1), longestBackoffMs)
      this.#failing.set(row.name, { times, until: performance.now() + waitMs })
      const report = (thrown: unknown) => onError(thrown, row.name)
      report(error)
      const { className, message } = describeError(error)
      await this.#engine.store.schedules.noteError(row, `${className}: ${message}`).catch(report)
      return waitMs
    }
  }

  async #run(row: ScheduleRecord, now: number): Promise<number> {
    const schedule = this.#schedules.find(row.name)
    if (schedule === null) return longestWaitMs
    // Not rounded: what is due within this millisecond is due only when it has come.
    const state = { nextAt: row.nextAt / 1000, since: Math.floor(row.since / 1000) }
    const due = dueTicks(this.timingOf(row.timing), state, schedule.catchUp, { now: now / 1000, limit: batch })
    const orders: StartOrder[] = []
    // Whoever is too late leaves it without an end.
    const span = due.ticks.length === 0 ? null : (this.#engine.tracing?.start(row.type, 'clock') ?? null)
    for (const at of due.ticks) {
      const order = await this.#orderFor(schedule, { schedule: row.name, at: new Date(at), manual: false })
      orders.push(span === null ? order : { ...order, trace: span.trace })
    }
    const results = await this.#engine.store.schedules.run({
      seen: row,
      nextAt: due.next * 1000,
      lastTickAt: due.last * 1000,
      orders,
      skipOverlap: schedule.overlap === 'skip',
    })
    if (results === null) return contendedMs
    span?.end(orders.map(order => order.id))
    this.#engine.ends.noteWork()
    return Math.max(0, due.next - now / 1000)
  }

  async #orderFor(schedule: Schedule, tick: Tick): Promise<StartOrder> {
    const definition = this.#engine.registry.definitionFor(schedule.workflow)
    const what = await schedule.start(tick)
    if (typeof what !== 'object' || what === null) {
      throw new InvalidArgumentError(`The start of schedule ${schedule.name} must return { hero, input }.`)
    }
    const key = `schedule:${schedule.name}:${tick.at.toISOString()}`
    const options: StartOptions = { tags: schedule.tags, ...(tick.manual ? {} : { idempotencyKey: key }) }
    const prepared = await prepareStart(definition, what, options, this.#maxInputBytes)
    const { graph, type, allowMultiple, formerTypes } = definition
    const generation = this.#engine.courses.generationOf(type)
    const course = { type, graph, generation, allowMultiple, formerTypes, handlerOf: () => type }
    return startOrder(course, prepared, await this.#engine.store.takeIds(idsFor(graph, prepared)))
  }
}
