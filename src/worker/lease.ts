/**
 * The life of a worker in the database: it registers under an id that no other incarnation has, renews its lease, and
 * learns in the same breath what it should stop. When the lease is lost, it begins a new life.
 */
import { hostname } from 'node:os'
import { randomId } from '../primitives/random-id.ts'
import type { Store } from '../store/store.ts'
import type { RunningSteps } from './running-steps.ts'
import { WakeUp } from './wake-up.ts'
import type { WorkerSettings } from './worker-options.ts'

export class Lease {
  readonly #store: Store
  readonly #running: RunningSteps
  readonly #settings: WorkerSettings
  readonly #handlers: readonly string[]
  readonly #bell = new WakeUp()
  #id = randomId()
  #renewedAt = performance.now()
  #stopped = false
  #loop: Promise<void> = Promise.resolve()

  constructor(store: Store, running: RunningSteps, settings: WorkerSettings, handlers: readonly string[]) {
    this.#store = store
    this.#running = running
    this.#settings = settings
    this.#handlers = handlers
  }

  /** Changes when the lease was lost. */
  get workerId(): string {
    return this.#id
  }

  /** False when renewing has failed for so long that others may have taken over. */
  get healthy(): boolean {
    return performance.now() - this.#renewedAt < this.#settings.leaseMs
  }

  async begin(): Promise<void> {
    await this.#register()
    this.#loop = this.#renewAlways()
  }

  /** Asks the database now, because something may have to be stopped. */
  checkSoon(): void {
    this.#bell.ring()
  }

  async end(): Promise<void> {
    this.#stopped = true
    this.#bell.ring()
    await this.#loop
    await this.#store.retireWorker(this.#id)
  }

  async #renewAlways(): Promise<void> {
    while (!this.#stopped) {
      await this.#bell.wait(this.#settings.heartbeatMs)
      if (this.#stopped) return
      try {
        await this.#renew()
      } catch {
        // The database may be away for a moment. Past the lease, others own what runs here.
        if (!this.healthy) this.#running.stopAll('claim lost')
      }
    }
  }

  async #renew(): Promise<void> {
    const known = this.#running.snapshot()
    const held = await this.#store.heartbeat(this.#id, this.#settings.leaseMs)
    if (held !== null) {
      this.#renewedAt = performance.now()
      this.#running.compare(known, held)
    } else {
      this.#running.stopAll('claim lost')
      this.#id = randomId()
      await this.#register()
    }
  }

  async #register(): Promise<void> {
    await this.#store.registerWorker({
      id: this.#id,
      host: hostname(),
      pid: process.pid,
      leaseMs: this.#settings.leaseMs,
      handlers: this.#handlers,
    })
    this.#renewedAt = performance.now()
  }
}
