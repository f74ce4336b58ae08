/**
 * Many executions over time: claims what is due, runs it, records it, keeps its lease, and takes over what dead workers
 * have left. Everything that must be remembered is in the database; a worker can be killed at any moment.
 */
import { lastChance } from '../engine/crash-limit.ts'
import type { Engine } from '../engine/engine.ts'
import { timerQueue } from '../engine/plan.ts'
import type { Ticks } from '../engine/ticks.ts'
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import { within } from '../primitives/within.ts'
import type { DatabaseOptions } from '../store/database-options.ts'
import type { RetentionAges } from '../store/housekeeping-store.ts'
import type { ClaimedExecution } from '../store/records.ts'
import type { ClaimRequest } from '../store/store.ts'
import { ClaimPlan } from './claim-plan.ts'
import type { ErrorListener } from './error-listener.ts'
import { Finisher } from './finisher.ts'
import { hearOfWork } from './hear-of-work.ts'
import { farewellMs, Lease } from './lease.ts'
import { LostClaims } from './lost-claims.ts'
import { Places } from './places.ts'
import { RulesInForce } from './rules-in-force.ts'
import { RunningSteps } from './running-steps.ts'
import { isOnLastChance, StepRunner } from './step-runner.ts'
import { strategiesFor } from './strategies.ts'
import { tickAlways, tickOnce } from './ticker.ts'
import { Upkeep } from './upkeep.ts'
import { WakeUp } from './wake-up.ts'
import type { DrainOptions, WorkerSettings } from './worker-options.ts'
import type { WorkerWatch } from './worker-watch.ts'

export interface WorkerParts {
  readonly engine: Engine
  readonly ticks: Ticks
  readonly settings: WorkerSettings
  readonly onError: ErrorListener
  readonly maxInputBytes: number
  readonly maxOutputBytes: number
  readonly retention: RetentionAges
  readonly watch?: WorkerWatch | null
  /** For a thread that opens the same database. */
  readonly database?: DatabaseOptions
}

/** How often timers and nodes without code are looked for. They take no room of steps: timers end what keeps it. */
const timerMs = 250
const timerLimit = 20
/** How many of them may be held at once, beyond the steps that there is room for. */
const mostBeyond = 100
/** How long aborted steps get to end before they are given back. */
const abortMs = 1000

export class Worker {
  readonly #parts: WorkerParts
  readonly #running = new RunningSteps()
  readonly #bell = new WakeUp()
  readonly #finisher: Finisher
  readonly #upkeep: Upkeep
  readonly #lostClaims: LostClaims
  readonly #places: Places
  readonly #rules: RulesInForce
  #plan: ClaimPlan | null = null
  #lease: Lease | null = null
  #runner: StepRunner | null = null
  #unsubscribe: () => void = () => {}
  #beginning: Promise<void> = Promise.resolve()
  #loops: Promise<unknown> = Promise.resolve()
  #stopping: Promise<void> | null = null
  readonly #stop = new AbortController()
  #settle: () => void = () => {}
  /** Resolves when the worker has stopped. */
  readonly stopped: Promise<void> = new Promise(resolve => {
    this.#settle = resolve
  })

  constructor(given: WorkerParts) {
    const parts = { ...given, onError: given.onError.withIds(() => ({ workerId: this.#workerId })) }
    this.#parts = parts
    const { engine, onError } = parts
    this.#rules = new RulesInForce(engine)
    const perform = (claimed: ClaimedExecution) => this.#perform(claimed)
    const { leaseMs, concurrency } = parts.settings
    this.#finisher = new Finisher(engine, { onError, tellAfterMs: leaseMs })
    const now = () => ({ plan: this.#plan, lease: this.#lease, rules: this.#rules.now })
    this.#places = new Places({ running: this.#running, concurrency, perform, now, stopped: this.#stop.signal })
    this.#lostClaims = new LostClaims({ engine, onError, running: this.#running, leaseMs, perform })
    this.#upkeep = new Upkeep(parts, {
      workerId: () => this.#workerId,
      handlers: () => this.#plan?.handlers ?? [],
      plan: () => this.#plan,
      onPlan: plan => {
        this.#plan = plan
      },
      claimFor: async (sources, limit) => {
        const open = sources.filter(({ queue }) => !this.#rules.now.isPaused(queue))
        const claimed = await this.#claim({ sources: open, limit: this.#roomBeyond(limit) }).catch(async error => {
          if (await this.#rules.areRenewedAfter(error)) return []
          throw error
        })
        for (const item of claimed) this.#perform(item)
      },
      stop: () => void this.stop().catch(error => onError.report(error, null)),
      aging: () => ({ sources: this.#plan?.sources ?? [], needed: this.#plan?.usesPriorities || this.#sawPriority }),
    })
  }

  /** False when the lease cannot be renewed or the worker has stopped. */
  get healthy(): boolean {
    return this.#lease?.healthy === true && this.#stopping === null
  }

  /** Why it has stopped of itself, if it has. */
  get refusal(): Error | null {
    return this.#upkeep.refusal
  }

  get #workerId(): string {
    return this.#lease?.workerId ?? ''
  }

  /** Begins to work and returns. */
  async start(): Promise<void> {
    this.#resident = true
    await this.#begin()
    this.#tell('started')
    const { engine, ticks, onError } = this.#parts
    const unsubscribe = hearOfWork(engine, {
      work: codeless => this.#wake(codeless),
      stop: () => this.#lease?.checkSoon(),
      claimed: () => this.#claimedCount,
    })
    const withdraw = engine.openings.add(this.#places)
    this.#running.onFree(queue => this.#plan?.wantsRoom(queue) && this.#wake(queue === timerQueue))
    this.#loops = Promise.all([
      this.#claimAlways(),
      this.#upkeep.always(this.#stop.signal),
      tickAlways(ticks, onError, this.#stop.signal),
    ]).finally(() => {
      withdraw()
      unsubscribe()
    })
  }

  /** Works off what is due and returns: how many executions were claimed. For cron, serverless hosts and tests. */
  async drain(options: DrainOptions = {}): Promise<number> {
    await this.#begin()
    this.#tell('started')
    if (options.maxSteps !== undefined) this.#runner?.stopRunningOn()
    if (options.maxItems !== undefined) this.#runner?.limitItems(options.maxItems)
    this.#running.onFree(queue => this.#wake(queue === timerQueue))
    const unsubscribe = this.#parts.engine.ends.onWork(codeless => this.#wake(codeless))
    const drained = this.#upkeep
      .recover(this.#stop.signal)
      .then(() => this.#upkeep.age())
      .then(() => this.#tickAll(options))
      .then(() => this.#drain(options))
    // A claim that is under way when the worker is stopped must be known before what it holds is given back.
    this.#loops = drained.catch(() => {})
    try {
      return await drained
    } finally {
      unsubscribe()
      await this.stop()
    }
  }

  /** Stops claiming, lets steps end within the grace time, aborts and then gives back the rest. */
  stop(): Promise<void> {
    this.#stopping ??= this.#shutDown().finally(() => this.#settle())
    return this.#stopping
  }

  readonly #runningNow = () => this.#running.size

  /** Works until it is stopped, not just until nothing is due. */
  #resident = false

  #tell(kind: 'started' | 'stopped'): void {
    const { watch } = this.#parts
    watch?.tell({ kind, workerId: this.#workerId, resident: this.#resident, running: this.#runningNow })
  }

  #begin(): Promise<void> {
    // Stopped before it began: then there is nothing to begin.
    if (!this.#stop.signal.aborted) this.#beginning = this.#register()
    return this.#beginning
  }

  async #register(): Promise<void> {
    const { engine, settings } = this.#parts
    const plan = await ClaimPlan.make(engine, settings)
    await this.#rules.read()
    const lease = new Lease({
      store: engine.store,
      running: this.#running,
      settings,
      handlers: plan.handlers,
      serves: plan.served,
      onOrphans: (workerId, ids) => this.#lostClaims.takeOver(workerId, ids),
      onLost: (workerId, nextId) => this.#parts.watch?.tell({ kind: 'lease lost', workerId, nextId }),
      onNewLife: () => this.#wake(true),
      onFailure: error => this.#parts.onError.report(error, null),
      database: this.#parts.database,
    })
    await lease.begin(!this.#resident)
    this.#unsubscribe = engine.ends.onStop(() => lease.checkSoon())
    this.#plan = plan
    this.#lease = lease
    this.#runner = new StepRunner({
      ...this.#parts,
      running: this.#running,
      finisher: this.#finisher,
      lease,
      strategies: strategiesFor(engine.store),
      keepRoom: (step, queue, handler) => {
        const current = this.#plan ?? plan
        // Nodes without code are claimed beyond the room that there is for steps, and must not carry these along.
        const beyond = step.claimed.execution.queue === timerQueue && this.#running.size > settings.concurrency
        const serves = current.serves(queue, handler) && (queue === timerQueue || !beyond)
        const allowed = serves && this.#rules.now.mayRunOn(step.claimed, { queue, handler })
        return allowed && this.#running.keepRoom(step, queue, current.limitOf(queue))
      },
      keepPlace: (queue, handler) => (this.#resident ? this.#places.keepPlace(queue, handler) : null),
      revision: () => this.#rules.now.revision,
    })
  }

  async #claimAlways(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      let more = false
      const since = performance.now()
      try {
        more = await this.#claimShares()
      } catch (error) {
        if (await this.#rules.areRenewedAfter(error)) continue
        this.#parts.onError.report(error, null)
        const lasts = this.#parts.engine.store.isLasting(error)
        if (lasts || !(await this.#adoptLost(since))) await pauseFor(jittered(1000, 0.5), this.#stop.signal)
      }
      if (!more) await this.#bell.wait(jittered(this.#parts.settings.pollMs))
    }
  }

  #adoptLost(since: number): Promise<boolean> {
    const adopted = this.#lostClaims.adopt(this.#workerId, since)
    return adopted.then(
      () => true,
      () => false,
    )
  }

  /** True when there may be more: a claim came back full, and there is room for another. */
  async #claimShares(options: DrainOptions = {}): Promise<boolean> {
    await this.#claimTimers(options.workflowId)
    let more = false
    let left = options.maxSteps ?? Number.POSITIVE_INFINITY
    for (const share of this.#plan?.shares(this.#running, this.#rules.now) ?? []) {
      const limit = Math.min(share.limit, left)
      if (limit <= 0) break
      const count = await this.#running.whileKept(share.queue, limit, async () => {
        const claimed = await this.#claim({ ...share, limit }, options.workflowId)
        for (const item of claimed) this.#perform(item)
        // One on its last chance may have kept out what stood behind it.
        more ||= claimed.length === limit || claimed.some(isOnLastChance)
        this.#plan?.noteBacklog(more)
        return claimed.length
      })
      this.#claimedCount += count
      left -= count
    }
    return more && this.#running.size < this.#parts.settings.concurrency
  }

  /** `codeless`: timers, or nodes without code, may have fallen due, and need not wait for the next look. */
  #wake(codeless: boolean): void {
    if (codeless) this.#timersClaimedAt = Number.NEGATIVE_INFINITY
    this.#bell.ring()
  }

  /** For what takes no room of steps: a database that is slow to record such work is not handed ever more of it. */
  #roomBeyond(limit: number): number {
    return Math.min(limit, this.#parts.settings.concurrency + mostBeyond - this.#running.size)
  }

  #claimedCount = 0
  #sawPriority = false
  #timersClaimedAt = Number.NEGATIVE_INFINITY

  async #claimTimers(workflowId?: string): Promise<void> {
    if (performance.now() - this.#timersClaimedAt < timerMs) return
    await this.#fireTimers(workflowId)
  }

  /** True when there were some: what they have done may leave something due. */
  async #fireTimers(workflowId?: string): Promise<boolean> {
    const limit = this.#roomBeyond(timerLimit)
    if (limit <= 0) return true
    this.#timersClaimedAt = performance.now()
    const claimed = await this.#claim({ sources: this.#plan?.timers ?? [], limit }, workflowId)
    for (const item of claimed) {
      if (item.execution.kind !== 'timer') this.#claimedCount++
      this.#perform(item)
    }
    return claimed.length > 0
  }

  #claim(share: Pick<ClaimRequest, 'sources' | 'limit' | 'limited'>, workflowId?: string) {
    // They run alone, so more than one would only keep room from others.
    const take = this.#running.all().some(step => isOnLastChance(step.claimed)) ? 0 : 1
    if (take === 0) this.#plan?.noteShort()
    return this.#parts.engine.store.claim({
      ...share,
      ...(workflowId === undefined ? {} : { workflowId }),
      workerId: this.#workerId,
      crashed: { times: lastChance, take },
      revision: this.#rules.now.revision,
      prioritized: this.#plan?.usesPriorities || this.#sawPriority,
      comesAgain: this.#resident,
    })
  }

  #perform(claimed: ClaimedExecution): void {
    this.#sawPriority ||= claimed.execution.priority > 0
    void this.#runner?.run(claimed.execution.owner ?? '', claimed)
  }

  /** What only this call can start: nobody else may be there to do so. */
  async #tickAll({ workflowId }: DrainOptions): Promise<void> {
    const { ticks, onError } = this.#parts
    if (ticks.isEmpty || workflowId !== undefined) return
    while (!this.#stop.signal.aborted && (await tickOnce(ticks, onError)) === 0);
  }

  async #drain(options: DrainOptions): Promise<number> {
    const until = performance.now() + (options.maxMs ?? Number.POSITIVE_INFINITY)
    let inRound = false
    while (!this.#stop.signal.aborted) {
      const steps = options.maxSteps === undefined ? undefined : options.maxSteps - this.#claimedCount
      const before = this.#claimedCount
      // What ends while the claim is under way may leave something due that the claim has not seen; so may a timer that was
      // both claimed and fired meanwhile.
      const idle = this.#running.size === 0
      const claims = steps === undefined || steps > 0
      if (!idle || !inRound) this.#plan?.lanes.beginRound()
      inRound = false
      if (claims) {
        try {
          await this.#claimShares({ ...options, ...(steps === undefined ? {} : { maxSteps: steps }) })
        } catch (error) {
          if (await this.#rules.areRenewedAfter(error)) continue
          throw error
        }
      }
      const wakes = claims && this.#timersClaimedAt === Number.NEGATIVE_INFINITY
      const isQuiet = idle && !wakes && this.#running.size === 0 && this.#claimedCount === before
      inRound = isQuiet && claims && this.#plan?.lanes.isUnderWay === true
      if (isQuiet && !inRound && !(await this.#fireTimers(options.workflowId))) return this.#claimedCount
      const left = until - performance.now()
      if (left <= 0) return this.#claimedCount
      if (this.#running.size > 0) await this.#bell.wait(Math.min(left, this.#parts.settings.pollMs))
    }
    return this.#claimedCount
  }

  async #shutDown(): Promise<void> {
    const { graceMs } = this.#parts.settings
    this.#stop.abort()
    this.#bell.ring()
    this.#runner?.close()
    // A lease that is just being taken must be given back, or it would be renewed for ever.
    await this.#beginning.catch(() => {})
    this.#runner?.close()
    this.#running.interruptAll('shutting down')
    await within(this.#loops, farewellMs)
    this.#running.interruptAll('shutting down')
    await this.#goneWithin(graceMs, () => this.#running.size === 0)
    this.#running.stopAll('shutting down')
    await this.#goneWithin(abortMs, () => this.#running.size === 0)
    await within(this.#giveBack(), farewellMs)
    this.#unsubscribe()
    await this.#lease?.end()
    if (this.#lease !== null) this.#tell('stopped')
  }

  /** What still runs is released; what is being reported is waited for, or others would take it over meanwhile. */
  async #giveBack(): Promise<void> {
    const reporting = this.#running.all().filter(step => step.reporting)
    const rest = this.#running.all().filter(step => !step.reporting)
    // What cannot be given back is found by others when this worker is gone.
    await Promise.allSettled(rest.map(step => this.#runner?.release(step.claimed.execution.owner ?? '', step)))
    await this.#goneWithin(farewellMs, () => !this.#running.all().some(step => reporting.includes(step)))
  }

  async #goneWithin(ms: number, gone: () => boolean): Promise<void> {
    const until = performance.now() + ms
    while (!gone() && performance.now() < until) {
      await this.#bell.wait(Math.max(1, Math.min(until - performance.now(), 50)))
    }
  }
}
