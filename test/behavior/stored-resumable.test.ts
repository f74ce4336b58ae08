/** Resumable jobs: nodes of graphs without a class that stop between any two items and go on exactly there. */
import { beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import { defineJob, type GraphBuilder, type Iteration, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { pauseFor } from '../../src/primitives/pause-for.ts'
import { testGeneva } from '../../src/testing.ts'
import { forEachDatabase } from '../support/databases.ts'
import { openSameStore } from '../support/open-store.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

/** One list per run. */
const runs: number[][] = []
const state = { failAt: 0, stopAt: 0, itemMs: 0 }
let reached = gate()
let held = gate()

async function goThrough(items: readonly number[], iter: Iteration<number>): Promise<number[]> {
  const run: number[] = []
  runs.push(run)
  for await (const item of iter.over(items)) {
    if (item === state.failAt) {
      state.failAt = 0
      throw new Error('the disk is full')
    }
    if (item === state.stopAt) {
      state.stopAt = 0
      reached.open()
      await held.passed
    }
    run.push(item)
    if (state.itemMs > 0) await pauseFor(state.itemMs)
  }
  return run
}

const Copying = z.object({ items: z.array(z.number()) })
const copy = defineJob(
  'copy',
  { resumable: true, args: Copying, checkpoint: 'each', retry: { attempts: 2, backoff: 'fixed', delay: 0 } },
  async ({ items }, job, iter: Iteration<number>) => {
    iter.progress({ total: items.length })
    await goThrough(items, iter)
    expect(iter.name).toBe(job.node.name)
    return { node: job.node.name, copied: iter.completedIterations, resumed: iter.resumed }
  },
)
const byTwos = defineJob('byTwos', { resumable: true, yieldEvery: 2 }, async (_args, _job, iter: Iteration<number>) =>
  goThrough([1, 2, 3, 4, 5], iter),
)
const again = defineJob('again', { resumable: true }, async (_args, job, iter: Iteration<number>) => {
  await goThrough([1, 2], iter)
  if (job.execution.attempt === 1) job.reattempt({ rewind: true })
})
const list = defineJob('list', async () => [1, 2, 3, 4])

class Plain extends Workflow {
  static {
    this.step('work')
  }
  work() {}
}

forEachDatabase('a resumable job', database => {
  const jobs = [copy, byTwos, again, list]
  const under = useGeneva(database, { workflows: [Plain], jobs })
  const begin = async (describe: (w: GraphBuilder) => unknown, input: unknown = {}): Promise<WorkflowHandle<any>> => {
    const { geneva } = under
    return geneva.startGraph(
      geneva.build(w => void describe(w)),
      { input },
    )
  }
  const copyAll = (w: GraphBuilder) => {
    const found = w.node('list', { job: list })
    w.node('copy', { job: copy, args: { items: found.output } })
  }

  beforeEach(() => {
    runs.length = 0
    Object.assign(state, { failAt: 0, stopAt: 0, itemMs: 0 })
    reached = gate()
    held = gate()
  })

  it('goes through its items with its arguments, and shows how far it has come', async () => {
    const wf = await begin(copyAll)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.output('copy')).toEqual({ node: 'copy', copied: 4, resumed: false })
    expect((await wf.history()).at(-1)?.progress).toMatchObject({ completed: 4, total: 4, cursor: 4 })
    const nodes = Object.values((await under.geneva.exportDag(wf.id)).nodes)
    expect(nodes.map(({ kind, job }) => [kind, job])).toEqual([
      [undefined, 'list'],
      ['resumable', 'copy'],
    ])
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('gives way after so many items, and goes on in the same attempt', async () => {
    const wf = await begin(w => w.node('n', { job: byTwos }))
    await under.runDue()
    expect(runs).toEqual([[1, 2], [3, 4], [5]])
    expect((await wf.history()).map(row => [row.attempt, row.outcome])).toEqual([[1, 'success']])
    expect(await wf.output('n')).toEqual([5])
  })

  it('goes on at its cursor after a failure', async () => {
    state.failAt = 3
    const wf = await begin(copyAll)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(runs).toEqual([
      [1, 2],
      [3, 4],
    ])
    expect(await wf.output('copy')).toMatchObject({ copied: 4, resumed: true })
  })

  it('is held at its cursor while the workflow is paused', async () => {
    Object.assign(state, { stopAt: 2, itemMs: 10 })
    const items = Array.from({ length: 100 }, (_, index) => index + 1)
    const wf = await begin(w => w.node('copy', { job: copy, args: { items } }))
    const running = under.runDue()
    await reached.passed
    await wf.pause()
    held.open()
    await running
    const [row] = await wf.currentExecutions()
    // It hears of it with a checkpoint, at this item or one of the next.
    const done = runs[0]?.length ?? 0
    expect(done).toBeLessThan(items.length)
    expect(row).toMatchObject({ state: 'paused', progress: { cursor: done, completed: done } })
    state.itemMs = 0
    await wf.resume()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(runs.map(run => run[0])).toEqual([1, done + 1])
    expect(runs.flat()).toEqual(items)
  })

  it('goes on at its cursor in another process when its worker is lost', async () => {
    state.stopAt = 3
    const doomed = under.another()
    const worker = await doomed.startWorker({ ...quickly, heartbeat: '5s' })
    const wf = await begin(copyAll)
    await reached.passed
    const store = await openSameStore(under.url)
    const [row] = await store.activeExecutions(wf.id)
    await store.retireWorker(row?.owner ?? '')
    await waitFor(async () => {
      await under.runDue()
      return (await wf.refresh()).state === 'finished'
    })
    expect(runs).toEqual([
      [1, 2],
      [3, 4],
    ])
    held.open()
    await worker.stop()
    await store.close()
    expect((await wf.history()).slice(1).map(each => [each.attempt, each.outcome])).toEqual([
      [1, 'recovered'],
      [2, 'success'],
    ])
  })

  it('begins anew where it asks for it', async () => {
    const wf = await begin(w => w.node('n', { job: again }))
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(runs).toEqual([
      [1, 2],
      [1, 2],
    ])
  })

  it('is skipped by its expression, or goes through all of its runs', async () => {
    const skipped = await begin(w => w.node('n', { job: byTwos, if: 'input.go' }), { go: false })
    const wf = await begin(w => w.node('n', { job: byTwos, if: 'input.go', timeout: '1 minute' }), { go: true })
    await under.runDue()
    expect((await skipped.nodesWithState())[0]?.state).toBe('skipped')
    expect((await wf.refresh()).state).toBe('finished')
    expect(runs).toEqual([[1, 2], [3, 4], [5]])
  })

  it('keeps its kind through an export and an import, and runs in a copy', async () => {
    const { geneva } = under
    const wf = await begin(copyAll)
    const exported = await geneva.exportDag(wf.id)
    const imported = await geneva.importDag(JSON.stringify(exported))
    expect(imported).toEqual(exported)
    const copied = await geneva.startGraph(imported)
    await under.runDue()
    expect(await copied.output('copy')).toMatchObject({ copied: 4 })
  })

  it('can be run item by item by the testing kit', async () => {
    await using kit = await testGeneva({ workflows: [Plain], jobs })
    const wf = await kit.geneva.startGraph(
      kit.geneva.build(w => void w.node('n', { job: copy, args: { items: [7, 8, 9] } })),
    )
    await kit.runIterations(wf, 2)
    await kit.assertCursor(wf, 2)
    await kit.speedrun(wf)
    expect(runs).toEqual([[7, 8], [9]])
  })
})
