/**
 * Passes events on inside this process, right after the commit that wrote them. It holds no promise but this: whatever a
 * handler does, and however long it takes, the engine does not notice. While nobody listens, nothing is collected.
 */
import { within } from '../primitives/within.ts'
import type { CommittedEvent } from '../store/event-store.ts'
import type { Store } from '../store/store.ts'
import type { ErrorContext, ErrorListener } from '../worker/error-listener.ts'
import type { GenevaEvent } from './events.ts'
import { Subscriber, type Subscription } from './subscriber.ts'

/** How long handlers that are behind are waited for when everything is closed. */
const lastWordsMs = 1000

export class EventBus {
  readonly #onError: ErrorListener
  readonly #subscribers = new Set<Subscriber>()
  readonly #wakers = new Set<(events: readonly CommittedEvent[]) => void>()
  readonly #reads = new Set<Promise<unknown>>()
  #store: Store | null = null

  constructor(onError: ErrorListener) {
    this.#onError = onError
  }

  /** From now on what this store commits is passed on. */
  attach(store: Store): void {
    this.#store = store
    this.#listenIfNeeded()
  }

  /** Returns a function that ends the subscription: the handler is not called again. */
  subscribe(subscription: Subscription): () => void {
    const subscriber = new Subscriber(subscription, (error, event) => this.#onError.tell(error, contextOf(event)))
    this.#subscribers.add(subscriber)
    this.#listenIfNeeded()
    return () => {
      this.#subscribers.delete(subscriber)
      subscriber.end()
      this.#listenIfNeeded()
    }
  }

  /** Calls `wake` when this process has written events, in the engine's turn: it must be quick, and it must not throw. */
  onCommit(wake: (events: readonly CommittedEvent[]) => void): () => void {
    this.#wakers.add(wake)
    this.#listenIfNeeded()
    return () => {
      this.#wakers.delete(wake)
      this.#listenIfNeeded()
    }
  }

  /** What is read is waited for before the connections are closed. */
  async reading<T>(read: Promise<T>): Promise<T> {
    const settled = read.catch(() => {})
    this.#reads.add(settled)
    try {
      return await read
    } finally {
      this.#reads.delete(settled)
    }
  }

  /** Lets handlers hear what they have still to hear, for a moment. */
  async close(): Promise<void> {
    for (const wake of this.#wakers) wake([])
    const idle = [...this.#subscribers].map(subscriber => subscriber.idle())
    await within(Promise.all([...idle, ...this.#reads]), lastWordsMs)
    for (const subscriber of this.#subscribers) subscriber.end()
  }

  #listenIfNeeded(): void {
    const isNeeded = this.#subscribers.size + this.#wakers.size > 0
    this.#store?.observe(isNeeded ? events => this.#pass(events) : null)
  }

  #pass(events: readonly CommittedEvent[]): void {
    if (events.length === 0) return
    for (const subscriber of this.#subscribers) subscriber.offer(events)
    for (const wake of this.#wakers) wake(events)
  }
}

function contextOf(event: GenevaEvent | null): ErrorContext | null {
  if (event === null || !('step' in event)) return null
  const { workflowId, workflow, step, attempt, executionId } = event
  return { workflowId, workflow, step, attempt, executionId }
}
