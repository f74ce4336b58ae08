/**
 * A dispatcher that pushes, for services that do not look for work by themselves: it finds what is due and what no live worker
 * has code for, and hands it to the application, which wakes somebody. It claims nothing and moves no row, so work that is
 * turned down is not bounced: it is left alone for a while, by this dispatcher only.
 */
import { jobOf } from '../engine/courses.ts'
import { timerHandler } from '../engine/plan.ts'
import { InvalidArgumentError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import type { Store } from '../store/store.ts'
import type { Unserved } from './unserved-notices.ts'

/** What is due in a queue, for code that no live worker has. Timers of the engine itself name neither: any service will do. */
export interface DueWork {
  readonly queue: string
  /** The stored name of a class. */
  readonly workflow: string | null
  readonly job: string | null
}

export interface DispatcherOptions {
  /**
   * Wakes a service that has the code, which then calls `geneva.runDue()`. Returns `false`, or throws, when nobody there has it.
   * Not called again for the same work before it has returned.
   */
  push(work: DueWork): unknown
  /** How often to look. Default 1 second. */
  readonly every?: Duration
  /** How long work that was turned down is left alone. Default 5 seconds; 0: until the next look. */
  readonly cooldown?: Duration
  /** Up to which part of the cooldown is added to it at random. Default 0.2. */
  readonly jitter?: number
  /** How long to keep quiet about work that was turned down, once that was said. Default 1 minute. */
  readonly notice?: Duration
  /** Hears of work that was turned down, no more often than that. Default: a warning in the log. */
  onTurnedDown?(work: DueWork): void
}

const known = optionNames<DispatcherOptions>({ push: 0, every: 0, cooldown: 0, jitter: 0, notice: 0, onTurnedDown: 0 })

interface DispatcherParts {
  readonly store: Pick<Store, 'findUnserved'>
  onError(error: unknown): void
  /** Where nobody else wants to hear of it. */
  onTurnedDown(work: Unserved): void
  /** Has the executions say that nobody has their code. */
  noteUnserved?(work: Unserved): Promise<void>
}

interface Pushed {
  readonly restUntil: number
  readonly toldAt: number
}

export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #options: DispatcherOptions
  readonly #everyMs: number
  readonly #cooldownMs: number
  readonly #noticeMs: number
  readonly #jitter: number
  readonly #stop = new AbortController()
  readonly #pushing = new Map<string, Promise<void>>()
  #turnedDown = new Map<string, Pushed>()
  #loop: Promise<void> = Promise.resolve()

  constructor(options: DispatcherOptions, parts: DispatcherParts) {
    if (typeof options?.push !== 'function') {
      throw new InvalidArgumentError('A dispatcher needs `push`, a function that wakes a service which has the code.')
    }
    refuseUnknownOptions('A dispatcher', options, known)
    const { jitter = 0.2 } = options
    if (!(jitter >= 0 && jitter <= 1)) {
      throw new InvalidArgumentError(`The jitter of a dispatcher must be a number from 0 to 1, not ${String(jitter)}.`)
    }
    this.#parts = parts
    this.#options = options
    this.#jitter = jitter
    this.#everyMs = Math.max(1, toMilliseconds(options.every ?? 1000, 'The interval of a dispatcher'))
    this.#cooldownMs = toMilliseconds(options.cooldown ?? 5000, 'The cooldown of a dispatcher')
    this.#noticeMs = toMilliseconds(options.notice ?? 60_000, 'The notice interval of a dispatcher')
  }

  start(): void {
    this.#loop = this.#always()
  }

  /** Looks no more, and waits for pushes that are under way. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#loop
    await Promise.all(this.#pushing.values())
  }

  async #always(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.look(performance.now()).catch(this.#parts.onError)
      await pauseFor(this.#everyMs, signal)
    }
  }

  /** One look. `now` is the clock of this process, in milliseconds. Resolves when the pushes have begun. */
  async look(now: number): Promise<void> {
    const found = new Map((await this.#parts.store.findUnserved('')).map(work => [keyOf(work), work]))
    // What is gone and comes again is new.
    this.#turnedDown = new Map([...this.#turnedDown].filter(([key]) => found.has(key) || this.#pushing.has(key)))
    for (const [key, work] of found) {
      if (this.#stop.signal.aborted) return
      if (this.#pushing.has(key) || (this.#turnedDown.get(key)?.restUntil ?? now) > now) continue
      const pushing = this.#push(key, work, now).finally(() => this.#pushing.delete(key))
      this.#pushing.set(key, pushing)
    }
  }

  /** Never rejects. */
  async #push(key: string, work: Unserved, now: number): Promise<void> {
    try {
      if ((await this.#options.push(dueWork(work))) !== false) {
        this.#turnedDown.delete(key)
        return
      }
    } catch (error) {
      this.#parts.onError(error)
    }
    const before = this.#turnedDown.get(key)
    const isTold = before === undefined || now - before.toldAt >= this.#noticeMs
    const restUntil = now + jittered(this.#cooldownMs, this.#jitter)
    this.#turnedDown.set(key, { restUntil, toldAt: isTold ? now : before.toldAt })
    if (isTold) this.#tell(work)
    // Turned down for that long: whoever was on the way to bring the code would be there.
    if (isTold && before !== undefined) await this.#parts.noteUnserved?.(work).catch(this.#parts.onError)
  }

  #tell(work: Unserved): void {
    try {
      if (this.#options.onTurnedDown) this.#options.onTurnedDown(dueWork(work))
      else this.#parts.onTurnedDown(work)
    } catch (error) {
      this.#parts.onError(error)
    }
  }
}

function dueWork({ queue, handler }: Unserved): DueWork {
  const job = jobOf(handler)
  return { queue, workflow: job === null && handler !== timerHandler ? handler : null, job }
}

function keyOf({ queue, handler }: Unserved): string {
  return JSON.stringify([queue, handler])
}
