/** Joins and waits that end while their workflow is held, or after its graph was repaired: it comes to its end all the same. */
import { beforeEach, expect, it } from 'vitest'
import { defineJob, type FrozenGraph, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

let gates = new Gates()
const ran: string[] = []

/** Neither listens when it is told to stop. */
class Race extends Workflow {
  static {
    this.fork('run', { a: b => b.step('quick'), b: b => b.step('slow') }, { join: 'any' })
  }
  async quick() {
    await gates.stop('quick', new AbortController().signal)
  }
  async slow() {
    await gates.stop('slow', new AbortController().signal)
  }
}

const work = defineJob('work', async (_args, job) => void ran.push(job.node.name))

/** The graph, in which `first` comes after `paid` now, and `last` after `first` too. */
function rewired(dag: FrozenGraph): string {
  // What people write into the file, which nothing has checked yet.
  const { nodes, ...rest } = structuredClone(dag) as any
  const entries = Object.entries<any>(nodes)
  const idOf = (wanted: string) => entries.find(([, { name }]) => name === wanted)?.[0] ?? ''
  nodes[idOf('first')].depends_on = [idOf('paid')]
  nodes[idOf('last')].depends_on.push(idOf('first'))
  return JSON.stringify({ ...rest, nodes })
}

forEachDatabase('a workflow that is held', database => {
  const under = useGeneva(database, { workflows: [Race], jobs: [work], worker: true })

  beforeEach(() => {
    gates = new Gates()
    ran.length = 0
  })

  async function expectFinished(wf: WorkflowHandle<any>): Promise<void> {
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    expect(await wf.currentExecutions()).toEqual([])
    expect(await wf.verifyHistory()).toBeNull()
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  }

  it('while its last join is decided ends when it is resumed and what the join did without has ended', async () => {
    const wf: WorkflowHandle<any> = await under.geneva.start(Race)
    await Promise.all([gates.arrived('quick'), gates.arrived('slow')])
    await wf.pause()
    gates.open('quick')
    await waitFor(async () => (await wf.currentExecutions()).length === 1)
    await wf.resume()
    gates.open('slow')
    await expectFinished(wf)
    const slow = (await wf.history()).find(({ step }) => step === 'slow')
    expect(slow).toMatchObject({ state: 'completed', outcome: 'superseded' })
  })

  it('while its graph is repaired goes on behind a wait as the new graph says, and begins nothing twice', async () => {
    const { geneva } = under
    const graph = geneva.build(w => {
      const paid = w.waitFor('paid', { dependsOn: [] })
      const packed = w.waitFor('packed', { dependsOn: [] })
      w.node('first', { job: work, dependsOn: [] })
      w.node('last', { job: work, dependsOn: [paid, packed] })
    })
    const wf: WorkflowHandle<any> = await geneva.startGraph(graph)
    await waitFor(async () => (await wf.currentExecutions()).filter(({ state }) => state === 'waiting').length === 2)
    await waitFor(async () => (await wf.currentExecutions()).length === 2)
    await wf.pause()
    await geneva.importDag(rewired(await geneva.exportDag(wf.id)), { into: wf.id })
    await wf.resume()
    await wf.signal('paid')
    await wf.signal('packed')
    await expectFinished(wf)
    expect(ran).toEqual(['first', 'last'])
  })
})
