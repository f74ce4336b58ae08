/**
 * Writes down how far a step has come, as often as it is told to. At most one write is under way; what comes meanwhile
 * goes into the next, so that a fast loop is not bound to one round trip per item.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ResumableSettings } from '../../definition/workflow-definition.ts'
import { callAfter } from '../../primitives/call-after.ts'
import type { Progress } from '../../store/records.ts'
import type { IterationHost } from './iteration-host.ts'

export class Checkpointer {
  readonly #host: IterationHost
  readonly #mode: ResumableSettings['checkpoint']
  #progress: Progress
  #writing: Promise<void> | null = null
  /** Something was noted that no write has taken up yet, and how many items of it. */
  #isDirty = false
  #unwritten = 0
  #writtenAt = performance.now()
  #cancelTimer: (() => void) | null = null
  #failure: { readonly error: unknown } | null = null
  /** The claim is lost: nothing that this run does will count any more. */
  lost = false

  constructor(host: IterationHost, mode: ResumableSettings['checkpoint']) {
    this.#host = host
    this.#mode = mode
    this.#progress = host.progress
  }

  get progress(): Progress {
    return this.#progress
  }

  /** Takes note of a step forward. */
  note(change: Partial<Progress>): void {
    const before = this.#progress.completedIterations
    this.#progress = { ...this.#progress, ...change }
    this.#unwritten += this.#progress.completedIterations - before
    this.#isDirty = true
  }

  /** The same, already written in a transaction of its own, with all that was noted before it. */
  noteWritten(change: Partial<Progress>): void {
    this.#progress = { ...this.#progress, ...change }
    this.#writeBegins()
    this.#writtenAt = performance.now()
  }

  /** Writes if it is time to. Throws what an earlier write has met. */
  async settle(): Promise<void> {
    this.#throwFailure()
    if (!this.#isDirty || this.lost) return
    if (this.#mode === 'each') await this.flush()
    else if (this.#mode === 'coalesced') void this.#write()
    else if (this.#isDue(this.#mode)) await this.flush()
    else this.#writeInTime(this.#mode.timeMs)
  }

  /** Everything that was noted is durable when it resolves, or the claim is lost. */
  async flush(): Promise<void> {
    this.#throwFailure()
    while ((this.#isDirty || this.#writing !== null) && !this.lost) {
      await this.#write()
      this.#throwFailure()
    }
  }

  /** Waits for a write that is under way. None comes after it until `settle` or `flush` asks for one. */
  async idle(): Promise<void> {
    this.#stopTimer()
    while (this.#writing !== null) await this.#writing
  }

  /** The same for good: whatever is not written yet is left to the report of the run. */
  async end(): Promise<void> {
    this.#isDirty = false
    await this.idle()
  }

  #isDue({ items, timeMs }: { readonly items: number | null; readonly timeMs: number | null }): boolean {
    if (items !== null && this.#unwritten >= items) return true
    return timeMs !== null && performance.now() - this.#writtenAt >= timeMs
  }

  /** The next item may take long, and so much time is not to pass without a write. */
  #writeInTime(timeMs: number | null): void {
    if (timeMs === null || this.#cancelTimer !== null) return
    const left = timeMs - (performance.now() - this.#writtenAt)
    this.#cancelTimer = callAfter(Math.max(1, left), () => void this.#write())
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null
    })
    return this.#writing
  }

  /** Never rejects. Where nobody waits for a write, what was noted during it is written next. */
  async #writeAll(): Promise<void> {
    do {
      // A loop that does not wait for anything keeps its turn for a while: all that it does then is one write.
      if (this.#mode === 'coalesced') await nextTurn()
      if (this.#isDirty) await this.#writeOnce()
    } while (this.#mode === 'coalesced' && this.#isDirty && !this.lost && this.#failure === null)
  }

  async #writeOnce(): Promise<void> {
    this.#writeBegins()
    try {
      if (!(await this.#host.write(this.#progress))) this.lost = true
    } catch (error) {
      this.#failure = { error }
    }
    this.#writtenAt = performance.now()
  }

  #writeBegins(): void {
    this.#isDirty = false
    this.#unwritten = 0
    this.#stopTimer()
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error
  }
}
