/** Escalations and deadlines of steps that wait while their code or their graph changes: none is lost, early or put off. */
import { beforeEach, expect, it } from 'vitest'
import {
  type AnyWorkflow,
  type ConcreteClass,
  type Decision,
  defineJob,
  type FrozenGraph,
  type Geneva,
  type HumanOptions,
  Workflow,
  type WorkflowHandle,
} from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const hour = 3_600_000

let types = 0
let type = ''

type Times = Pick<HumanOptions<any>, 'deadline' | 'escalate' | 'quorum'>

function version(times: Times): ConcreteClass<AnyWorkflow> {
  const name = type
  return class extends Workflow {
    static {
      this.named(name)
      this.human('approve', times)
      this.step('after')
    }
    async approve(_: Decision) {}
    async after() {}
  }
}

function without(onMissingStep: 'pause' | 'skip'): ConcreteClass<AnyWorkflow> {
  const name = type
  return class extends Workflow {
    static {
      this.named(name)
      this.defaults({ onMissingStep })
      this.step('after')
    }
    async after() {}
  }
}

/** The same node under another name, or in another slot, with a deadline. */
function elsewhere(node: 'accept' | 'approve', inGraph: boolean): ConcreteClass<AnyWorkflow> {
  const name = type
  return class extends Workflow {
    static {
      this.named(name)
      if (node === 'accept') this.renamed({ approve: 'accept' })
      this.human(node, { deadline: '3 hours' })
      this.step('after')
      if (inGraph) this.task('beside', { wait: '9 hours' })
    }
    async accept(_: Decision) {}
    async approve(_: Decision) {}
    async after() {}
    async beside() {}
  }
}

const work = defineJob('work', async () => {})

forEachDatabase('a step that waits while its code changes', database => {
  const under = useGeneva(database, { workflows: [], jobs: [work] })
  let deployed: Geneva

  beforeEach(async () => {
    await under.setClock(0)
    type = `Waits ${++types}`
  })

  function deploy(Class: ConcreteClass<AnyWorkflow>): Geneva {
    deployed = under.another({ workflows: [Class], jobs: [work] })
    return deployed
  }

  async function startUnder(Class: ConcreteClass<AnyWorkflow>): Promise<WorkflowHandle<any>> {
    const wf = await deploy(Class).start(Class)
    await at(0)
    return wf
  }

  async function at(hours: number, geneva = deployed): Promise<void> {
    const store = await geneva.openedStore()
    store.setClockOffset(hours * hour)
    await geneva.runDue(quickly)
  }

  async function told(wf: WorkflowHandle<any>): Promise<(string | null)[]> {
    const events = await wf.events()
    return events.filter(event => event.type === 'decision.escalated').map(({ reason }) => reason)
  }

  async function stateOf(wf: WorkflowHandle<any>): Promise<string> {
    return (await wf.refresh()).state
  }

  it('keeps its deadline when an escalation before it is taken away', async () => {
    const wf = await startUnder(version({ escalate: { after: '1 hour', to: 'lead' }, deadline: '3 hours' }))
    deploy(version({ deadline: '3 hours' }))
    await at(1.1)
    expect([await stateOf(wf), await told(wf)]).toEqual(['ready', []])
    await at(3.1)
    expect(await stateOf(wf)).toBe('paused')
    expect((await wf.history()).at(-1)?.outcome).toBe('timed_out')
  })

  it('keeps its deadline when an escalation is put before it, and tells people then at the latest', async () => {
    const wf = await startUnder(version({ deadline: '3 hours' }))
    deploy(version({ escalate: { after: '1 hour', to: 'lead' }, deadline: '3 hours' }))
    await at(3.1)
    expect([await stateOf(wf), await told(wf)]).toEqual(['paused', ['to lead']])
  })

  it('goes by a deadline that was moved, counted from when it began to wait', async () => {
    const wf = await startUnder(version({ escalate: { after: '1 hour', to: 'lead' }, deadline: '3 hours' }))
    await at(1.1)
    deploy(version({ deadline: '5 hours' }))
    await at(3.1)
    expect([await stateOf(wf), await told(wf)]).toEqual(['ready', ['to lead']])
    await at(4.9)
    expect(await stateOf(wf)).toBe('ready')
    await at(5.1)
    expect(await stateOf(wf)).toBe('paused')
  })

  it('tells nobody twice when what was told already has moved', async () => {
    const escalate = (first: `${number} hours`) => ({
      escalate: [
        { after: first, to: 'lead' },
        { after: '2 hours' as const, to: 'boss' },
      ],
    })
    const wf = await startUnder(version(escalate('1 hours')))
    await at(1.1)
    deploy(version(escalate('0.5 hours')))
    await at(2.1)
    expect(await told(wf)).toEqual(['to lead', 'to boss'])
  })

  it('that the code has lost still tells people, and fails when its time is over', async () => {
    const wf = await startUnder(version({ escalate: { after: '1 hour', to: 'lead' }, deadline: '3 hours' }))
    deploy(without('pause'))
    await at(0.5)
    expect((await (await deployed.find(wf.id))?.explain())?.sentence).toContain(
      'Step approve is not in the code any more',
    )
    await at(1.1)
    expect([await stateOf(wf), await told(wf)]).toEqual(['ready', ['to lead']])
    await at(3.1)
    expect(await stateOf(wf)).toBe('paused')
    expect((await wf.history()).find(({ step }) => step === 'approve')?.error?.className).toBe('StepMissingError')
  })

  /** Three are asked, and two have confirmed. */
  async function twoOfThree(times: Times = {}): Promise<WorkflowHandle<any>> {
    const wf = await startUnder(version({ ...times, quorum: 3 }))
    for (const by of ['ann', 'bob']) await wf.decide('approve', { decision: 'confirmed', by })
    expect((await wf.currentExecutions()).map(({ state }) => state)).toEqual(['waiting'])
    return wf
  }

  it('goes on when the newest code asks for no more people than have confirmed, as the check has said', async () => {
    const wf = await twoOfThree({ deadline: '3 hours' })
    deploy(version({ deadline: '3 hours', quorum: 2 }))
    const { findings } = await deployed.check()
    expect(findings.find(({ examples }) => examples.includes(wf.id))).toMatchObject({
      verdict: 'heals',
      what: 'approve has been confirmed by as many as it needs now.',
    })
    const worker = await deployed.startWorker(quickly)
    await waitFor(async () => (await stateOf(wf)) === 'finished')
    await worker.stop()
    expect((await wf.history()).map(({ step, outcome }) => `${step} ${outcome}`)).toEqual([
      'approve confirmed',
      'after success',
    ])
    const timers = (await wf.events()).map(event => event.type).filter(event => event.startsWith('timer.'))
    expect(timers).toEqual(['timer.scheduled', 'timer.canceled'])
  })

  it('goes on so when the workflow is resumed, and not while it asks for more', async () => {
    const wf = await twoOfThree()
    await wf.pause()
    const more = (await deploy(version({ quorum: 4 })).find(wf.id)) as WorkflowHandle<any>
    await more.resume()
    await at(0)
    expect((await wf.currentExecutions()).map(({ state }) => state)).toEqual(['waiting'])
    await more.pause()
    const fewer = (await deploy(version({ quorum: 1 })).find(wf.id)) as WorkflowHandle<any>
    await fewer.resume()
    await at(0)
    expect(await stateOf(wf)).toBe('finished')
  })

  it('goes on so when its time is over before anybody has looked', async () => {
    const wf = await twoOfThree({ deadline: '3 hours' })
    deploy(version({ deadline: '3 hours', quorum: 2 }))
    await at(3.1)
    expect(await stateOf(wf)).toBe('finished')
    expect((await wf.history())[0]).toMatchObject({ step: 'approve', outcome: 'confirmed' })
  })

  it('goes on so when its graph is replaced by one that asks for fewer', async () => {
    const { geneva } = under
    const graph = geneva.build(w => {
      w.human('approve', { quorum: 3 })
      w.node('end', { job: work, dependsOn: ['approve'] })
    })
    const wf = await geneva.startGraph(graph)
    await at(0, geneva)
    for (const by of ['ann', 'bob']) await wf.decide('approve', { decision: 'confirmed', by })
    await wf.pause()
    const dag = structuredClone(await geneva.exportDag(wf.id)) as unknown as Editable
    for (const { human } of Object.values(dag.nodes)) if (human) human.quorum = 2
    await geneva.importDag(dag as unknown as FrozenGraph, { into: wf.id })
    await wf.resume()
    await at(0, geneva)
    expect(await stateOf(wf)).toBe('finished')
    expect(await wf.output('approve')).toMatchObject({ by: 'bob', decisions: [{ by: 'ann' }, { by: 'bob' }] })
  })

  it('in a graph that is replaced goes by the times of that at once', async () => {
    const { geneva } = under
    const graph = geneva.build(w => {
      w.human('approve', { deadline: '9 hours' })
      w.human('board', { dependsOn: [] })
      w.node('end', { job: work, dependsOn: ['approve', 'board'] })
    })
    const wf = await geneva.startGraph(graph)
    await at(0, geneva)
    await wf.pause()
    const dag = structuredClone(await geneva.exportDag(wf.id)) as unknown as Editable
    for (const node of Object.values(dag.nodes)) {
      if (node.human === undefined) continue
      node.human.escalations = [{ after_ms: hour, to: [`lead of ${node.name}`] }]
      node.wait_timeout_ms = 2 * hour
    }
    await geneva.importDag(dag as unknown as FrozenGraph, { into: wf.id })
    await wf.resume()
    await at(1.1, geneva)
    expect((await told(wf)).toSorted()).toEqual(['to lead of approve', 'to lead of board'])
    await at(2.1, geneva)
    const ends = (await wf.history()).map(({ step, outcome }) => `${step} ${outcome}`)
    expect(ends.toSorted()).toEqual(['approve timed_out', 'board timed_out'])
    expect(await stateOf(wf)).toBe('paused')
  })

  it('is not given an escalation that would come after its deadline, by a graph from outside either', async () => {
    const graph = under.geneva.build(w => {
      w.human('approve', { deadline: '2 hours', escalate: { after: '1 hour', to: 'lead' } })
    })
    const wf = await under.geneva.startGraph(graph)
    const json = JSON.stringify(await under.geneva.exportDag(wf.id)).replace(
      `"after_ms":${hour}`,
      `"after_ms":${2 * hour}`,
    )
    await expect(under.geneva.importDag(json)).rejects.toMatchObject({
      code: 'INVALID_GRAPH',
      message: expect.stringContaining('the escalation after 2 hours comes too late'),
    })
  })

  it.each([
    ['gets another name', 'accept', false],
    ['comes to stand in a graph', 'approve', true],
  ] as const)(
    'goes by a deadline that it is given when it %s, counted from when it began to wait',
    async (_, node, inGraph) => {
      const wf = await startUnder(version({}))
      deploy(elsewhere(node, inGraph))
      const worker = await deployed.startWorker(quickly)
      await waitFor(async () => (await wf.events()).some(event => event.type === 'workflow.healed'))
      await worker.stop()
      const same = (await deployed.find(wf.id)) as WorkflowHandle<any>
      const waits = async () => (await same.currentExecutions()).find(({ step }) => step === node)
      expect((await waits())?.startedAt).not.toBeNull()
      await at(1)
      expect([await stateOf(wf), (await waits())?.state]).toEqual(['ready', 'waiting'])
      await at(2.9)
      expect([await stateOf(wf), (await waits())?.state]).toEqual(['ready', 'waiting'])
      await at(3.1)
      expect((await wf.history()).find(({ step }) => step === node)?.outcome).toBe('timed_out')
    },
  )

  it('that is decided after it got another name leaves no timer behind', async () => {
    const name = type
    class Renamed extends Workflow {
      static {
        this.named(name)
        this.renamed({ approve: 'accept' })
        this.human('accept', { deadline: '3 hours' })
        this.step('after', { wait: '9 hours' })
      }
      async accept(_: Decision) {}
      async after() {}
    }
    const wf = await startUnder(version({ deadline: '3 hours' }))
    deploy(Renamed)
    const worker = await deployed.startWorker(quickly)
    await waitFor(async () => (await wf.events()).some(event => event.type === 'workflow.healed'))
    await worker.stop()
    const same: WorkflowHandle<any> | null = await deployed.find(wf.id)
    await same?.decide('accept', { decision: 'confirmed', by: 'ann' })
    await at(0.6)
    expect((await wf.history()).map(({ step, outcome }) => `${step} ${outcome}`)).toEqual([
      'accept confirmed',
      'after null',
    ])
    const events = (await wf.events()).map(event => event.type).filter(event => event.startsWith('timer.'))
    expect(events).toEqual(['timer.scheduled', 'timer.canceled'])
  })
})

interface Editable {
  nodes: Record<string, { name: string; human?: { escalations?: object[]; quorum?: number }; wait_timeout_ms?: number }>
}
