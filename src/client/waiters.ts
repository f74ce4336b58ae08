/**
 * Waiting for workflows to end. An end in this process is pushed; for ends elsewhere all waiters share one small query.
 */
import { isEnd } from '../engine/end-watch.ts'
import type { Engine } from '../engine/engine.ts'
import { Batcher } from '../primitives/batcher.ts'
import { callAfter } from '../primitives/call-after.ts'
import type { EndOfWorkflow } from '../store/store.ts'

/** Soon enough for a workflow that ends in another process within moments; what ends in this one is not waited for. */
const firstPollMs = 3
const slowestPollMs = 500
/** What a worker of this process is at is likely to end here, and need not be looked for soon. */
const firstPollHereMs = 100
/** A look must not take more than this part of the time, however many are waited for. */
const largestShare = 0.05
/** Whoever begins to wait may do so for a workflow that has ended already, and is told no later than that. */
const longestRestMs = 250
/** How many ends one query reads. */
const maxEnds = 1000

type Done = (end: EndOfWorkflow | null) => void

export class Waiters {
  readonly #engine: Engine
  /** Whoever waits for a workflow, by its id. */
  readonly #waiting = new Map<string, Set<Done>>()
  /** Those that no look has asked for yet. */
  #unseen = new Set<string>()
  #timer: NodeJS.Timeout | null = null
  #pollMs = firstPollMs
  #lookAt = 0
  #looking = false
  #restUntil = 0
  #lookedAt = 0

  /** Many that end at once are read at once. */
  readonly #ends: Batcher<string, EndOfWorkflow | null>

  constructor(engine: Engine) {
    this.#engine = engine
    this.#ends = new Batcher<string, EndOfWorkflow | null>({
      write: async ids => {
        const found = await engine.store.findEnds([...new Set(ids)])
        return ids.map(id => found.get(id) ?? null)
      },
      maxGroup: maxEnds,
    })
    engine.ends.onEnd((id, end) => this.#release(id, end))
  }

  /** Resolves when the workflow has ended, the time is over, or this instance closes; with the end, if it is known. */
  wait(id: string, timeoutMs: number): Promise<EndOfWorkflow | null> {
    return new Promise(resolve => {
      const cancel = timeoutMs === Number.POSITIVE_INFINITY ? null : callAfter(timeoutMs, () => done(null))
      const done = (end: EndOfWorkflow | null) => {
        cancel?.()
        this.#remove(id, done)
        resolve(end)
      }
      const others = this.#waiting.get(id)
      if (others) others.add(done)
      else this.#waiting.set(id, new Set([done]))
      if (this.#engine.openings.runs(id)) {
        this.#schedule(firstPollHereMs)
        return
      }
      // It may have ended already. Whoever begins to wait in the same turn shares the look.
      this.#unseen.add(id)
      this.#pollMs = firstPollMs
      this.#schedule(firstPollMs)
    })
  }

  /** The workflow as it is now, with what it completed last; `null` when there is none. */
  endOf(id: string): Promise<EndOfWorkflow | null> {
    return this.#ends.add(id)
  }

  close(): void {
    for (const id of [...this.#waiting.keys()]) this.#release(id)
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #release(id: string, end: EndOfWorkflow | null = null): void {
    for (const done of [...(this.#waiting.get(id) ?? [])]) done(end)
  }

  #remove(id: string, done: Done): void {
    const all = this.#waiting.get(id)
    all?.delete(done)
    if (all?.size !== 0) return
    this.#waiting.delete(id)
    this.#unseen.delete(id)
  }

  /** One look at a time, and the sooner of two is enough. None before those that were made have been paid for. */
  #schedule(ms: number): void {
    if (this.#looking) return
    const now = performance.now()
    const rest = this.#unseen.size === 0 ? this.#restUntil : Math.min(this.#restUntil, this.#lookedAt + longestRestMs)
    const at = Math.max(now + ms, rest)
    if (this.#timer !== null && this.#lookAt <= at) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#lookAt = at
    this.#timer = setTimeout(() => void this.#look(), at - now)
  }

  async #look(): Promise<void> {
    this.#timer = null
    this.#looking = true
    const begun = performance.now()
    const unseen = this.#unseen
    const asked = [...(begun < this.#restUntil ? unseen : this.#waiting.keys())]
    this.#unseen = new Set()
    try {
      const found = await this.#engine.store.workflowStates(asked)
      for (const id of asked) {
        const workflow = found.get(id)
        if (!workflow || isEnd(workflow.state)) this.#release(id)
      }
      const ended = performance.now()
      this.#restUntil = Math.max(this.#restUntil, ended + (ended - begun) / largestShare)
    } catch {
      // The database is away; the next look may find it, and one that only waited has cost nothing.
      for (const id of unseen) if (this.#waiting.has(id)) this.#unseen.add(id)
    }
    this.#looking = false
    this.#lookedAt = performance.now()
    if (this.#waiting.size === 0) return
    this.#schedule(this.#pollMs)
    this.#pollMs = Math.min(this.#pollMs * 1.5, slowestPollMs)
  }
}
