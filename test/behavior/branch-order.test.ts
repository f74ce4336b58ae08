/** Branches that are due at the same instant and have to wait for a place. */
import { expect, it } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const ran: number[] = []
const visit = defineJob('visit', async ({ place }: { place: number }) => {
  ran.push(place)
})

forEachDatabase('branches of a built graph', database => {
  const under = useGeneva(database, { jobs: [visit] })

  it('are begun in the order of the graph, however few places there are', async () => {
    ran.length = 0
    const concurrency = 4
    const { geneva } = under
    const places = Array.from({ length: 60 }, (_, index) => index)
    const graph = geneva.build(w => {
      w.node('first', { job: visit, args: { place: -1 } })
      w.fanOut(places, { name: place => `visit ${place}`, job: visit, args: place => ({ place }) })
    })
    const workflow = await geneva.startGraph(graph)
    const worker = await geneva.startWorker({ concurrency })
    await workflow.waitUntilFinished({ timeout: '20s' })
    await worker.stop()
    expect(ran.toSorted((one, other) => one - other)).toEqual([-1, ...places])
    // Those that run at the same time may overtake each other.
    expect(ran.filter((place, at) => Math.abs(at - 1 - place) >= concurrency)).toEqual([])
  })
})
