/**
 * The life of a worker in the database: it registers under an id that no other incarnation has, renews its lease, and
 * learns in the same breath what it should stop. When the lease is lost, it begins a new life.
 */
import { hostname } from 'node:os'
import { randomId } from '../primitives/random-id.ts'
import type { HeldExecution, Store } from '../store/store.ts'
import type { RunningSteps } from './running-steps.ts'
import { WakeUp } from './wake-up.ts'
import type { WorkerSettings } from './worker-options.ts'

export interface LeaseParts {
  readonly store: Store
  readonly running: RunningSteps
  readonly settings: WorkerSettings
  readonly handlers: readonly string[]
  /** Gets executions that this worker owns and has not run for a while: an answer about them was lost. */
  onOrphans(workerId: string, executionIds: ReadonlySet<string>): Promise<void>
}

export class Lease {
  readonly #store: Store
  readonly #running: RunningSteps
  readonly #settings: WorkerSettings
  readonly #handlers: readonly string[]
  readonly #onOrphans: (workerId: string, ids: ReadonlySet<string>) => Promise<void>
  readonly #bell = new WakeUp()
  /** Executions that the database calls ours and that do not run here, each with the time when that was first seen. */
  #strays: ReadonlyMap<string, number> = new Map()
  #id = randomId()
  #renewedAt = performance.now()
  #stopped = false
  #loop: Promise<void> = Promise.resolve()

  constructor(parts: LeaseParts) {
    this.#store = parts.store
    this.#running = parts.running
    this.#settings = parts.settings
    this.#handlers = parts.handlers
    this.#onOrphans = parts.onOrphans
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
      await this.#findOrphans(held)
    } else {
      this.#running.stopAll('claim lost')
      this.#id = randomId()
      await this.#register()
    }
  }

  /** A row may be unknown here for a moment, while its claim is on the way; for half a lease, it was forgotten. */
  async #findOrphans(held: readonly HeldExecution[]): Promise<void> {
    const now = performance.now()
    const running = this.#running.ids()
    const strays = held.map(row => row.id).filter(id => !running.has(id))
    this.#strays = new Map(strays.map(id => [id, this.#strays.get(id) ?? now]))
    const orphans = strays.filter(id => now - (this.#strays.get(id) ?? now) > this.#settings.leaseMs / 2)
    if (orphans.length > 0) await this.#onOrphans(this.#id, new Set(orphans))
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
