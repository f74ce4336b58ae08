/** A wide workflow that workers are busy with: what one of them has left when it died is retaken long before the others are through. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { forEachServerAtOnce } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const width = 10_000

forEachServerAtOnce('a fan-out that workers are busy with', database => {
  let done = 0
  const tiny = defineJob('tiny', async () => {
    await pause(20)
    done++
  })
  const under = useGeneva(database, { jobs: [tiny] })

  it('does not keep what a dead worker has of it until it is quiet', { timeout: 60_000 }, async () => {
    const store = await under.geneva.openedStore()
    const items = Array.from({ length: width }, (_, n) => n)
    const graph = under.geneva.build(flow => {
      flow.fanOut(items, { name: n => `w_${n}`, job: tiny, dependsOn: null })
    })
    await under.geneva.startGraph(graph)
    await store.registerWorker({ id: 'dead', host: 'test', pid: 1, leaseMs: 1000, handlers: ['job:tiny'] })
    const sources = [{ queue: 'default', handler: 'job:tiny', generation: 1 }]
    expect(await store.claim({ workerId: 'dead', sources, limit: 50 })).toHaveLength(50)
    const options = { poll: 5, grace: 0, heartbeatThread: false, lease: 10_000, concurrency: 50 }
    const workers = [under.geneva, under.another(), under.another()]
    await Promise.all(workers.map(each => each.startWorker(options)))
    await waitFor(async () => (await store.heldBy('dead')).length === 0, 40_000)
    expect(done).toBeLessThan(width * 0.95)
    expect(under.errors).toEqual([])
  })
})
