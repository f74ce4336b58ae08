/** Graphs that are repaired while their workflow waits in the dead letter queue: it goes on by the new graph from there. */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, defineJob, type FrozenGraph, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, gate, waitFor } from '../support/wait-for.ts'

const ran: string[] = []
let failing = true

const gates = {
  begun: gate(),
  held: null as ReturnType<typeof gate<void>> | null,
  hold() {
    this.begun = gate()
    this.held = gate()
  },
}

const work = defineJob('work', async (_args, job) => void ran.push(job.node.name))
const broken = defineJob('broken', { onException: 'dlq' }, async (_args, job) => {
  ran.push(`${job.node.name} broken`)
  gates.begun.open()
  await gates.held?.passed
  throw new Error('the printer is gone')
})

class Order extends Workflow {
  static {
    this.named('Repaired')
    this.step('charge')
    this.step('print', { onException: 'dlq' })
    this.step('ship')
  }
  async charge() {}
  async print() {
    ran.push('print')
    if (failing) throw new Error('out of paper')
  }
  async ship() {
    ran.push('ship')
  }
}

class Shorter extends Workflow {
  static {
    this.named('Repaired')
    this.step('charge')
    this.step('ship')
  }
  async charge() {}
  async ship() {
    ran.push('ship')
  }
}

let charging = new Gates()

class Patient extends Workflow {
  static {
    this.named('Patient')
    this.defaults({ stopGrace: '10 minutes' })
    this.step('charge', { compensate: 'refund' })
  }
  async charge() {
    await charging.stop('charge', new AbortController().signal)
  }
  async refund(_: Compensation) {
    ran.push('refund')
  }
}

type Editable = { nodes: Record<string, { name: string; job?: string; depends_on?: string[] }> }

/** The graph, with the job of one node replaced, and a node that is due as soon as it is there. */
function repaired(dag: FrozenGraph): Editable {
  const edited = structuredClone(dag) as unknown as Editable
  for (const node of Object.values(edited.nodes)) if (node.job === 'broken') node.job = 'work'
  edited.nodes.n_00000000000000aa = { name: 'audit', job: 'work', depends_on: [] }
  return edited
}

forEachDatabase('a graph that is repaired in the dead letter queue', database => {
  const under = useGeneva(database, { workflows: [Order], jobs: [work, broken] })

  beforeEach(() => {
    ran.length = 0
    failing = true
    gates.held = null
  })

  async function stuck(): Promise<{ wf: WorkflowHandle; letterId: string }> {
    const graph = under.geneva.build(w => {
      w.node('first', { job: work })
      w.node('print', { job: broken })
      w.node('last', { job: work })
    })
    const wf = await under.geneva.startGraph(graph)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('dlq')
    const [letter] = (await under.geneva.deadLetters()).filter(({ workflowId }) => workflowId === wf.id)
    ran.length = 0
    return { wf, letterId: letter?.id ?? '' }
  }

  async function repair(wf: WorkflowHandle): Promise<void> {
    await under.geneva.importDag(repaired(await under.geneva.exportDag(wf.id)), { into: wf.id, by: 'ann' })
    await under.runDue()
    // What is new is held with the rest.
    expect(ran).toEqual([])
    expect((await wf.refresh()).state).toBe('dlq')
  }

  async function expectEnded(wf: WorkflowHandle): Promise<void> {
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.verifyHistory()).toBeNull()
    expect((await under.geneva.deadLetters()).filter(({ workflowId }) => workflowId === wf.id)).toEqual([])
    expect((await under.geneva.doctor()).findings).toEqual([])
  }

  it('goes on with what the new graph says when its letter is requeued', async () => {
    const { wf, letterId } = await stuck()
    await repair(wf)
    await under.geneva.requeue(letterId)
    await under.runDue()
    expect(ran.toSorted()).toEqual(['audit', 'last', 'print'])
    await expectEnded(wf)
    expect((await wf.events()).find(event => event.type === 'workflow.graph_replaced')).toMatchObject({ by: 'ann' })
  })

  it('goes on behind the step when that is resolved', async () => {
    const { wf } = await stuck()
    await repair(wf)
    await under.geneva.resolve(wf.id, 'print', { output: 'by hand' })
    await under.runDue()
    expect(ran.toSorted()).toEqual(['audit', 'last'])
    await expectEnded(wf)
  })

  it('is held again afterwards if somebody had paused it', async () => {
    gates.hold()
    const worker = await under.geneva.startWorker(quickly)
    const wf = await under.geneva.startGraph(under.geneva.build(w => w.node('print', { job: broken })))
    await gates.begun.passed
    await wf.pause()
    gates.held?.open()
    await waitFor(async () => (await wf.refresh()).state === 'dlq')
    await worker.stop()
    ran.length = 0
    await repair(wf)
    const [letter] = (await under.geneva.deadLetters()).filter(({ workflowId }) => workflowId === wf.id)
    await under.geneva.requeue(letter?.id ?? '')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    await wf.resume()
    await under.runDue()
    expect(ran.toSorted()).toEqual(['audit', 'print'])
    await expectEnded(wf)
  })

  it('must keep the step of the letter, so that every letter can be closed', async () => {
    const { wf, letterId } = await stuck()
    const dag = structuredClone(await under.geneva.exportDag(wf.id)) as unknown as Editable
    const [id] = Object.entries(dag.nodes).find(([, node]) => node.name === 'print') ?? []
    const [before] = Object.entries(dag.nodes).find(([, node]) => node.name === 'first') ?? []
    const nodes = Object.fromEntries(Object.entries(dag.nodes).filter(([each]) => each !== id))
    for (const node of Object.values(nodes)) if (node.name === 'last') node.depends_on = [before ?? '']
    await expect(under.geneva.importDag({ ...dag, nodes }, { into: wf.id })).rejects.toMatchObject({
      code: 'INVALID_GRAPH',
      message: expect.stringContaining(`${id} have started`),
    })
    await under.geneva.discard(letterId, { then: 'skip' })
    await under.runDue()
    expect(ran).toEqual(['last'])
    await expectEnded(wf)
  })

  it('may be that of a class, frozen there', async () => {
    const wf = await under.geneva.start(Order)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('dlq')
    await under.geneva.freeze(wf.id, { by: 'ann' })
    const dag = structuredClone(await under.geneva.exportDag(wf.id)) as unknown as Editable
    dag.nodes.audit = { name: 'audit', job: 'work', depends_on: ['charge'] }
    await under.geneva.importDag(dag, { into: wf.id })
    failing = false
    const [letter] = await under.geneva.deadLetters(Order)
    await under.geneva.requeue(letter?.id ?? '')
    await under.runDue()
    expect(ran.toSorted()).toEqual(['audit', 'print', 'print', 'ship'])
    await expectEnded(wf)
  })

  it('is refused where nothing holds the workflow, with what can be done', async () => {
    const graph = under.geneva.build(w => w.node('only', { job: work, wait: '1 day' }))
    const wf = await under.geneva.startGraph(graph)
    const dag = await under.geneva.exportDag(wf.id)
    await expect(under.geneva.importDag(dag, { into: wf.id })).rejects.toThrow('Pause it first')
    await wf.cancel()
    await expect(under.geneva.importDag(dag, { into: wf.id })).rejects.toThrow('It is ending or has ended')
  })
})

forEachDatabase('a dead letter of a step that a deploy has taken away', database => {
  const under = useGeneva(database, { workflows: [Order] })

  beforeEach(() => {
    ran.length = 0
    failing = true
  })

  async function lost() {
    const old = under.another({ workflows: [Order] })
    const { id } = await old.start(Order)
    await old.runDue(quickly)
    const wf = await under.geneva.find(id)
    const fresh = under.another({ workflows: [Shorter] })
    const [letter] = await fresh.deadLetters()
    if (wf === null || letter === undefined) throw new Error('It is gone.')
    ran.length = 0
    return { wf, fresh, letterId: letter.id }
  }

  it('is closed by a requeue, which fails for the reason that it has; then the step can be skipped', async () => {
    const { wf, fresh, letterId } = await lost()
    await fresh.requeue(letterId)
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history()).findLast(row => row.step === 'print')).toMatchObject({
      state: 'failed',
      error: { className: 'StepMissingError' },
    })
    expect(await fresh.deadLetters()).toEqual([])
    await fresh.skip(wf.id, 'print')
    await fresh.runDue(quickly)
    expect(ran).toEqual(['ship'])
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('is closed by a skip', async () => {
    const { wf, fresh, letterId } = await lost()
    await fresh.discard(letterId, { then: 'skip' })
    await fresh.runDue(quickly)
    expect(await fresh.deadLetters()).toEqual([])
    expect(ran).toEqual(['ship'])
    expect((await wf.refresh()).state).toBe('finished')
  })
})

forEachDatabase('a workflow that was frozen', database => {
  const under = useGeneva(database, { workflows: [Patient] })

  it('gives what runs the time to stop that its class gives it, also by a graph that was put back', async () => {
    ran.length = 0
    charging = new Gates()
    const worker = await under.geneva.startWorker(quickly)
    const wf = await under.geneva.start(Patient)
    await charging.arrived('charge')
    expect(await under.geneva.freeze(wf.id)).toMatchObject({ stop_grace_ms: 600_000 })
    await wf.pause()
    await under.geneva.importDag(await under.geneva.exportDag(wf.id), { into: wf.id })
    await wf.cancel()
    const other = under.another()
    ;(await other.openedStore()).setClockOffset(31_000)
    await other.runDue(quickly)
    expect((await wf.refresh()).state).toBe('rolling_back')
    expect(ran).toEqual([])
    charging.open('charge')
    await waitFor(async () => (await wf.refresh()).state === 'canceled')
    expect(ran).toEqual(['refund'])
    await worker.stop()
  })
})
