/** A step that goes on though its workflow is over, and reports when there is nothing left to report on. */
import { expect, it } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

forEachDatabase('a late report', database => {
  let over = gate()
  let begun = 0
  const deaf = defineJob('deaf', async () => {
    begun++
    await over.passed
  })
  const under = useGeneva(database, { jobs: [deaf], worker: true })

  it.each([
    ['whose workflow was aborted', false],
    ['whose workflow was pruned, and its graph with it', true],
  ])('of a node %s is refused, and nobody is told of an error', async (_, prunes) => {
    over = gate()
    begun = 0
    const workflow = await under.geneva.startGraph(under.geneva.build(w => void w.node('a', { job: deaf })))
    await waitFor(() => begun === 1)
    await workflow.abort()
    if (prunes) {
      await waitFor(async () => (await under.geneva.prune({ olderThan: 0, states: 'aborted' })).workflows > 0)
      expect(await under.geneva.find(workflow.id)).toBeNull()
    }
    over.open()
    // The place is free again.
    const next = await under.geneva.startGraph(under.geneva.build(w => void w.node('a', { job: deaf })))
    await next.waitUntilFinished()
    await waitFor(() => begun === 2)
    expect(under.errors).toEqual([])
  })
})
