/**
 * A worker whose looks from the beginning of the line have become slow looks from where it was. What stands before that is found
 * all the same: in time when there is other work, and at once when there is none.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { ClaimFloors } from '../../src/store/sql/claim-floors.ts'
import { SqlStore } from '../../src/store/sql/sql-store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { registerWorker, sampleSource, startSome } from '../support/open-store.ts'
import { planners } from '../support/planners.ts'

forEachDatabase('claims from a floor', database => {
  let store: SqlStore
  let now = 0
  /** So long each look takes, by the clock that the floors go by. */
  let lookMs = 0
  let prioritized = false
  const clock = () => {
    now += lookMs
    return now
  }

  beforeAll(async () => {
    const real = await planners[database.name].open((await database.isolated()).url)
    store = new SqlStore(real, {}, new ClaimFloors(clock))
    await store.migrate()
    await registerWorker(store, 'w1')
  })
  afterAll(() => store.close())

  const claim = async (limit: number, workflowId?: string) => {
    const only = workflowId === undefined ? {} : { workflowId }
    const claimed = await store.claim({ workerId: 'w1', sources: [sampleSource], limit, prioritized, ...only })
    return claimed.map(({ workflow }) => workflow.id)
  }

  /** Looks from the beginning have used up their time, and the floor is behind the first rows. */
  beforeEach(async () => {
    lookMs = 0
    prioritized = false
    while ((await claim(500)).length > 0);
    now += 100_000
    lookMs = 5000
    await startSome(store, 2)
    // A single slow look does not count.
    for (let looks = 0; looks < 2; looks++) await claim(1)
    lookMs = 0
  })

  it('pass by what comes before it, for half a minute at most', async () => {
    const plain = await startSome(store, 3)
    const [urgent = ''] = await startSome(store, 1, { first: { priority: 100 } })
    expect(await claim(1)).toEqual([plain[0]])
    now += 29_999
    expect(await claim(1)).toEqual([plain[1]])
    now += 1
    expect(await claim(1)).toEqual([urgent])
    expect(await claim(5)).toEqual([plain[2]])
  })

  it('pass by no priority where there are some', async () => {
    prioritized = true
    await startSome(store, 3)
    const [urgent = ''] = await startSome(store, 1, { first: { priority: 100 } })
    const [second = ''] = await startSome(store, 1, { first: { priority: 1 } })
    expect(await claim(2)).toEqual([urgent, second])
  })

  it('find what comes before it at once where there is nothing else', async () => {
    const [urgent = ''] = await startSome(store, 1, { first: { priority: 100 } })
    expect(await claim(5)).toEqual([urgent])
    expect(await claim(5)).toEqual([])
  })

  it('do not hold for the claim of one workflow', async () => {
    const [urgent = ''] = await startSome(store, 1, { first: { priority: 100 } })
    const plain = await startSome(store, 2)
    expect(await claim(5, urgent)).toEqual([urgent])
    expect(await claim(5)).toEqual(plain)
  })
})
