/**
 * The durable record of events as an endless loop, from a position that the reader keeps: at least once, in order, whichever
 * process wrote them. It asks the database from time to time, and at once when this process has written something.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { InvalidArgumentError } from '../errors.ts'
import { callAfter } from '../primitives/call-after.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { pauseFor } from '../primitives/pause-for.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import type { EventRead, NumberWindow } from '../store/event-store.ts'
import type { Store } from '../store/store.ts'
import type { EventBus } from './event-bus.ts'
import { fromStored } from './event-from.ts'
import type { EventName, GenevaEvent } from './events.ts'
import { checkEventType } from './subscribe.ts'

export interface EventsOptions<K extends EventName = EventName> {
  /** The position of the last event that was dealt with. `'now'`: what comes from now on. Left out: from the beginning. */
  readonly after?: string | undefined
  /** Only these types. */
  readonly types?: readonly K[]
  /** Only events of the workflow with this id. */
  readonly workflow?: string
  /** `false`: the loop ends when it has told what was there when it began. Default true. */
  readonly follow?: boolean
  /** How often the database is asked while nothing comes. Default one second. */
  readonly poll?: Duration
  /** Ends the loop. */
  readonly signal?: AbortSignal
}

const known = optionNames<EventsOptions>({ after: 0, types: 0, workflow: 0, follow: 0, poll: 0, signal: 0 })
const pageSize = 500
const defaultPollMs = 1000
/** While something that comes next is not committed yet. */
const soonMs = 10
/** Who begins now does not wait for a transaction that took its number longer ago than this many events. */
const lookBack = 100_000

/** Where the database is opened. */
export interface EventSource {
  /** True once the instance is closed: then the loop ends. */
  readonly closed: boolean
  open(): Promise<{ readonly engine: { readonly store: Store } }>
}

interface TailParts {
  readonly store: Store
  readonly bus: EventBus
  readonly source: EventSource
}

/** The options are checked at once, so that a mistake is thrown where it was made and not in the loop. */
export function tailEvents(source: EventSource, bus: EventBus, options: EventsOptions): AsyncIterable<GenevaEvent> {
  checkOptions(options)
  return tail(source, bus, options)
}

function checkOptions(options: EventsOptions): void {
  refuseUnknownOptions('events', options, known)
  const { after, types, workflow, poll } = options
  if (after !== undefined && after !== 'now' && !/^\d{1,16}$/.test(String(after))) {
    throw new InvalidArgumentError(
      `${JSON.stringify(after)} is no position. Pass the \`position\` of an event, 'now', or leave \`after\` out.`,
    )
  }
  for (const type of types ?? []) checkEventType(type)
  if (workflow !== undefined && typeof workflow !== 'string') {
    throw new InvalidArgumentError('The `workflow` of events is the id of one, as a text.')
  }
  if (poll !== undefined) toMilliseconds(poll, 'The poll of events')
}

async function* tail(
  source: EventSource,
  bus: EventBus,
  options: EventsOptions,
): AsyncGenerator<GenevaEvent, void, undefined> {
  const { store } = (await source.open()).engine
  const tail = new Tail({ store, bus, source }, options)
  try {
    yield* tail.events()
  } finally {
    tail.end()
  }
}

class Tail {
  readonly #parts: TailParts
  readonly #options: EventsOptions
  readonly #pollMs: number
  readonly #bell = new Bell()
  readonly #ring = () => this.#bell.ring()
  readonly #stopListening: () => void

  constructor(parts: TailParts, options: EventsOptions) {
    this.#parts = parts
    this.#options = options
    const { poll } = options
    this.#pollMs = poll === undefined ? defaultPollMs : toMilliseconds(poll, 'The poll of events')
    this.#stopListening = parts.bus.onCommit(this.#ring)
    options.signal?.addEventListener('abort', this.#ring)
  }

  async *events(): AsyncGenerator<GenevaEvent, void, undefined> {
    const { types, workflow } = this.#options
    const end = await this.#end()
    let read: EventRead = {
      after: await this.#begin(),
      limit: pageSize,
      memory: null,
      ...(types === undefined ? {} : { types }),
      ...(workflow === undefined ? {} : { workflowId: workflow }),
    }
    while (!this.#isOver) {
      const page = await this.#ask(store => store.readEvents(read))
      for (const event of page?.events ?? []) {
        if (Number(event.id) > end) return
        yield fromStored(event)
        if (this.#isOver) return
      }
      if (page !== null) read = { ...read, after: page.position, memory: page.memory }
      if (read.after >= end || (page?.next === 'later' && end < Number.POSITIVE_INFINITY)) return
      // Also where the database answers at once, others get their turn.
      if (page?.next === 'at once') await nextTurn()
      else await this.#bell.wait(page?.next === 'soon' ? soonMs : this.#pollMs)
    }
  }

  end(): void {
    this.#stopListening()
    this.#options.signal?.removeEventListener('abort', this.#ring)
  }

  get #isOver(): boolean {
    return this.#parts.source.closed || this.#options.signal?.aborted === true
  }

  async #end(): Promise<number> {
    if (this.#options.follow !== false) return Number.POSITIVE_INFINITY
    return this.#lastEvent()
  }

  /** Begins after the last event; what is under way with a lower number is waited for, since it is not after now. */
  async #begin(): Promise<number> {
    const { after, workflow } = this.#options
    if (workflow !== undefined && !this.#parts.store.isId(workflow)) {
      throw new InvalidArgumentError(`${JSON.stringify(workflow)} is no id of a workflow.`)
    }
    if (after !== 'now') return Number(after ?? 0)
    const upTo = await this.#lastEvent()
    let window: NumberWindow = { after: Math.max(0, upTo - lookBack), upTo, memory: null }
    while (window.after < upTo && !this.#isOver) {
      const answer = await this.#ask(store => store.settleEvents(window))
      if (answer !== null) window = { after: answer.settled, upTo, memory: answer.memory }
      if (window.after < upTo) await pauseFor(soonMs)
    }
    return upTo
  }

  /** Asks until the database answers: a guess would tell all events once more, or none. Once it is all over nothing is read. */
  async #lastEvent(): Promise<number> {
    while (!this.#isOver) {
      const last = await this.#ask(store => store.lastEvent())
      if (last !== null) return last
      await this.#bell.wait(this.#pollMs)
    }
    return 0
  }

  /** `null` while the database is away, and once it is all over. */
  async #ask<T>(question: (store: Store) => Promise<T>): Promise<T | null> {
    const { store, bus } = this.#parts
    if (this.#isOver) return null
    try {
      return await bus.reading(question(store))
    } catch (error) {
      if (store.isLasting(error) && !this.#isOver) throw error
      return null
    }
  }
}

/** Wakes who waits; one that rings while nobody waits is heard by the next. */
class Bell {
  #rung = false
  #wake: (() => void) | null = null

  ring(): void {
    this.#rung = true
    this.#wake?.()
  }

  wait(ms: number): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        cancel()
        this.#wake = null
        this.#rung = false
        resolve()
      }
      const cancel = callAfter(ms, done)
      this.#wake = done
      if (this.#rung) done()
    })
  }
}
