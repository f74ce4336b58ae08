/** What `explain` says of workflows that really stand so: running, paused, waiting, without a worker, in thousands. */
import { afterEach, expect, it } from 'vitest'
import { type Child, defineJob, type Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

let release: () => void = () => {}

class Slow extends Workflow {
  static {
    this.step('dig')
    this.step('fill', { wait: '1 day' })
  }
  dig() {
    return new Promise<void>(resolve => {
      release = resolve
    })
  }
  async fill() {}
}

class Broken extends Workflow {
  static {
    this.step('charge')
  }
  async charge() {
    throw new TypeError('no such card')
  }
}

class Errand extends Workflow {
  static {
    this.step('walk', { wait: '1 hour' })
  }
  async walk() {}
}

class Household extends Workflow {
  static {
    this.child('send', { workflow: Errand, start: () => ({}) })
    this.each('wash', { items: () => ['cup', 'plate', 'pan'], concurrency: 1, wait: '1 hour' })
  }
  async send(_child: Child<Errand>) {}
  async wash(_item: string) {}
}

class Payout extends Workflow {
  static {
    this.defaults({ retry: 5 })
    this.step('pay', { idempotent: false })
    this.step('tell')
  }
  async pay() {
    throw new Error('declined')
  }
  async tell() {}
}

const workflows = [Slow, Broken, Errand, Household, Payout]
const known = defineJob('known', { retry: 4 }, async () => {})

forEachDatabase('explain', database => {
  const under = useGeneva(database, { workflows, jobs: [known] })
  afterEach(() => under.setClock(0))

  it('names the worker that runs a step, and since when', async () => {
    const wf = await under.geneva.start(Slow)
    const worker = await under.geneva.startWorker(quickly)
    await waitFor(async () => (await wf.refresh()).state === 'performing')
    const running = await wf.explain()
    expect(running).toMatchObject({ state: 'performing', decision: 'processing', type: 'Slow', workflowId: wf.id })
    expect(running.sentence).toMatch(
      /^Step dig is run by worker \w+ on \S+ since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\.$/,
    )
    expect(running.nodes[0]?.reasons).toMatchObject([{ kind: 'claimed', alive: true, worker: expect.any(String) }])
    release()
    await waitFor(async () => (await wf.history()).length === 2)
    expect((await wf.explain()).sentence).toMatch(/^Step fill waits until .* UTC, for (23 hours|1 day) more\.$/)
    await worker.stop()
  })

  it('names the person who has paused it, and what has failed', async () => {
    const wf = await under.geneva.start(Errand)
    await wf.pause({ by: 'ann', reason: 'rain' })
    const { sentence, nodes } = await under.geneva.explain(wf.id)
    expect(sentence).toMatch(/^It was paused at .* UTC by ann: rain\.$/)
    expect(nodes[0]?.reasons.map(({ kind }) => kind)).toEqual(['paused', 'time'])
    const broken = await under.geneva.start(Broken)
    await under.runDue({ workflowId: broken.id })
    expect((await broken.explain()).sentence).toMatch(
      /^It was paused at .* UTC, because step charge has failed at attempt 1: TypeError: no such card\.$/,
    )
    await wf.cancel({ by: 'bea', reason: 'snow' })
    expect(await wf.explain()).toMatchObject({ state: 'canceled', sentence: expect.stringMatching(/ by bea: snow\.$/) })
  })

  it('names the workflow and the items that a node waits for', async () => {
    const wf = await under.geneva.start(Household)
    await under.runDue()
    const forChild = await wf.explain()
    expect(forChild.sentence).toMatch(/^Step send waits for workflow \S+ \(Errand, ready\)\.$/)
    expect(forChild.decision).toBe('waiting_for_dependencies')
    await under.setClock(2 * 3_600_000)
    // The errand ends, which wakes the node that waits for it, which is then run in its turn.
    await waitFor(async () => {
      await under.runDue()
      return (await wf.history()).some(({ step }) => step === 'wash')
    })
    expect((await wf.explain()).sentence).toMatch(/^Step wash waits until/)
    await under.setClock(4 * 3_600_000)
    await under.runDue({ maxSteps: 1, workflowId: wf.id })
    const { nodes } = await wf.explain()
    expect(nodes.map(({ id, state }) => `${id} ${state}`)).toEqual([
      'send completed',
      'wash waiting',
      'wash/0 scheduled',
      'wash/1 waiting',
      'wash/2 waiting',
    ])
    expect(nodes[1]?.reasons).toEqual([{ kind: 'items', open: 3 }])
    expect(nodes[3]?.reasons).toEqual([{ kind: 'place', limit: 1 }])
  })

  it('says since when no live worker has the code', async () => {
    const wf = await under.geneva.start(Errand)
    await under.setClock(3_600_000 + 7 * 60_000)
    const { sentence, nodes } = await wf.explain()
    expect(sentence).toMatch(/^Step walk has been due for [67] minutes, and no live worker has its code \(Errand, /)
    expect(nodes[0]?.reasons).toMatchObject([{ kind: 'no_worker', handler: 'Errand', queue: 'default' }])
    const worker = await under.another({ workflows: [Slow] }).startWorker(quickly)
    expect((await wf.explain()).nodes[0]?.ready, 'a worker without its code').toBe(false)
    await worker.stop()
  })

  it('knows the retries of jobs, and calls nodes of a built graph by their names', async () => {
    const graph = under.geneva.build(w => w.node('polish', { job: known, wait: '1 hour' }))
    const wf = await under.geneva.startGraph(graph)
    const { sentence, nodes } = await wf.explain()
    expect(sentence).toMatch(/^Step polish waits until/)
    expect(nodes).toMatchObject([{ name: 'polish', attemptsLeft: 4 }])
    const elsewhere = under.another({ workflows: [] })
    await elsewhere.migrate()
    expect((await elsewhere.explain(wf.id)).nodes, 'where the job is not known').toMatchObject([{ attemptsLeft: null }])
  })

  it('promises no retries of what is called once', async () => {
    const wf = await under.geneva.start(Payout)
    expect((await wf.explain()).nodes).toMatchObject([{ attemptsLeft: 1 }, { attemptsLeft: 5 }])
    await under.runDue({ workflowId: wf.id })
    const { nodes, sentence } = await wf.explain()
    expect(nodes[0]).toMatchObject({
      attemptsLeft: 0,
      reasons: [{ kind: 'paused' }, { kind: 'failed', why: 'not_retried' }],
    })
    expect(sentence).toContain('because step pay has failed at attempt 1: Error: declined')
    const graph = under.geneva.build(w => w.node('polish', { job: known, wait: '1 hour', idempotent: false }))
    const built = await under.geneva.startGraph(graph)
    expect((await built.explain()).nodes).toMatchObject([{ name: 'polish', attemptsLeft: 1 }])
  })

  it('answers for many at once, by ids in their order or by a filter', async () => {
    const some = await under.geneva.startMany(Errand, [{}, {}, {}], { tags: ['explained'] })
    const ids = some.map(({ id }) => id).toReversed()
    const found = await under.geneva.explainMany([...ids, '999999999', 'nonsense'])
    expect(found.map(({ workflowId }) => workflowId)).toEqual(ids)
    const tagged = await under.geneva.explainMany({ tag: 'explained', state: 'active' })
    expect(tagged.map(({ workflowId }) => workflowId).toSorted()).toEqual(ids.toSorted())
    expect(await under.geneva.explainMany({ tag: 'explained', limit: 2 })).toHaveLength(2)
    expect(await under.geneva.explainMany([])).toEqual([])
    await expect(under.geneva.explain('999999999')).rejects.toMatchObject({ code: 'WORKFLOW_NOT_FOUND' })
    await expect(under.geneva.explainMany({ limit: 5001 })).rejects.toThrow('from 1 to 5000')
    await expect(under.geneva.explainMany(Array.from({ length: 5001 }, (_, i) => `${i + 1}`))).rejects.toThrow(
      'at most 5000 ids',
    )
  })

  it('only looks: where nothing is open yet, it changes no table and makes no code known', async () => {
    const wf = await under.geneva.start(Errand)
    class Changed extends Workflow {
      static {
        this.named('Errand')
        this.step('run', { wait: '1 hour' })
      }
      async run() {}
    }
    const fresh: Geneva = under.another({ workflows: [Changed] })
    expect((await fresh.explain(wf.id)).nodes.map(({ id }) => id)).toEqual(['walk'])
    const store = await under.geneva.openedStore()
    expect((await store.findDefinition('Errand'))?.graph).toContain('walk')
  })
})
