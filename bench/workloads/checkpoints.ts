/**
 * What a checkpoint costs: items per second of a resumable step whose items do nothing, for each way of writing down the
 * progress, and the memory that a million items leave behind. The last checkpoint is durable before the clock stops.
 */
import { Geneva, type Iteration, Workflow } from '../../src/index.ts'
import type { BenchDatabase } from '../databases.ts'
import type { Case, Measurement, Size, Workload } from '../workload.ts'

interface Lap {
  readonly seconds: number
  /** Against the start, with garbage collected: in the end, and at most. */
  readonly heapGrowth: number
  readonly highestHeapGrowth: number
  readonly rssGrowth: number
}

/** With `look` the memory is looked at after so many items. */
interface Task {
  readonly count: number
  readonly look?: number
}

abstract class Counting extends Workflow<null, Task> {
  async count(iter: Iteration<number>): Promise<Lap> {
    const { count, look } = this.input
    const before = memory()
    let highest = 0
    const startedAt = performance.now()
    for await (const number of iter.over(numbers(count))) {
      if (look !== undefined && number % look === 0) highest = Math.max(highest, memory().heapUsed - before.heapUsed)
    }
    await iter.checkpoint()
    const seconds = (performance.now() - startedAt) / 1000
    const after = memory()
    const heapGrowth = after.heapUsed - before.heapUsed
    return { seconds, heapGrowth, highestHeapGrowth: highest, rssGrowth: after.rss - before.rss }
  }
}

class Each extends Counting {
  static {
    this.resumableStep('count', { checkpoint: 'each' })
  }
}

class Coalesced extends Counting {
  static {
    this.resumableStep('count')
  }
}

class EveryHundred extends Counting {
  static {
    this.resumableStep('count', { checkpoint: { items: 100 } })
  }
}

class Transactional extends Workflow<null, Task> {
  static {
    this.resumableStep('count')
  }
  async count(iter: Iteration<number>): Promise<Lap> {
    const startedAt = performance.now()
    for await (const _ of iter.over(numbers(this.input.count))) {
      await iter.transaction(transaction => transaction.query('select 1'))
    }
    const seconds = (performance.now() - startedAt) / 1000
    return { seconds, heapGrowth: 0, highestHeapGrowth: 0, rssGrowth: 0 }
  }
}

const workflows = [Each, Coalesced, EveryHundred, Transactional] as const

function* numbers(count: number): Generator<number> {
  for (let number = 0; number < count; number++) yield number
}

/** What is still needed; garbage is collected first, for which Node needs `--expose-gc`. */
function memory(): NodeJS.MemoryUsage {
  globalThis.gc?.()
  return process.memoryUsage()
}

async function lap(database: BenchDatabase, workflowClass: (typeof workflows)[number], input: Task): Promise<Lap> {
  const geneva = new Geneva({ database: database.options, workflows })
  try {
    await geneva.startWorker()
    const workflow = await geneva.start(workflowClass, { input })
    return (await workflow.waitUntilFinished({ timeout: '10 min' })) as Lap
  } finally {
    await geneva.close()
  }
}

/** `count` items at full size: enough for some seconds. */
function rate(name: string, workflowClass: Parameters<typeof lap>[1], count: number): Case {
  return {
    name,
    async measure(database: BenchDatabase, size: Size): Promise<Measurement[]> {
      const items = size === 'full' ? count : Math.ceil(count / 100)
      const { seconds } = await lap(database, workflowClass, { count: items })
      return [{ value: items / seconds, unit: 'items/s' }]
    },
  }
}

const megabyte = 2 ** 20

const growth: Case = {
  name: 'a million items',
  async measure(database, size) {
    const count = size === 'full' ? 1_000_000 : 10_000
    const lapped = await lap(database, Coalesced, { count, look: count / 10 })
    const { heapGrowth, highestHeapGrowth, rssGrowth } = lapped
    return [
      { what: 'heap growth', value: heapGrowth / megabyte, unit: 'MB' },
      { what: 'highest heap growth', value: highestHeapGrowth / megabyte, unit: 'MB' },
      { what: 'process growth', value: rssGrowth / megabyte, unit: 'MB' },
    ]
  },
}

export const workload: Workload = {
  about: 'Items per second of a resumable step, by how it writes checkpoints, and memory over a million items.',
  cases: [
    rate('each item its own', Each, 3_000),
    rate('each item in a transaction', Transactional, 2_000),
    rate('every 100 items', EveryHundred, 200_000),
    rate('coalesced (default)', Coalesced, 500_000),
    growth,
  ],
}
