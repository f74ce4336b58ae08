/**
 * What happened over the last hour, in stretches of half a minute, kept in this process while somebody looks. It is read
 * from the record of events, each event once, and no more than the newest hundred thousand at a time: charts cost the same
 * however much history there is, and nothing while nobody looks. What commits late, below what was read, is left out.
 */
import { toDate } from '../../primitives/to-date.ts'
import type { Store } from '../../store/store.ts'

export interface SeriesPoint {
  readonly at: Date
  readonly started: number
  readonly finished: number
  /** Workflows that have ended as failed, and attempts at steps, or at undoing them, that have failed. */
  readonly failed: number
  readonly stepsPerSecond: number
  /** How long steps took, in milliseconds, from a sample; `null` where there is none. */
  readonly p50: number | null
  readonly p95: number | null
}

const stretchMicros = 30_000_000
const kept = 120
/** How many numbers of events one look goes through. */
const mostEvents = 100_000
const mostSamples = 2000

const counted: Readonly<Record<string, 'started' | 'finished' | 'failed' | 'steps'>> = {
  'workflow.started': 'started',
  'workflow.finished': 'finished',
  'workflow.failed': 'failed',
  'step.failed': 'failed',
  'compensation.failed': 'failed',
  'step.completed': 'steps',
}

interface Stretch {
  started: number
  finished: number
  failed: number
  steps: number
  took: number[]
}

export class Series {
  readonly #stretches = new Map<number, Stretch>()
  #position: number | null = null

  /** Oldest first; stretches of which nothing is known are left out at the beginning, and empty in between. */
  async look(store: Store): Promise<SeriesPoint[]> {
    const [upTo, now] = [await store.lastEvent(), await store.now()]
    const after = Math.max(this.#position ?? 0, upTo - mostEvents)
    if (upTo > after) await this.#read(store, after, upTo)
    this.#position = upTo
    const current = now - (now % stretchMicros)
    for (const at of this.#stretches.keys()) if (at <= current - kept * stretchMicros) this.#stretches.delete(at)
    return this.#points(now, current)
  }

  async #read(store: Store, after: number, upTo: number): Promise<void> {
    const types = Object.keys(counted)
    const tallies = await store.views.tallyEvents({
      after,
      upTo,
      types,
      // A step that could not be undone has not failed: the attempt at undoing it has.
      exceptFrom: 'compensating',
      everyMicros: stretchMicros,
    })
    for (const { at, type, count } of tallies) {
      const what = counted[type]
      if (what !== undefined) this.#at(at)[what] += count
    }
    for (const { at, took } of await store.views.sampleTook({ after, upTo }, mostSamples)) {
      const { took: sample } = this.#at(at - (at % stretchMicros))
      if (sample.length < mostSamples) sample.push(took / 1000)
    }
  }

  #at(at: number): Stretch {
    const known = this.#stretches.get(at)
    if (known) return known
    const fresh = { started: 0, finished: 0, failed: 0, steps: 0, took: [] }
    this.#stretches.set(at, fresh)
    return fresh
  }

  #points(now: number, current: number): SeriesPoint[] {
    const first = Math.min(current, ...this.#stretches.keys())
    const points: SeriesPoint[] = []
    for (let at = first; at <= current; at += stretchMicros) {
      const { started, finished, failed, steps, took } = this.#stretches.get(at) ?? emptyStretch
      // The last one is not over yet.
      const seconds = Math.max(1, Math.min(stretchMicros, now - at) / 1_000_000)
      const sorted = took.toSorted((a, b) => a - b)
      points.push({
        at: toDate(at),
        started,
        finished,
        failed,
        stepsPerSecond: Math.round((steps / seconds) * 10) / 10,
        p50: percentile(sorted, 50),
        p95: percentile(sorted, 95),
      })
    }
    return points
  }
}

const emptyStretch: Stretch = { started: 0, finished: 0, failed: 0, steps: 0, took: [] }

/** The smallest value that so many percent do not exceed. */
function percentile(sorted: readonly number[], percent: number): number | null {
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? null
}
