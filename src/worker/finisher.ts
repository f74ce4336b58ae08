/**
 * Records what steps came to, in groups, and does not give up while the database is only busy or away. A report that fails for a
 * reason of its own stands alone soon, and is told of when it goes on.
 */
import type { Engine } from '../engine/engine.ts'
import type { FinishRequest, FinishResult } from '../engine/finish-request.ts'
import { finishSteps, reserveIds } from '../engine/finish-steps.ts'
import { IdPool } from '../engine/id-pool.ts'
import { type Attempt, growingRest, NotYet } from '../primitives/batch-group.ts'
import { type Answer, Batcher } from '../primitives/batcher.ts'
import { jittered } from '../primitives/pause-for.ts'
import type { ErrorListener } from './error-listener.ts'

export interface FinisherOptions {
  /** How long it rests at most before it tries again. */
  readonly longestRestMs?: number
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
  isToldOf: boolean
}

interface Recording {
  readonly again: boolean
  /** Is told of what is durable before all of the group is. */
  readonly answer: Answer<Item, FinishResult>
}

/** How many workflows a group is about at most, and how many steps of theirs: all of one lock, look and are decided on together. */
const maxGroup = 250
const maxItems = 1000
/** Then up to four groups take turns: what one has recorded goes on while the database is busy with another, or waits for its disk. */
const crowd = 100
const mostWrites = 4
/** Of those that wait for others so many are not counted. They leave connections to heartbeats, claims and starts. */
const mostLong = 2
/** Well below what servers accept in one packet. */
const maxBytes = 4 * 1024 * 1024
const longestRestMs = 5000
/** So often all of a group rests before it is taken apart for what a moment may mend: about two seconds. */
const restsTogether = 4
/** A write that fails sooner has met a conflict, which is over. It is longer than a server takes to find a deadlock. */
const heldUpMs = 1400
const restAfterConflictMs = 10
/** Who waits for a lock has waited for it in the database already, and does not know when it is free. */
const longestRestForLocksMs = 1000

export class Finisher {
  readonly #engine: Engine
  readonly #batcher: Batcher<Item, FinishResult>
  readonly #options: FinisherOptions

  constructor(engine: Engine, options: FinisherOptions = {}) {
    this.#engine = engine
    this.#options = options
    const { limit: connections = Infinity } = engine.store.housekeeping.poolUse() ?? {}
    this.#batcher = new Batcher<Item, FinishResult>({
      write: (...group) => this.#write(...group),
      maxGroup,
      maxItems,
      crowd,
      mostWrites: Math.min(mostWrites, Math.max(1, Math.floor(connections / 2) - 1)),
      mostLong: Math.min(mostLong, Math.max(1, Math.floor(connections / 4))),
      kinOf: item => item.request.claimed.workflow.id,
      keyOf: item => item.request.claimed.execution.id,
      sizeOf: ({ request }) => bytesOf(request),
      maxBytes,
    })
  }

  /** Resolves once the report is durable, or refused. Rejects only for a report that the database will never take. */
  finish(workerId: string, report: Report): Promise<FinishResult> {
    return this.#batcher.add({ workerId, request: requestFor(report, new IdPool(this.#engine.ids)), isToldOf: false })
  }

  async #write(items: readonly Item[], attempt: Attempt, answer: Answer<Item, FinishResult>): Promise<FinishResult[]> {
    let left = items
    const answerSome = (recorded: ReadonlyMap<Item, FinishResult>) => {
      left = left.filter(item => !recorded.has(item))
      answer(recorded)
    }
    try {
      return await this.#record(items, { again: attempt.again, answer: answerSome })
    } catch (error) {
      throw await this.#verdictOn(error, left, attempt)
    }
  }

  /** Two ids meet in a group only when the worker has just begun a new life. */
  async #record(items: readonly Item[], recording: Recording): Promise<FinishResult[]> {
    const [first] = items
    if (first !== undefined && items.every(item => item.workerId === first.workerId)) {
      return this.#recordOf(first.workerId, items, recording)
    }
    const results = new Map<Item, FinishResult>()
    for (const workerId of new Set(items.map(item => item.workerId))) {
      const own = items.filter(item => item.workerId === workerId)
      const answers = await this.#recordOf(workerId, own, recording)
      own.forEach((item, index) => results.set(item, answers[index] ?? { kind: 'refused' }))
      recording.answer(results)
    }
    return items.map(item => results.get(item) ?? { kind: 'refused' })
  }

  async #recordOf(workerId: string, items: readonly Item[], { again, answer }: Recording): Promise<FinishResult[]> {
    const requests = items.map(({ request }) => (again ? { ...request, repeated: true } : request))
    await reserveIds(this.#engine, requests)
    return finishSteps(this.#engine, workerId, requests, recorded => {
      const results = new Map<Item, FinishResult>()
      items.forEach((item, index) => {
        const result = recorded.get(requests[index] as FinishRequest)
        if (result !== undefined) results.set(item, result)
      })
      answer(results)
    })
  }

  /**
   * What will never pass is for whoever reports, once it stands alone. What might is tried for as long as it takes: several reports in parts
   * if the database, which has been tried a few times by then, answers otherwise, because one of them may be the reason. A lock holds
   * up all that is about its workflow, and where there is one writer all there is, so that is not taken apart.
   */
  async #verdictOn(error: unknown, items: readonly Item[], attempt: Attempt): Promise<unknown> {
    const { store } = this.#engine
    if (store.isLasting(error)) return error
    const isHeldUp = store.isTransient(error)
    const isAlone = isHeldUp ? attempt.kins.length === 1 || store.hasOneWriter : items.length === 1
    const isConflict = isHeldUp && attempt.rests === 0 && performance.now() - attempt.since < heldUpMs
    if (isConflict) return new NotYet(error, { restMs: jittered(restAfterConflictMs, 0.5), ofKin: true, isOver: true })
    const isParted = !isAlone && (isHeldUp || attempt.rests >= restsTogether)
    if (isParted && (await this.#databaseAnswers())) return error
    // What still fails when it has been parted from its group has failed for long enough.
    this.#tell(error, items, { atOnce: items.length === 1 && attempt.isPart && !isHeldUp, attempt })
    const { longestRestMs: most = longestRestMs } = this.#options
    const longest = Math.min(most, isHeldUp ? longestRestForLocksMs : longestRestMs)
    return new NotYet(error, { restMs: growingRest(attempt, longest), ofKin: isHeldUp })
  }

  #tell(error: unknown, [first]: readonly Item[], { atOnce, attempt }: { atOnce: boolean; attempt: Attempt }): void {
    const { onError, tellAfterMs = 10_000 } = this.#options
    if (first === undefined || first.isToldOf) return
    if (!atOnce && performance.now() < attempt.firstAt + tellAfterMs) return
    first.isToldOf = true
    onError?.report(error, first.request.claimed)
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
