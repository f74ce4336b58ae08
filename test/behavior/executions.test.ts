/** Executions of all workflows by state: what is scheduled, runs, is suspended, waits or is held, and how attempts have ended. */
import { beforeAll, expect, it } from 'vitest'
import {
  type Compensation,
  type Decision,
  defineHero,
  defineJob,
  type ExecutionListOptions,
  type Iteration,
  Workflow,
} from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
const Users = defineHero('User', { id: (user: { id: string }) => user.id, load: id => ({ id }) })
const greet = defineJob('greet', async () => {})

class Import extends Workflow {
  static {
    this.resumableStep('rows')
  }
  async rows(iter: Iteration<number>) {
    iter.progress({ total: 4 })
    for await (const row of iter.over([1, 2, 3, 4])) if (row === 3) iter.suspend({ wait: '1 hour' })
  }
}

class Mailing extends Workflow<{ id: string }> {
  static {
    this.heroes(Users)
    this.each('mail', {
      items: () => Array.from({ length: 12 }, (_, index) => index),
      queue: 'mail',
      onException: { policy: 'reattempt', wait: '1 day' },
    })
  }
  async mail(item: number) {
    if (this.execution.attempt === 1) throw new Error('the server is busy')
    return item
  }
}

class Order extends Workflow<null, { gate?: string; fails?: boolean; stays?: boolean }> {
  static {
    this.step('reserve', { compensate: 'release' })
    this.step('charge')
    this.human('approve', { deadline: '3 days' })
  }
  reserve() {}
  async release(_: Compensation<Order['reserve']>) {
    if (this.input.stays) await gates.stop(this.input.gate ?? '', this.signal)
  }
  async charge() {
    if (this.input.fails) throw new RangeError('card declined')
    if (this.input.gate && !this.input.stays) await gates.stop(this.input.gate, this.signal)
  }
  approve(decision: Decision) {
    return decision.by
  }
}

const workflows = [Import, Mailing, Order]

forEachDatabase('executions by state', database => {
  const under = useGeneva(database, { workflows, jobs: [greet], worker: { queues: ['default'] } })
  const gate = `${database.name} executions`
  const ids: Record<string, string> = {}

  const list = async (options: ExecutionListOptions) => (await under.geneva.views.executions(options)).items
  const told = async (options: ExecutionListOptions) =>
    (await list(options)).map(({ workflowId, name, state }) => `${workflowId} ${name} ${state}`)

  beforeAll(async () => {
    const start = async (name: string, input: object) => {
      const wf = await under.geneva.start(Order, { input })
      ids[name] = wf.id
      return wf
    }
    ids.suspended = (await under.geneva.start(Import)).id
    const running = await start('running', { gate })
    const failed = await start('failed', { fails: true })
    const waiting = await start('waiting', {})
    const held = await under.geneva.start(Import, {}, { delay: '1 day' })
    await held.pause()
    ids.held = held.id
    const mailing = await under.geneva.start(Mailing, { hero: { id: 'ann' } })
    ids.mailing = mailing.id
    const graph = under.geneva.build(w => w.node('greet', { job: greet, args: {}, wait: '1 day' }))
    const built = await under.geneva.startGraph(graph)
    ids.graph = `${built.id} greet`
    const undone = await start('undone', { gate: `${gate} undo`, stays: true })
    await gates.arrived(gate)
    await waitFor(async () => (await waiting.currentExecutions())[0]?.state === 'waiting')
    await waitFor(async () => (await undone.currentExecutions())[0]?.state === 'waiting')
    await waitFor(async () => (await failed.refresh()).state === 'paused')
    await waitFor(async () => (await told({ state: 'suspended' })).length === 1)
    await undone.cancel()
    await gates.arrived(`${gate} undo`)
    expect((await running.refresh()).state).toBe('performing')
  })

  it('lists each where it stands, without the timers of the engine', async () => {
    const { suspended, running, waiting, held, mailing, graph, undone } = ids
    expect(await told({ state: 'suspended' })).toEqual([`${suspended} rows suspended`])
    expect(await told({ state: 'waiting' })).toEqual([`${waiting} approve waiting`])
    expect(await told({ state: 'paused' })).toEqual([`${held} rows paused`])
    expect(await told({ state: 'scheduled' })).toEqual(
      [`${graph} scheduled`, `${mailing} mail scheduled`].toSorted(newestFirst),
    )
    expect(await told({ state: 'in_progress' })).toEqual(
      [`${undone} reserve in_progress`, `${running} charge in_progress`].toSorted(newestFirst),
    )
    expect(await told({ state: 'compensating' })).toEqual([`${undone} reserve compensating`])
    const all = await told({})
    expect(all).toHaveLength(7)
    expect(all).toEqual(all.toSorted(newestFirst))
    expect(await told({ state: ['suspended', 'paused'] })).toHaveLength(2)
  })

  it('tells of each what there is to know without its payloads', async () => {
    const [suspended] = await list({ state: 'suspended' })
    expect(suspended).toMatchObject({ type: 'Import', hero: null, queue: 'default', outcome: null, endedAt: null })
    expect(suspended).toMatchObject({ attempt: 1, kind: 'forward', completed: 2, total: 4, runs: 1, error: null })
    expect(suspended?.scheduledFor).toBeInstanceOf(Date)
    const [failed] = await list({ state: 'failed' })
    expect(failed).toMatchObject({
      workflowId: ids.failed,
      node: 'charge',
      outcome: 'paused_by_exception',
      queue: null,
    })
    expect(failed?.error).toEqual({ name: 'RangeError', message: 'card declined' })
    const undoing = (await list({ state: 'in_progress', node: 'reserve' }))[0]
    expect(undoing).toMatchObject({ kind: 'compensate', owner: expect.any(String) })
    expect((await list({ type: 'Mailing' }))[0]?.hero).toEqual({ type: 'User', id: 'ann' })
  })

  it('narrows by class, step, queue, and whether the time has come', async () => {
    expect(await told({ type: ['Import', 'Mailing'], state: ['suspended', 'scheduled'] })).toHaveLength(2)
    expect(await told({ type: '' })).toHaveLength(1)
    expect(await told({ node: 'approve' })).toEqual([`${ids.waiting} approve waiting`])
    expect(await told({ queue: 'mail' })).toEqual([`${ids.mailing} mail scheduled`])
    expect(await told({ due: true })).toEqual([`${ids.mailing} mail scheduled`])
    expect((await told({ due: false })).toSorted()).toEqual(
      [`${ids.suspended} rows suspended`, `${ids.graph} scheduled`].toSorted(),
    )
    expect(await told({ due: false, state: 'suspended', type: 'Import' })).toHaveLength(1)
    expect(await told({ type: 'Nobody' })).toEqual([])
  })

  it('of a class are asked for by the class, and steps by their names', async () => {
    const page = await under.geneva.executions(Import, { state: 'suspended', step: 'rows' })
    expect(page.items.map(({ workflowId, step }) => [workflowId, step])).toEqual([[ids.suspended, 'rows']])
    expect((await under.geneva.executions(Order, { state: 'failed', step: 'charge' })).items).toHaveLength(1)
    expect((await under.geneva.executions({ queue: 'mail' })).items[0]).toMatchObject({ step: 'mail', type: 'Mailing' })
    expect((await under.geneva.executions()).items).toHaveLength(7)
  })

  it('goes through all pages, also in the middle of a workflow with many rows', async () => {
    await under.runDue({ queues: ['mail'] })
    const pages = async (options: ExecutionListOptions) => {
      const seen: string[][] = []
      let cursor: string | null = null
      do {
        const place: { cursor?: string } = cursor === null ? {} : { cursor }
        const page = await under.geneva.views.executions({ ...options, ...place, limit: 5 })
        seen.push(page.items.map(({ id }) => id))
        cursor = page.nextCursor
      } while (cursor !== null)
      return seen
    }
    const items = await list({ node: 'mail', state: ['scheduled', 'waiting'], limit: 500 })
    expect(items).toHaveLength(13)
    const seen = await pages({ node: 'mail', state: ['scheduled', 'waiting'] })
    expect(seen.map(page => page.length)).toEqual([5, 5, 3])
    expect(seen.flat()).toEqual(items.map(({ id }) => id))
    expect(await list({ node: 'mail/3' })).toHaveLength(1)
    expect(await list({ node: 'mail', state: 'failed' })).toHaveLength(12)
    await under.setClock(2 * 86_400_000)
    await under.runDue({ queues: ['mail'] })
    const done = await list({ state: 'completed', node: 'mail', limit: 500 })
    expect(done).toHaveLength(13)
    expect((await pages({ state: 'completed', node: 'mail' })).flat()).toEqual(done.map(({ id }) => id))
    const order = done.map(({ id }) => Number(id))
    expect(order).toEqual(order.toSorted((a, b) => b - a))
  })

  it.each<[object, RegExp]>([
    [{ state: 'running' }, /"running" of an execution is not known\. Use scheduled/],
    [{ state: [] }, /not known/],
    [{ state: ['failed', 'scheduled'] }, /not in one list/],
    [{ state: ['compensating', 'failed'] }, /not in one list/],
    [{ state: 'failed', queue: 'mail' }, /stands in no queue/],
    [{ state: 'waiting', due: true }, /scheduled or suspended/],
    [{ limit: 0 }, /page size/],
    [{ cursor: 'x' }, /cursor/],
    [{ cursor: '12' }, /cursor/],
    [{ state: 'failed', cursor: '12/x' }, /cursor/],
    [{ node: '' }, /node/i],
    [{ type: 'a\0b' }, /type/i],
  ])('with %o is refused', async (options, message) => {
    await expect(under.geneva.views.executions(options)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message })
  })
})

/** By the id of the workflow that a line begins with. */
function newestFirst(a: string, b: string): number {
  return Number(b.split(' ')[0]) - Number(a.split(' ')[0])
}
