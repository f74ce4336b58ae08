/** The workers that the database knows of: whether one of them may claim a row, and since when none does. Pure. */
import type { KnownWorker, StandingRow } from '../store/readiness-facts.ts'

export type Claimable = Pick<StandingRow, 'queue' | 'handler' | 'generation'>

export class Workforce {
  readonly #workers: readonly KnownWorker[]
  readonly #byId: ReadonlyMap<string, KnownWorker>
  /** Thousands of rows have few different needs. */
  readonly #answers = new Map<string, Cover>()

  constructor(workers: readonly KnownWorker[]) {
    this.#workers = workers
    this.#byId = new Map(workers.map(worker => [worker.id, worker]))
  }

  find(id: string): KnownWorker | null {
    return this.#byId.get(id) ?? null
  }

  coverOf(row: Claimable): Cover {
    const key = JSON.stringify([row.queue, row.handler, row.generation])
    const known = this.#answers.get(key)
    if (known) return known
    const able = this.#workers.filter(worker => mayClaim(worker, row))
    const silent = able.filter(worker => !worker.alive).map(worker => worker.leaseUntil)
    const cover = {
      served: able.some(worker => worker.alive),
      lastServedAt: silent.length === 0 ? null : Math.max(...silent),
    }
    this.#answers.set(key, cover)
    return cover
  }
}

export interface Cover {
  /** A live worker may claim it. */
  readonly served: boolean
  /** When the lease of the last worker that could have claimed it lapsed, as far as the database remembers. */
  readonly lastServedAt: number | null
}

function mayClaim({ handlers, serves }: KnownWorker, { queue, handler, generation }: Claimable): boolean {
  if (!handlers.includes(handler)) return false
  return serves === null || (serves.queues.includes(queue) && generation <= (serves.generations[handler] ?? -1))
}
