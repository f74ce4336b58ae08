/**
 * Tells those who watch that something has changed, however many there are, from one look a second at the record of events.
 * It says what to look at again, not what is new; while nobody watches it does nothing.
 */
import { isGenevaError } from '../../errors.ts'
import type { NumberWindow } from '../../store/event-store.ts'
import type { Store } from '../../store/store.ts'

export interface Change {
  /** `null`: something, somewhere. */
  readonly workflowId: string | null
  /** The type of the newest event. */
  readonly type: string
  readonly position: string
}

interface Listener {
  hear(change: Change): void
  /** The instance was closed: nothing more will come. */
  end(): void
}

/** Numbers are handed out before commits, so events may appear below the highest that was seen. */
const lookBack = 10_000

export class LiveChanges {
  readonly #open: () => Promise<Store>
  readonly #pollMs: number
  readonly #everything = new Set<Listener>()
  readonly #watched = new Map<string, { readonly listeners: Set<Listener>; seen: number }>()
  #timer: NodeJS.Timeout | null = null
  #position: number | null = null
  /** What was told, but may have been committed after that; `null`: nothing. */
  #unsettled: NumberWindow | null = null

  constructor(open: () => Promise<Store>, pollMs = 1000) {
    this.#open = open
    this.#pollMs = pollMs
  }

  /** How many watch. */
  get size(): number {
    return [...this.#watched.values()].reduce((sum, { listeners }) => sum + listeners.size, this.#everything.size)
  }

  /** Of one workflow, or of everything. Returns a function that ends it. */
  watch(workflowId: string | null, hear: (change: Change) => void, end: () => void): () => void {
    const listener: Listener = { hear, end }
    const own = workflowId === null ? this.#everything : this.#listenersOf(workflowId)
    own.add(listener)
    this.#timer ??= this.#next()
    return () => {
      own.delete(listener)
      if (workflowId !== null && own.size === 0) this.#watched.delete(workflowId)
      if (this.size === 0) this.#stop()
    }
  }

  #listenersOf(workflowId: string): Set<Listener> {
    const known = this.#watched.get(workflowId)
    if (known) return known.listeners
    const fresh = { listeners: new Set<Listener>(), seen: 0 }
    this.#watched.set(workflowId, fresh)
    return fresh.listeners
  }

  #next(): NodeJS.Timeout {
    return setTimeout(() => void this.#turn(), this.#pollMs).unref()
  }

  /** A database that is away is asked again at the next look. */
  async #turn(): Promise<void> {
    try {
      await this.#look()
    } catch (error) {
      if (isGenevaError(error, 'CLOSED')) this.#endAll()
    }
    this.#again()
  }

  #endAll(): void {
    const all = [...this.#everything, ...[...this.#watched.values()].flatMap(({ listeners }) => [...listeners])]
    for (const listener of all) listener.end()
  }

  #again(): void {
    this.#timer = this.size === 0 ? null : this.#next()
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#position = null
    this.#unsettled = null
  }

  async #look(): Promise<void> {
    const store = await this.#open()
    const last = await store.lastEvent()
    if (await this.#mayBeNew(store, last)) {
      for (const listener of this.#everything)
        listener.hear({ workflowId: null, type: 'activity', position: String(last) })
    }
    const ids = [...this.#watched.keys()]
    const latest = await store.views.latestEvents(ids, Math.max(0, last - lookBack))
    for (const [workflowId, { id, type }] of latest) {
      const watched = this.#watched.get(workflowId)
      if (watched === undefined || id <= watched.seen) continue
      watched.seen = id
      for (const listener of watched.listeners) listener.hear({ workflowId, type, position: String(id) })
    }
  }

  /** Who was told of a number before its commit has seen nothing new, so they are told until all numbers are final, and once then. */
  async #mayBeNew(store: Store, last: number): Promise<boolean> {
    const before = this.#position
    this.#position = last
    // What happened between the first to watch and the first look is not known, so it is told as well.
    if (before === null || last > before) {
      this.#unsettled = { after: Math.max(0, last - lookBack), upTo: last, memory: null }
      return true
    }
    if (this.#unsettled === null || this.#everything.size === 0) return false
    const { settled, memory } = await store.settleEvents(this.#unsettled)
    this.#unsettled = settled >= last ? null : { after: settled, upTo: last, memory }
    return true
  }
}
