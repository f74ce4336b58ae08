/** A stored graph that names a job which nobody has: it says so after a while, and goes on once the job is back. */
import { expect, it } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const known = defineJob('known', async () => 'known')
const lost = defineJob('lost', async () => 'found again')

forEachDatabase('a missing job', database => {
  const under = useGeneva(database, { jobs: [known] })

  it('fails its node with what can be done, and is attempted again once it is back', async () => {
    const both = under.another({ jobs: [known, lost] })
    const graph = both.build(w => {
      w.node('first', { job: known })
      w.node('second', { job: lost })
    })
    const wf = await both.startGraph(graph)
    const worker = await under.geneva.startWorker({ ...quickly, lease: 400, missingJob: 100 })
    const found = await under.geneva.find(wf.id)
    await waitFor(async () => (await found?.refresh())?.state === 'paused')
    await worker.stop()
    const failed = (await found?.history())?.at(-1)
    expect(failed?.error?.className).toBe('MissingJobError')
    const id = Object.entries(graph.nodes).find(([, node]) => node.name === 'second')?.[0]
    const { frozen_at: frozenAt } = await both.exportDag(wf.id)
    for (const part of [
      wf.id,
      '"lost"',
      `second (${id})`,
      frozenAt,
      'bring the job lost back',
      'cancel',
      'importDag',
    ]) {
      expect(failed?.error?.message).toContain(part)
    }
    await both.resume(wf.id)
    await both.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.output('second')).toBe('found again')
  })

  it('is waited for while some live worker has it', async () => {
    const both = under.another({ jobs: [known, lost] })
    const wf = await both.startGraph(
      both.build(w => w.node('only', { job: lost })),
      {},
      { delay: '300ms' },
    )
    const without = await under.geneva.startWorker({ ...quickly, lease: 400, missingJob: 1 })
    const having = await both.startWorker(quickly)
    await wf.waitUntilFinished({ timeout: '10s' })
    expect((await wf.history()).map(row => row.state)).toEqual(['completed'])
    await Promise.all([without.stop(), having.stop()])
  })
})
