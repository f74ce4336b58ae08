/**
 * Code that no live worker has, though work is due for it. Jobs that stored graphs name are given up after a while: a worker
 * claims their nodes all the same, to let them fail with a reason. Steps of a class wait on, and their workflows say so:
 * otherwise nobody would learn why they stand still.
 */
import { jobOf } from '../engine/courses.ts'
import { timerHandler } from '../engine/plan.ts'
import type { WorkLine } from '../store/housekeeping-store.ts'
import type { ClaimSource, Store } from '../store/store.ts'
import { UnservedSteps } from './unserved-steps.ts'

export class MissingCode {
  readonly #store: Store
  readonly #patienceMs: number
  readonly #steps: UnservedSteps
  /** When each was first found without a worker. */
  #since: ReadonlyMap<string, number> = new Map()

  constructor(store: Store, patienceMs: number) {
    this.#store = store
    this.#patienceMs = patienceMs
    this.#steps = new UnservedSteps(store.housekeeping)
  }

  /** Has steps say that nobody has their code; answers where the nodes stand whose job has been waited for long enough. */
  async look(now: number): Promise<ClaimSource[]> {
    const unserved = await this.#store.findUnserved('')
    this.#since = new Map(unserved.map(({ handler }) => [handler, this.#since.get(handler) ?? now]))
    const late = unserved.filter(({ handler }) => now - (this.#since.get(handler) ?? now) >= this.#patienceMs)
    await this.#steps.tell(late.filter(isOfClass))
    return late
      .filter(({ handler }) => jobOf(handler) !== null)
      .map(source => ({ ...source, generation: Number.MAX_SAFE_INTEGER }))
  }
}

function isOfClass({ handler }: WorkLine): boolean {
  return handler !== timerHandler && jobOf(handler) === null
}
