/**
 * The life of a worker in the database: it registers under an id that no other incarnation has, renews its lease, and
 * learns in the same breath what it should stop. When the lease is lost, it begins a new life. While the event loop is too busy
 * to renew the lease, a thread stands in.
 */
import { hostname } from 'node:os'
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import { randomId } from '../primitives/random-id.ts'
import { processNow, SharedMoment } from '../primitives/shared-moment.ts'
import { UsualTime } from '../primitives/usual-time.ts'
import { within } from '../primitives/within.ts'
import type { DatabaseOptions } from '../store/database-options.ts'
import type { WorkerServes } from '../store/records.ts'
import type { HeldExecution, RowKey, Store } from '../store/store.ts'
import { HeartbeatThread } from './heartbeat-thread.ts'
import type { RunningStep } from './running-step.ts'
import type { RunningSteps } from './running-steps.ts'
import { WakeUp } from './wake-up.ts'
import type { WorkerSettings } from './worker-options.ts'

const longestPauseMs = 250
/**
 * After a look at all that it holds a worker looks by key at what it runs for so many times as long, and three leases at most: where
 * the database has to keep much that is dead, the former takes ever longer.
 */
const restAfterLook = 20
const longestRestLeases = 3

/** An execution that the database calls ours and that does not run here, and when that was first seen. */
interface Stray {
  readonly row: RowKey
  readonly since: number
}

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
  /** That life has begun: what is due can be claimed again, which was in vain since the lease was lost. */
  onNewLife?(): void
  /** For a thread that opens the same database and stands in. */
  readonly database?: DatabaseOptions | undefined
  /** Hears that the thread does not do its work. */
  onFailure?(error: unknown): void
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
  /** By id. */
  #strays: ReadonlyMap<string, Stray> = new Map()
  #takingOver = false
  #id = randomId()
  /** When the renewal was asked for, not when it was answered: the lease is never believed to last longer than it does. */
  readonly #renewed = new SharedMoment()
  readonly #parts: LeaseParts
  #mayStandIn: boolean
  #standIn: HeartbeatThread | null = null
  #confirming: (() => void)[] = []
  #stopped = false
  #loop: Promise<void> = Promise.resolve()
  #lookAtAllAt = 0
  /** How long a look at all takes. */
  #usualLook = new UsualTime()

  constructor(parts: LeaseParts) {
    this.#store = parts.store
    this.#running = parts.running
    this.#settings = parts.settings
    this.#handlers = parts.handlers
    this.#serves = parts.serves
    this.#onOrphans = parts.onOrphans
    this.#onLost = parts.onLost
    this.#parts = parts
    this.#mayStandIn = parts.settings.heartbeatThread
  }

  /** Changes when the lease was lost. */
  get workerId(): string {
    return this.#id
  }

  /** False when renewing has failed for so long that others may have taken over. */
  get healthy(): boolean {
    return !this.#stopped && processNow() - this.#renewed.at < this.#settings.leaseMs
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

  /** `briefly`: for less than a heartbeat, most likely. Then it takes no thread before that is over. */
  async begin(briefly = false): Promise<void> {
    await this.#register()
    if (!briefly) this.#callStandIn()
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
    const retired = within(
      leaving.catch(() => {}),
      farewellMs,
    )
    // A renewal that is late finds no worker that is alive.
    await Promise.all([retired, this.#standIn?.end()])
  }

  /** Once: a thread that has died is not replaced. */
  #callStandIn(): void {
    const { database, onFailure = () => {}, settings } = this.#parts
    if (!this.#mayStandIn || database === undefined) return
    this.#mayStandIn = false
    const { leaseMs, heartbeatMs } = settings
    this.#standIn = HeartbeatThread.start({ database, leaseMs, heartbeatMs, renewed: this.#renewed, onFailure })
    this.#standIn?.keep(this.#id)
  }

  async #renewAlways(): Promise<void> {
    while (!this.#stopped) {
      await this.#bell.wait(this.#settings.heartbeatMs)
      if (this.#stopped) return
      if (this.#standIn === null) this.#callStandIn()
      // The database may be away for a moment, or not answer at all. Past the lease, others own what runs here.
      let failed = false
      const renewal = this.#renew().catch(() => {
        failed = true
      })
      const left = this.#renewed.at + this.#settings.leaseMs - processNow()
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
    const askedAt = processNow()
    const begun = performance.now()
    const looksAtAll = begun >= this.#lookAtAllAt
    const among = looksAtAll ? undefined : this.#rowsOf(known.keys())
    const held = await this.#store.heartbeat(this.#id, this.#settings.leaseMs, among)
    if (looksAtAll) this.#restAfter(performance.now() - begun)
    if (held !== null) {
      this.#renewed.moveTo(askedAt)
      this.#running.compare(known, held)
      this.#findOrphans(held)
    } else {
      this.#running.stopAll('claim lost')
      const lost = this.#id
      this.#id = randomId()
      this.#forgetLooks()
      this.#onLost?.(lost, this.#id)
      await this.#register()
      this.#parts.onNewLife?.()
    }
  }

  /** If the database was away, there are forgotten rows to be found, which is why a single long look leads to no rest. */
  #restAfter(lookMs: number): void {
    this.#usualLook.took(lookMs)
    const restMs = Math.min(this.#usualLook.ms * restAfterLook, this.#settings.leaseMs * longestRestLeases)
    this.#lookAtAllAt = performance.now() + restMs
  }

  /** Nothing is dead yet under a new id, and nothing is left of what the old one held. */
  #forgetLooks(): void {
    this.#strays = new Map()
    this.#usualLook = new UsualTime()
    this.#lookAtAllAt = 0
  }

  /** What runs, and what may have been forgotten: the next look at all is perhaps three leases away. */
  #rowsOf(steps: Iterable<RunningStep>): RowKey[] {
    const rows = new Map<string, RowKey>([...this.#strays].map(([id, { row }]) => [id, row]))
    for (const { claimed } of steps) rows.set(claimed.execution.id, claimed.execution)
    return [...rows.values()]
  }

  /** A row may be unknown here for a moment, while its claim is on the way; for half a lease, it was forgotten. */
  #findOrphans(held: readonly HeldExecution[]): void {
    const now = performance.now()
    const running = this.#running.ids()
    const strays = held.filter(({ id }) => !running.has(id))
    this.#strays = new Map(strays.map(row => [row.id, { row, since: this.#strays.get(row.id)?.since ?? now }]))
    const orphans = [...this.#strays].filter(([, { since }]) => now - since > this.#settings.leaseMs / 2)
    // Beside the heartbeat, which must not wait for it.
    if (orphans.length === 0 || this.#takingOver) return
    this.#takingOver = true
    void this.#onOrphans(this.#id, new Set(orphans.map(([id]) => id))).finally(() => {
      this.#takingOver = false
    })
  }

  async #register(): Promise<void> {
    const askedAt = processNow()
    await this.#store.registerWorker({
      id: this.#id,
      host: hostname(),
      pid: process.pid,
      leaseMs: this.#settings.leaseMs,
      handlers: this.#handlers,
      serves: this.#serves,
    })
    this.#renewed.moveTo(askedAt)
    this.#standIn?.keep(this.#id)
  }
}
