/**
 * What a worker does beside its own steps, every couple of seconds: takes over what dead workers have left, brings
 * workflows in line with newer code, looks for new queues and for work that nobody has the code for, removes what has
 * ended long ago, and makes sure that the tables still serve this code.
 */
import { typesOf } from '../engine/courses.ts'
import type { Engine } from '../engine/engine.ts'
import { healOutdated } from '../engine/heal-outdated.ts'
import { SchemaError } from '../errors.ts'
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import type { RetentionAges } from '../store/housekeeping-store.ts'
import type { ClaimSource } from '../store/store.ts'
import { ClaimPlan } from './claim-plan.ts'
import type { ErrorListener } from './error-listener.ts'
import { MissingCode } from './missing-code.ts'
import { Pruner } from './pruner.ts'
import { Recovery } from './recovery.ts'
import { UnservedNotices } from './unserved-notices.ts'
import type { WorkerSettings } from './worker-options.ts'
import type { WorkerWatch } from './worker-watch.ts'

export interface UpkeepParts {
  readonly engine: Engine
  readonly settings: WorkerSettings
  readonly onError: ErrorListener
  readonly retention: RetentionAges
  readonly watch?: WorkerWatch | null
}

/** What it needs of the worker that it belongs to. */
export interface UpkeepHooks {
  workerId(): string
  handlers(): readonly string[]
  plan(): ClaimPlan | null
  onPlan(plan: ClaimPlan): void
  /** Claims from these sources and runs what comes. */
  claimFor(sources: readonly ClaimSource[], limit: number): Promise<void>
  /** For good. */
  stop(): void
  /** Where priority may have to grow. */
  aging(): { readonly sources: readonly ClaimSource[]; readonly needed: boolean }
}

/** Dead workers are looked for every fifth of a lease, and at least so often. */
const longestRecoveryMs = 2000
const healingLimit = 100
/** How often code that nobody has is looked for, at the longest. */
const longestMissingMs = 10_000
const missingLimit = 20
/** How often the queues are looked up anew. */
const replanMs = 60_000
/** A newer process may change the tables under this one: every sixth lease they are looked at, and at least so often. */
const longestTablesMs = 60_000

export class Upkeep {
  readonly #parts: UpkeepParts
  readonly #hooks: UpkeepHooks
  readonly #missing: MissingCode
  readonly #pruner: Pruner
  readonly #recovery: Recovery
  readonly #unserved: UnservedNotices | null
  #plannedAt = performance.now()
  #lookedForMissingAt = performance.now()
  #lookedAtTablesAt = performance.now()
  #mayBeOutdated = true
  #healsAt = 0
  #turns: Promise<void> = Promise.resolve()
  #refusal: SchemaError | null = null

  constructor(parts: UpkeepParts, hooks: UpkeepHooks) {
    this.#parts = parts
    this.#hooks = hooks
    this.#missing = new MissingCode(parts.engine.store, parts.settings.missingJobMs)
    this.#pruner = new Pruner(parts.engine.store, parts.retention)
    const { engine, onError } = parts
    this.#recovery = new Recovery({ engine, onError, handlers: () => hooks.handlers() })
    const looks = parts.watch?.looksForUnserved === true
    this.#unserved = looks ? new UnservedNotices(parts.engine.store, performance.now()) : null
  }

  /** Why the tables do not serve this code any more; `null` while they do. */
  get refusal(): SchemaError | null {
    return this.#refusal
  }

  /**
   * Until the signal says stop. One thing that fails keeps none of the others from being done, and none of them, however long it takes, keeps
   * the work of dead workers waiting.
   */
  async always(stop: AbortSignal): Promise<void> {
    const others = [
      () => this.#checkTables(),
      () => this.#replan(),
      () => this.#heal(),
      () => this.age(),
      () => this.#failMissing(),
      () => this.#pruner.round(),
      ...(this.#unserved === null ? [] : [() => this.#noticeUnserved()]),
    ]
    const recover = () => this.#recovery.takeFree(stop).then(() => this.#beginTurns(stop))
    await Promise.all([this.#again([recover], stop), this.#again(others, stop)])
    await this.#turns
  }

  async #again(tasks: readonly (() => Promise<void>)[], stop: AbortSignal): Promise<void> {
    const { settings, onError } = this.#parts
    while (!stop.aborted) {
      for (const task of tasks) if (!stop.aborted) await task().catch(error => onError.report(error, null))
      await pauseFor(jittered(Math.min(longestRecoveryMs, settings.leaseMs / 5), 0.2), stop)
    }
  }

  /** Beside everything else, which must not wait for what somebody keeps locked. */
  #beginTurns(stop: AbortSignal): void {
    this.#turns = this.#recovery.takeTurns(stop).catch(error => this.#parts.onError.report(error, null))
  }

  /** Takes over what dead workers have left, and waits a moment for what somebody has locked. */
  async recover(stop: AbortSignal): Promise<void> {
    await this.#recovery.takeFree(stop)
    await this.#recovery.takeTurns(stop)
  }

  /** Priorities that have grown to 100 count no more than that. Where nobody has any, there is nothing to do. */
  async age(): Promise<void> {
    const { sources, needed } = this.#hooks.aging()
    if (needed) await this.#parts.engine.store.limits.ageCapped(sources)
  }

  /** Nothing that this code writes could be trusted: it is told, and the worker stops. */
  async #checkTables(): Promise<void> {
    const now = performance.now()
    if (now - this.#lookedAtTablesAt < Math.min(longestTablesMs, this.#parts.settings.leaseMs * 6)) return
    this.#lookedAtTablesAt = now
    await this.#parts.engine.store.refuseOutgrown().catch(error => {
      if (error instanceof SchemaError) {
        this.#refusal = error
        this.#hooks.stop()
      }
      throw error
    })
  }

  /** A deploy elsewhere may put rows into queues that this code does not name. */
  async #replan(): Promise<void> {
    if (performance.now() - this.#plannedAt < replanMs) return
    this.#plannedAt = performance.now()
    this.#hooks.onPlan(await ClaimPlan.make(this.#parts.engine, this.#parts.settings, this.#hooks.plan()))
    this.#mayBeOutdated = true
    await this.#parts.engine.store.limits.forgetKeys()
  }

  /** After a deploy: what waits far ahead is brought in line with this code, a few at a time. */
  async #heal(): Promise<void> {
    if (!this.#mayBeOutdated || performance.now() < this.#healsAt) return
    const { engine, settings } = this.#parts
    const { found, passed } = await healOutdated(engine, engine.registry.definitions.flatMap(typesOf), healingLimit)
    const isMore = found === healingLimit
    this.#mayBeOutdated = isMore || passed > 0
    // It is no small look where much waits, so what is locked for long is not looked for at every turn.
    if (!isMore && passed > 0) this.#healsAt = performance.now() + settings.leaseMs
  }

  async #noticeUnserved(): Promise<void> {
    const workerId = this.#hooks.workerId()
    for (const each of (await this.#unserved?.look(performance.now())) ?? []) {
      this.#parts.watch?.tell({ kind: 'unserved', workerId, ...each })
    }
  }

  /** What nobody has the code for says so; nodes whose job nobody has are claimed to fail, so that people learn of it. */
  async #failMissing(): Promise<void> {
    const now = performance.now()
    if (now - this.#lookedForMissingAt < Math.min(this.#parts.settings.missingJobMs, longestMissingMs)) return
    this.#lookedForMissingAt = now
    const sources = await this.#missing.look(now)
    if (sources.length > 0) await this.#hooks.claimFor(sources, missingLimit)
  }
}
