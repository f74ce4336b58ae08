/** What is measured when somebody looks: queues and workers of the whole database, connections of this process. */
import type { Store } from '../../store/store.ts'
import type { GaugeName, GaugeReading, Labels } from './metric-table.ts'

/** How many queues are remembered to be empty. */
const maxKnown = 1000

export class Gauges {
  /** Queues that had something due once: nothing due is a value too. */
  readonly #known = new Map<string, Labels>()

  /** Three small statements; none where there is no store. */
  async read(store: Store | null, running: number): Promise<GaugeReading[]> {
    const own = [reading('geneva.executions.running', {}, running)]
    if (store === null) return own
    const { housekeeping } = store
    const depths = await housekeeping.queueDepths()
    const { alive, lapsed } = await housekeeping.workerCounts()
    const now = depths.length === 0 ? 0 : await store.now()
    const queues = depths.map(({ queue, handler, due, oldestDueAt }) => ({
      labels: { queue, handler },
      due,
      age: Math.max(0, now - oldestDueAt) / 1e6,
    }))
    return [...own, ...this.#withEmpty(queues), ...workers(alive, lapsed), ...poolOf(store)]
  }

  #withEmpty(queues: readonly { labels: Labels; due: number; age: number }[]): GaugeReading[] {
    const now = new Map(queues.map(queue => [JSON.stringify(queue.labels), queue]))
    for (const [key, { labels }] of now) if (this.#known.size < maxKnown) this.#known.set(key, labels)
    const empty = [...this.#known].filter(([key]) => !now.has(key)).map(([, labels]) => ({ labels, due: 0, age: 0 }))
    return [...queues, ...empty].flatMap(({ labels, due, age }) => [
      reading('geneva.queue.due', labels, due),
      reading('geneva.queue.age', labels, age),
    ])
  }
}

function workers(alive: number, lapsed: number): GaugeReading[] {
  return [reading('geneva.workers', { state: 'alive' }, alive), reading('geneva.workers', { state: 'lapsed' }, lapsed)]
}

function poolOf({ housekeeping }: Store): GaugeReading[] {
  const pool = housekeeping.poolUse()
  if (pool === null) return []
  return [
    reading('geneva.pool.used', {}, pool.used),
    reading('geneva.pool.waiting', {}, pool.waiting),
    reading('geneva.pool.limit', {}, pool.limit),
  ]
}

function reading(name: GaugeName, labels: Labels, value: number): GaugeReading {
  return { name, labels, value }
}
