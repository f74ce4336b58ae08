/** However much is due, and however slow the database: a worker holds what it can run, and every queue gets its turn. */
import { beforeEach, expect, it } from 'vitest'
import { type WorkerOptions, Workflow } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase, forEachDatabaseSideBySide } from '../support/databases.ts'
import { type GenevaUnderTest, quickly, useGeneva } from '../support/use-geneva.ts'
import { type Gate, gate, waitFor } from '../support/wait-for.ts'

const backlog = 600
const concurrency = 10
/** For timers and nodes without code, whatever the concurrency. */
const mostBeyond = 100

let ran: string[] = []
let look: () => Promise<void> = async () => {}

class Bulk extends Workflow {
  static {
    this.jobOptions({ queue: 'bulk' })
    this.step('first')
    this.step('second')
  }
  async first() {
    ran.push('bulk')
    if (ran.length % 25 === 0) await look()
  }
  async second() {}
}

class Quick extends Workflow {
  static {
    this.jobOptions({ queue: 'quick' })
    this.step('go')
  }
  async go() {
    ran.push('quick')
  }
}

class Sleeper extends Workflow {
  static {
    this.jobOptions({ queue: 'sleepers' })
    this.step('wake', { wait: '30 days' })
  }
  async wake() {}
}

function times<T>(count: number, each: T): T[] {
  return Array.from({ length: count }, () => each)
}

const count = (what: string) => ran.filter(each => each === what).length

/** Puts methods in front of those of the store, for as long as the work takes. */
async function infrontOf(store: Store, own: Partial<Store>, work: () => Promise<void>): Promise<void> {
  Object.assign(store, own)
  try {
    await work()
  } finally {
    for (const name of Object.keys(own)) delete (store as unknown as Record<string, unknown>)[name]
  }
}

async function withWorker(under: GenevaUnderTest, options: WorkerOptions, work: () => Promise<unknown>): Promise<void> {
  const worker = await under.geneva.startWorker({ ...quickly, concurrency, ...options })
  try {
    await work()
  } finally {
    await worker.stop()
  }
}

beforeEach(() => {
  ran = []
  look = async () => {}
})

forEachDatabase('a worker with a backlog', database => {
  const under = useGeneva(database, { workflows: [Bulk, Quick, Sleeper] })

  it('holds no more than it can run at once', async () => {
    await under.geneva.startMany(Bulk, times(backlog, {}))
    const store = await under.geneva.openedStore()
    const held: number[] = []
    const workers = new Set<string>()
    look = async () => {
      for (const id of workers) held.push((await store.heldBy(id)).length)
    }
    const { claim } = store
    const watched: Partial<Store> = {
      claim: request => {
        workers.add(request.workerId)
        return claim.call(store, request)
      },
    }
    await infrontOf(store, watched, () =>
      withWorker(under, {}, () => waitFor(() => held.length > 10 && ran.length > 300, 25_000)),
    )
    expect(Math.max(...held)).toBeLessThanOrEqual(concurrency)
    expect(Math.max(...held)).toBeGreaterThan(1)
  })

  const places = 4
  /** Before both are known to wait, and what runs on meanwhile. */
  const atFirst = 4 * places
  /** How many of the large queue may run before each of the small one, at worst. */
  const ways: [how: string, worst: number, options: WorkerOptions][] = [
    // In each look another of the three queues has a third of the room first, and the older work all that is left. At worst there are
    // four places twice and then three, of which the small queue gets one, while another one comes free.
    ['without limits', 4 + 4 + 3, { concurrency: places }],
    ['with a limit each', 1, { concurrency: places, queues: { bulk: places, quick: places } }],
  ]
  for (const [how, worst, options] of ways) {
    it(`lets a small queue progress beside a large one, ${how}`, async () => {
      await under.geneva.startMany(Bulk, times(backlog, {}))
      await under.geneva.startMany(Quick, times(20, {}))
      await withWorker(under, options, () => waitFor(() => count('quick') === 20, 25_000))
      const before = ran.slice(0, ran.lastIndexOf('quick')).filter(each => each === 'bulk').length
      expect(before).toBeGreaterThan(0)
      expect(before).toBeLessThanOrEqual(20 * worst + atFirst)
    })
  }
})

forEachDatabaseSideBySide('a worker on a slow database', database => {
  let ran = 0
  // Of its own, as the databases take their turns at the same time.
  class Load extends Workflow {
    static {
      this.jobOptions({ queue: 'bulk' })
      this.step('first')
      this.step('second')
    }
    async first() {
      ran++
    }
    async second() {}
  }
  const under = useGeneva(database, { workflows: [Load, Sleeper] })

  it('claims nothing more while the database takes no results, and neither do timers pile up', async () => {
    await under.geneva.startMany(Load, times(100, {}))
    await under.geneva.startMany(Sleeper, times(mostBeyond + 2 * concurrency + 30, {}), { deadline: '1 day' })
    const store = await under.geneva.openedStore()
    const { claim, change, changeAssumed, findAbandoned } = store
    const open: Gate = gate()
    const seen = { claimed: 0, upkeep: 0, changes: 0 }
    const whenOpen = async <T>(write: () => Promise<T>): Promise<T> => {
      seen.changes++
      await open.passed
      return write().finally(() => seen.changes--)
    }
    const slow: Partial<Store> = {
      claim: async request => {
        const claimed = await claim.call(store, request)
        seen.claimed += claimed.length
        return claimed
      },
      change: (...given) => whenOpen(() => change.apply(store, given)),
      changeAssumed: (...given) => whenOpen(() => changeAssumed.apply(store, given)),
      findAbandoned: (...given) => {
        seen.upkeep++
        return findAbandoned.apply(store, given)
      },
    }
    /** It goes round and looks after everything else meanwhile, and is told of work. */
    const goesRound = async () => {
      const before = seen.upkeep
      await under.geneva.start(Load)
      await waitFor(() => seen.upkeep > before + 2, 25_000)
    }
    const whileSlow = async () => {
      await waitFor(() => ran >= concurrency, 25_000)
      await goesRound()
      expect([seen.claimed, ran, seen.changes]).toEqual([concurrency, concurrency, 1])
      // Now as many timers fall due.
      await under.setClock(2 * 86_400_000)
      await waitFor(() => seen.claimed >= concurrency + mostBeyond, 25_000)
      await goesRound()
      expect([seen.claimed, ran]).toEqual([concurrency + mostBeyond, concurrency])
      open.open()
      await waitFor(() => ran >= 100, 25_000)
    }
    await infrontOf(store, slow, () => withWorker(under, { lease: 1000 }, whileSlow))
  })
})
