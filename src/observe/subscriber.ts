/**
 * One handler and what it has still to hear, in order, one event at a time. It works outside of whatever the engine is doing,
 * and what it cannot keep up with is dropped, so that nobody waits for it.
 */
import { EventsDroppedError } from '../errors.ts'
import type { CommittedEvent } from '../store/event-store.ts'
import { fromCommitted } from './event-from.ts'
import type { GenevaEvent } from './events.ts'

/** How many events a handler may be behind. Then the oldest are dropped. A large payload counts for several. */
export const maxBehind = 10_000
/** So many characters of a payload count as one event more. */
const payloadShare = 4096
/** So long handlers may keep others from their turn. */
const turnMs = 5

export interface Subscription {
  /** Asked in the engine's turn, so it must be quick. */
  accepts(event: CommittedEvent): boolean
  handle(event: GenevaEvent): unknown
}

export class Subscriber {
  readonly #subscription: Subscription
  readonly #onError: (error: unknown, event: GenevaEvent | null) => void
  #queue: (CommittedEvent | null)[] = []
  /** What stood before this place in the queue has been heard, or was dropped. */
  #next = 0
  /** What is still to be heard, by weight. */
  #behind = 0
  #dropped = 0
  #working: Promise<void> | null = null

  constructor(subscription: Subscription, onError: (error: unknown, event: GenevaEvent | null) => void) {
    this.#subscription = subscription
    this.#onError = onError
  }

  offer(events: readonly CommittedEvent[]): void {
    for (const event of events) {
      if (!this.#subscription.accepts(event)) continue
      this.#queue.push(event)
      this.#behind += weightOf(event)
      while (this.#behind > maxBehind && this.#skip() !== null) this.#dropped++
    }
    if (this.#next > maxBehind) this.#tidy()
    if (this.#next < this.#queue.length) this.#working ??= this.#work()
  }

  /** Resolves when it has heard everything so far. */
  async idle(): Promise<void> {
    while (this.#working !== null) await this.#working
  }

  /** It hears nothing more. */
  end(): void {
    this.#queue = []
    this.#next = 0
    this.#behind = 0
  }

  async #work(): Promise<void> {
    await nextTurn()
    let since = performance.now()
    for (let event = this.#take(); event !== null; event = this.#take()) {
      await this.#handle(event)
      if (performance.now() - since > turnMs) {
        await nextTurn()
        since = performance.now()
      }
    }
    this.#working = null
  }

  async #handle(committed: CommittedEvent): Promise<void> {
    if (this.#dropped > 0) {
      this.#onError(new EventsDroppedError(this.#dropped), null)
      this.#dropped = 0
    }
    let event: GenevaEvent | null = null
    try {
      event = fromCommitted(committed)
      const returned = this.#subscription.handle(event)
      if (isThenable(returned)) await returned
    } catch (error) {
      this.#onError(error, event)
    }
  }

  #take(): CommittedEvent | null {
    const event = this.#skip()
    if (event === null) this.#tidy()
    return event
  }

  #skip(): CommittedEvent | null {
    const event = this.#queue[this.#next] ?? null
    if (event === null) return null
    this.#queue[this.#next++] = null
    this.#behind -= weightOf(event)
    return event
  }

  #tidy(): void {
    this.#queue = this.#queue.slice(this.#next)
    this.#next = 0
  }
}

function weightOf({ event }: CommittedEvent): number {
  return 1 + Math.floor((event.payload?.length ?? 0) / payloadShare)
}

/** Also of another library, or of another realm. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
