/** Corners of graphs that were found by reading: each was wrong once. */
import { expect, it } from 'vitest'
import { type Child, DefinitionError, defineJob, type FrozenGraph, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

const ran: string[] = []
let failing = true
const first = defineJob('first', { onException: 'skip' }, async (_args, job) => {
  ran.push(`first ${JSON.stringify(job.node.metadata)}`)
  throw new Error('broken')
})
const second = defineJob('second', async () => {
  ran.push('second')
})

class Before extends Workflow {
  static {
    this.named('corner')
    this.allowMultiple()
    this.step('b')
    this.step('last', { wait: '1 day' })
  }
  async b() {
    ran.push('b')
    if (failing) throw new Error('broken')
    return 'output of b'
  }
  async last() {}
}

class Longer extends Workflow {
  static {
    this.named('corner of three')
    this.allowMultiple()
    this.step('b')
    this.step('gone')
    this.step('last', { wait: '1 day' })
  }
  async b() {
    return 'output of b'
  }
  async gone() {}
  async last() {}
}

class After extends Workflow {
  static {
    this.named('corner')
    this.allowMultiple()
    this.step('bb')
    this.step('last', { wait: '1 day' })
    this.renamed({ b: 'bb' })
  }
  async bb() {
    ran.push('bb')
    return 'output of bb'
  }
  async last() {}
}

class Later extends After {
  static {
    this.named('corner of three')
  }
}

class Small extends Workflow {
  static {
    this.step('only')
  }
  async only() {}
}

let asked = 0
class Asking extends Workflow {
  static {
    this.child('sub', { workflow: Small, start: () => ({}), if: () => ++asked === 1 })
    this.job('job', { job: first, metadata: { of: 'node' } })
  }
  async sub(child: Child<Small>) {
    return child.id
  }
}

class Racing extends Workflow {
  static {
    this.task('quick', { dependsOn: null })
    this.task('slow', { dependsOn: null })
  }
  async quick() {
    return this.finish('the result')
  }
  async slow() {
    await new Promise(resolve => this.signal.addEventListener('abort', resolve))
    return 'too late'
  }
}

forEachDatabase('a corner of graphs', database => {
  const under = useGeneva(database, { workflows: [Before, Small, Asking, Racing], jobs: [first, second] })

  it('a step that was renamed between two attempts is not run again once it has completed', async () => {
    ran.length = 0
    failing = true
    const wf = await under.geneva.start(Before)
    await under.runDue()
    const renamed = under.another({ workflows: [After] })
    await renamed.resume(wf.id)
    await renamed.runDue(quickly)
    await renamed.pause(wf.id)
    await renamed.resume(wf.id)
    await renamed.runDue(quickly)
    expect(ran).toEqual(['b', 'bb'])
    expect(await renamed.verifyHistory(wf.id)).toBeNull()
    expect((await wf.refresh()).state).toBe('ready')
  })

  it('a frozen graph keeps the former names of its nodes', async () => {
    failing = false
    const wf = await under.geneva.start(Before)
    await under.runDue()
    const renamed = under.another({ workflows: [After] })
    await renamed.freeze(wf.id)
    const found = await renamed.find(After, wf.id)
    expect(await found?.output('bb')).toBe('output of b')
    expect((await found?.nodesWithState())?.find(node => node.name === 'bb')?.state).toBe('completed')
  })

  it('a frozen graph can be put back though its history has steps that were renamed or taken away', async () => {
    failing = false
    const longer = under.another({ workflows: [Longer] })
    const wf = await longer.start(Longer)
    await longer.runDue(quickly)
    const renamed = under.another({ workflows: [Later] })
    await renamed.freeze(wf.id)
    await renamed.pause(wf.id)
    const dag = await renamed.exportDag(wf.id)
    await renamed.importDag(dag, { into: wf.id })
    const found = await renamed.find(Later, wf.id)
    expect(await found?.output('bb')).toBe('output of b')
    expect((await found?.currentExecutions())?.map(({ step }) => step)).toEqual(['last'])
    // What has started, and is there now, must stay.
    const { bb: _, ...others } = dag.nodes
    const { renamed: __, ...rest } = dag
    const without = { ...rest, nodes: { last: { ...others.last, depends_on: [] } } } as unknown as FrozenGraph
    await expect(renamed.importDag(without, { into: wf.id })).rejects.toThrow('the nodes bb have started')
    await renamed.resume(wf.id)
    ;(await renamed.openedStore()).setClockOffset(86_500_000)
    await renamed.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
    expect(await renamed.verifyHistory(wf.id)).toBeNull()
    expect((await renamed.doctor({ workflow: wf.id })).findings).toEqual([])
  })

  it('a repaired node runs the job that it has now', async () => {
    ran.length = 0
    const wf = await under.geneva.startGraph(under.geneva.build(w => w.node('only', { job: first, wait: '1 day' })))
    await wf.pause()
    const dag = structuredClone(await under.geneva.exportDag(wf.id)) as { nodes: Record<string, object> }
    for (const node of Object.values(dag.nodes)) Object.assign(node, { job: 'second' })
    await under.geneva.importDag(dag, { into: wf.id })
    await wf.resume()
    await under.setClock(25 * 3_600_000)
    await under.runDue({ workflowId: wf.id })
    await under.setClock(0)
    expect(ran).toEqual(['second'])
  })

  it('a condition is asked once, and a job in a class brings its policy and gets the metadata of its node', async () => {
    ran.length = 0
    asked = 0
    const worker = await under.geneva.startWorker(quickly)
    const wf = await under.geneva.start(Asking)
    await wf.waitUntilFinished({ timeout: '10s' })
    await worker.stop()
    expect(asked).toBe(1)
    expect((await wf.history()).map(row => [row.step, row.state])).toEqual([
      ['sub', 'completed'],
      ['job', 'skipped'],
    ])
    expect(ran).toEqual(['first {"of":"node"}'])
  })

  it('the result of a workflow that was declared finished is what it was declared with', async () => {
    const worker = await under.geneva.startWorker({ ...quickly, heartbeat: 20, lease: 1000 })
    const wf = await under.geneva.start(Racing)
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('the result')
    await worker.stop()
  })

  it('mistakes are told: items as a start of a rerun, an identity of a graph, a retry of nothing', async () => {
    const { geneva } = under
    const wf = await geneva.start(Small)
    await expect(geneva.rerun(wf.id, { from: 'nowhere' })).rejects.toThrow('has no step')
    const graph = geneva.build(w => w.node('only', { job: second }))
    await expect(geneva.startGraph(graph, {}, { identity: 'content' })).rejects.toThrow('idempotencyKey')
    expect(() => defineJob('wrong', { retry: { attempts: 0 } }, async () => {})).toThrow(DefinitionError)
  })
})
