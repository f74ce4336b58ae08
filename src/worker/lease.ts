/**
 * The life of a worker in the database: it registers under an id that no other incarnation has, renews its lease, and
 * learns in the same breath what it should stop. When the lease is lost, it begins a new life.
 */
import { hostname } from 'node:os'
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import { randomId } from '../primitives/random-id.ts'
import { within } from '../primitives/within.ts'
import type { WorkerServes } from '../store/records.ts'
import type { HeldExecution, Store } from '../store/store.ts'
import type { RunningSteps } from './running-steps.ts'
import { WakeUp } from './wake-up.ts'
import type { WorkerSettings } from './worker-options.ts'

const longestPauseMs = 250

export interface LeaseParts {
  readonly store: Store
  readonly running: RunningSteps
  readonly settings: WorkerSettings
  readonly handlers: readonly string[]
  readonly serves: WorkerServes
  /** Gets executions that this worker owns and has not run for a while: an answer about them was lost. */
  onOrphans(workerId: string, executionIds: ReadonlySet<string>): Promise<void>
  /** Hears of a new life after the lease was lost. */
  onLost?(workerId: string, nextId: string): void
}

/** How long a worker that leaves waits for a database that does not answer. */
export const farewellMs = 5000

export class Lease {
  readonly #store: Store
  readonly #running: RunningSteps
  readonly #settings: WorkerSettings
  readonly #handlers: readonly string[]
  readonly #serves: WorkerServes
  readonly #onOrphans: (workerId: string, ids: ReadonlySet<string>) => Promise<void>
  readonly #onLost: LeaseParts['onLost']
  readonly #bell = new WakeUp()
  /** Executions that the database calls ours and that do not run here, each with the time when that was first seen. */
  #strays: ReadonlyMap<string, number> = new Map()
  #takingOver = false
  #id = randomId()
  /** When the renewal was asked for, not when it was answered: the lease is never believed to last longer than it does. */
  #renewedAt = performance.now()
  #confirming: (() => void)[] = []
  #stopped = false
  #loop: Promise<void> = Promise.resolve()

  constructor(parts: LeaseParts) {
    this.#store = parts.store
    this.#running = parts.running
    this.#settings = parts.settings
    this.#handlers = parts.handlers
    this.#serves = parts.serves
    this.#onOrphans = parts.onOrphans
    this.#onLost = parts.onLost
  }

  /** Changes when the lease was lost. */
  get workerId(): string {
    return this.#id
  }

  /** False when renewing has failed for so long that others may have taken over. */
  get healthy(): boolean {
    return !this.#stopped && performance.now() - this.#renewedAt < this.#settings.leaseMs
  }

  /**
   * Asks the database whether the lease holds. After a long silence, because the process was stopped or its event loop was
   * blocked, others may own by now what was claimed before. False when that cannot be ruled out.
   */
  async confirm(): Promise<boolean> {
    if (!this.healthy && !this.#stopped) {
      await new Promise<void>(resolve => {
        this.#confirming.push(resolve)
        this.#bell.ring()
      })
    }
    return this.healthy
  }

  async begin(): Promise<void> {
    await this.#register()
    this.#loop = this.#renewAlways()
  }

  /** Asks the database now, because something may have to be stopped. */
  checkSoon(): void {
    this.#bell.ring()
  }

  /** Gives the lease back. If the database is away, the lease lapses by itself. */
  async end(): Promise<void> {
    this.#stopped = true
    this.#bell.ring()
    this.#tellConfirmed()
    const leaving = this.#loop.then(() => this.#store.retireWorker(this.#id))
    await within(
      leaving.catch(() => {}),
      farewellMs,
    )
  }

  async #renewAlways(): Promise<void> {
    while (!this.#stopped) {
      await this.#bell.wait(this.#settings.heartbeatMs)
      if (this.#stopped) return
      // The database may be away for a moment, or not answer at all. Past the lease, others own what runs here.
      let failed = false
      const renewal = this.#renew().catch(() => {
        failed = true
      })
      const left = this.#renewedAt + this.#settings.leaseMs - performance.now()
      await within(renewal, Math.max(left, this.#settings.heartbeatMs))
      if (!this.healthy && !this.#stopped) this.#running.stopAll('claim lost')
      await renewal
      this.#tellConfirmed()
      // Whoever rings meanwhile gets the same answer; a server that is away must not be hammered.
      if (failed && !this.#stopped) await pauseFor(jittered(Math.min(this.#settings.heartbeatMs, longestPauseMs)))
    }
  }

  #tellConfirmed(): void {
    for (const resolve of this.#confirming.splice(0)) resolve()
  }

  async #renew(): Promise<void> {
    const known = this.#running.snapshot()
    const askedAt = performance.now()
    const held = await this.#store.heartbeat(this.#id, this.#settings.leaseMs)
    if (held !== null) {
      this.#renewedAt = askedAt
      this.#running.compare(known, held)
      this.#findOrphans(held)
    } else {
      this.#running.stopAll('claim lost')
      const lost = this.#id
      this.#id = randomId()
      this.#onLost?.(lost, this.#id)
      await this.#register()
    }
  }

  /** A row may be unknown here for a moment, while its claim is on the way; for half a lease, it was forgotten. */
  #findOrphans(held: readonly HeldExecution[]): void {
    const now = performance.now()
    const running = this.#running.ids()
    const strays = held.map(row => row.id).filter(id => !running.has(id))
    this.#strays = new Map(strays.map(id => [id, this.#strays.get(id) ?? now]))
    const orphans = strays.filter(id => now - (this.#strays.get(id) ?? now) > this.#settings.leaseMs / 2)
    // Beside the heartbeat, which must not wait for it.
    if (orphans.length === 0 || this.#takingOver) return
    this.#takingOver = true
    void this.#onOrphans(this.#id, new Set(orphans)).finally(() => {
      this.#takingOver = false
    })
  }

  async #register(): Promise<void> {
    const askedAt = performance.now()
    await this.#store.registerWorker({
      id: this.#id,
      host: hostname(),
      pid: process.pid,
      leaseMs: this.#settings.leaseMs,
      handlers: this.#handlers,
      serves: this.#serves,
    })
    this.#renewedAt = askedAt
  }
}
