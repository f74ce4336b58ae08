/**
 * Records what steps came to, in groups, and does not give up while the database is only busy or away. A report that fails for a
 * reason of its own stands alone soon, and is told of when it goes on.
 */
import type { Engine } from '../engine/engine.ts'
import type { FinishRequest, FinishResult } from '../engine/finish-request.ts'
import { finishSteps, reserveIds } from '../engine/finish-steps.ts'
import { IdPool } from '../engine/id-pool.ts'
import { Batcher } from '../primitives/batcher.ts'
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import type { ErrorListener } from './error-listener.ts'

interface Group {
  /** A part of it may have been recorded. */
  readonly again: boolean
  readonly isAlone: boolean
}

export interface FinisherOptions {
  /** How it waits before it tries again. */
  rest?(ms: number): Promise<void>
  /** Hears once of what has failed for so long, by default ten seconds, or alone after its group. It is tried on. */
  readonly onError?: Pick<ErrorListener, 'report'>
  readonly tellAfterMs?: number
}

/** What a step came to, before ids are reserved for what follows. */
export type Report = Omit<FinishRequest, 'ids' | 'repeated'>

interface Item {
  readonly workerId: string
  /** Its ids stay the same over all tries, so that a commit whose answer was lost is recognised. */
  readonly request: FinishRequest
}

/** How many workflows a group is about at most, and how many steps of theirs: all of one lock, look and are decided on together. */
const maxGroup = 250
const maxItems = 1000
/** Then up to four groups take turns: what one has recorded goes on while the database is busy with another, or waits for its disk. */
const crowd = 100
const mostWrites = 4
/** Well below what servers accept in one packet. */
const maxBytes = 4 * 1024 * 1024
const longestPauseMs = 5000

export class Finisher {
  readonly #engine: Engine
  readonly #batcher: Batcher<Item, FinishResult>
  readonly #options: FinisherOptions

  constructor(engine: Engine, options: FinisherOptions = {}) {
    this.#engine = engine
    this.#options = options
    this.#batcher = new Batcher<Item, FinishResult>({
      write: (items, again) => this.#write(items, again),
      maxGroup,
      maxItems,
      crowd,
      mostWrites,
      kinOf: item => item.request.claimed.workflow.id,
      keyOf: item => item.request.claimed.execution.id,
      sizeOf: ({ request }) => bytesOf(request),
      maxBytes,
    })
  }

  /** Resolves once the report is durable, or refused. Rejects only for a report that the database will never take. */
  finish(workerId: string, report: Report): Promise<FinishResult> {
    return this.#batcher.add({ workerId, request: requestFor(report, new IdPool(this.#engine.ids)) })
  }

  /** Two ids meet in a group only when the worker has just begun a new life. */
  async #write(items: readonly Item[], again: boolean): Promise<FinishResult[]> {
    const [first] = items
    const how = { again, isAlone: items.length === 1 }
    if (first !== undefined && items.every(item => item.workerId === first.workerId)) {
      return this.#record(first.workerId, requestsOf(items), how)
    }
    const results = new Map<Item, FinishResult>()
    for (const workerId of new Set(items.map(item => item.workerId))) {
      const own = items.filter(item => item.workerId === workerId)
      const answers = await this.#record(workerId, requestsOf(own), how)
      own.forEach((item, index) => results.set(item, answers[index] ?? { kind: 'refused' }))
    }
    return items.map(item => results.get(item) ?? { kind: 'refused' })
  }

  async #record(workerId: string, first: readonly FinishRequest[], how: Group): Promise<FinishResult[]> {
    await this.#persist(first, how, () => reserveIds(this.#engine, first))
    return this.#persist(first, how, repeated => {
      const requests = repeated || how.again ? first.map(request => ({ ...request, repeated: true })) : first
      return finishSteps(this.#engine, workerId, requests)
    })
  }

  /**
   * Rejects with what will never pass. Several reports also do so with what might, if the database, which has tried a few times by then,
   * answers otherwise: one of them may be the reason.
   */
  async #persist<T>(
    requests: readonly FinishRequest[],
    { again, isAlone }: Group,
    work: (repeated: boolean) => Promise<T>,
  ): Promise<T> {
    const { rest = pauseFor, onError, tellAfterMs = 10_000 } = this.#options
    // What still fails when it has been parted from its group has failed for long enough.
    let tellAt = isAlone && again ? 0 : performance.now() + tellAfterMs
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(attempt > 1)
      } catch (error) {
        if (this.#engine.store.isLasting(error)) throw error
        if (!isAlone && (await this.#databaseAnswers())) throw error
        if (performance.now() >= tellAt) {
          tellAt = Number.POSITIVE_INFINITY
          onError?.report(error, requests[0]?.claimed ?? null)
        }
        await rest(jittered(Math.min(50 * 2 ** attempt, longestPauseMs), 0.5))
      }
    }
  }

  /** While it is away, to take a group apart would only make more work for when it is back. */
  async #databaseAnswers(): Promise<boolean> {
    try {
      await this.#engine.store.now()
      return true
    } catch {
      return false
    }
  }
}

function requestsOf(items: readonly Item[]): FinishRequest[] {
  return items.map(item => item.request)
}

/** Named one by one: every step comes through here. */
function requestFor({ claimed, report, progress, emitted, runOn }: Report, ids: IdPool): FinishRequest {
  return { claimed, report, progress, emitted, runOn, ids, repeated: false }
}

/** About how much a report adds to the packet that carries it. */
function bytesOf({ report, progress, emitted }: Report): number {
  const items = report !== null && report.kind === 'items' ? report.items : []
  const output = report !== null && 'output' in report ? (report.output?.length ?? 0) : 0
  const error =
    report !== null && report.kind === 'threw' ? report.error.message.length + (report.error.stack?.length ?? 0) : 0
  const events = emitted.reduce((sum, { payload }) => sum + payload.length, 0)
  const cursor = progress === 'as written' ? null : progress?.cursor
  return items.reduce((sum, item) => sum + item.length, output + error + events + (cursor?.length ?? 0))
}
