/** A resumable step in mid-iteration: paused, canceled, skipped, shut down or failed, it keeps its place. */
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import { type Iteration, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

/** What was done, by workflow, and where the next run should do something else. */
const doneBy = new Map<string, number[]>()
const actsAt = new Map<string, number>()

const done = (wf: { id: string }) => doneBy.get(wf.id) ?? []

type Act =
  | 'pause'
  | 'skip'
  | 'cancel'
  | 'finish'
  | 'reattempt'
  | 'rewind'
  | 'suspend'
  | 'throw'
  | 'swallow'
  | 'wait an hour'

/** Thirty items. At the one where it is told to it does something else first, once. */
class Walk extends Workflow<null, { act?: Act; at?: number; policy?: 'reattempt' | 'pause'; slow?: boolean }> {
  static {
    this.onException(error => (String(error).includes('again') ? 'reattempt' : 'pause'))
    this.resumableStep('walk')
    this.step('after')
  }
  async walk(iter: Iteration<number>) {
    const { act, at, slow } = this.input
    const mine = doneBy.get(this.id) ?? []
    doneBy.set(this.id, mine)
    if (!actsAt.has(this.id)) actsAt.set(this.id, at ?? 0)
    for await (const item of iter.over(Array.from({ length: 30 }, (_, index) => index + 1))) {
      if (item === actsAt.get(this.id) && act) {
        actsAt.set(this.id, 0)
        await this.#act(act, iter)
      }
      mine.push(item)
      // Until somebody stops it, it takes its time.
      if (slow && !iter.resumed) await pause(10)
    }
  }
  async after() {
    return done(this).length
  }
  async #act(act: Act, iter: Iteration<number>): Promise<void> {
    if (act === 'pause') this.pause('look at this')
    if (act === 'skip') this.skip()
    if (act === 'cancel') this.cancel()
    if (act === 'finish') this.finish('early')
    if (act === 'reattempt') this.reattempt()
    if (act === 'rewind') this.reattempt({ rewind: true })
    if (act === 'suspend') await iter.suspend()
    if (act === 'wait an hour') await iter.suspend({ wait: '1 hour' })
    if (act === 'throw') throw new Error(this.input.policy === 'reattempt' ? 'once again' : 'broken')
    if (act === 'swallow') await iter.suspend().catch(() => {})
  }
}

const all = Array.from({ length: 30 }, (_, index) => index + 1)

forEachDatabase('a resumable step in mid-iteration', database => {
  const under = useGeneva(database, { workflows: [Walk], worker: { heartbeat: 5 } })
  beforeAll(() => {
    doneBy.clear()
    actsAt.clear()
  })

  const walk = (input: Walk['input']) => under.geneva.start(Walk, { input })

  /** One that is under way, seen through another instance, as from another process. */
  async function underWay(): Promise<WorkflowHandle<Walk>> {
    const wf = await walk({ slow: true })
    await waitFor(() => done(wf).length >= 2)
    const elsewhere = await under.another().find(Walk, wf.id)
    if (elsewhere === null) throw new Error('It is not there.')
    return elsewhere
  }

  const cursorOf = async (wf: WorkflowHandle<Walk>) => {
    const store = await under.geneva.openedStore()
    return (await store.activeExecutions(wf.id)).map(row => [row.state, row.heldFrom, Number(row.progress.cursor)])
  }

  it('that is paused from another process stops at its next checkpoint, is held, and goes on from there', async () => {
    const wf = await underWay()
    await wf.pause({ by: 'ann' })
    const [row] = await waitFor(async () => {
      const rows = await wf.currentExecutions()
      return rows[0]?.state === 'paused' && rows
    })
    const reached = done(wf).length
    expect(reached).toBeLessThan(30)
    expect(await cursorOf(wf)).toEqual([['paused', 'suspended', reached]])
    expect(await wf.history()).toHaveLength(1)
    expect((await wf.events()).at(-1)).toMatchObject({ type: 'step.held', from: 'in_progress', reason: 'paused' })
    await wf.resume()
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(done(wf)).toEqual(all)
    expect(await wf.history()).toMatchObject([{ id: row?.id, attempt: 1, outcome: 'success' }, { step: 'after' }])
  })

  it('that is canceled from another process stops at its next checkpoint', async () => {
    const wf = await underWay()
    await wf.cancel({ by: 'ann', reason: 'enough' })
    expect(['rolling_back', 'canceled']).toContain(wf.state)
    await waitFor(async () => (await wf.refresh()).state === 'canceled')
    const [row, ...others] = await wf.history()
    expect(row).toMatchObject({ step: 'walk', attempt: 1, state: 'skipped', outcome: 'stopped' })
    expect(others).toEqual([])
    expect(done(wf).length).toBeLessThan(30)
    const store = await under.geneva.openedStore()
    expect((await store.history(wf.id))[0]?.progress.completedIterations).toBe(done(wf).length)
  })

  it('that pauses itself is held at the item, in the same attempt', async () => {
    const wf = await walk({ act: 'pause', at: 4 })
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    expect(await cursorOf(wf)).toEqual([['paused', 'suspended', 3]])
    expect(await wf.history()).toMatchObject([{ step: 'walk', attempt: 1, state: 'paused', outcome: null }])
    await wf.resume()
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(done(wf)).toEqual(all)
    expect(await wf.history()).toMatchObject([{ attempt: 1, outcome: 'success' }, { step: 'after' }])
  })

  it('that waits while its workflow is paused goes on waiting when that is resumed', async () => {
    const wf = await walk({ act: 'wait an hour', at: 4 })
    const [before] = await waitFor(async () => {
      const rows = await wf.currentExecutions()
      return rows[0]?.state === 'suspended' && rows
    })
    await wf.pause()
    expect(await cursorOf(wf)).toEqual([['paused', 'suspended', 3]])
    await wf.resume()
    const { id, attempt, scheduledFor, startedAt } = before ?? {}
    expect(await wf.currentExecutions()).toMatchObject([{ id, attempt, scheduledFor, startedAt, state: 'suspended' }])
    expect(await cursorOf(wf)).toEqual([['suspended', null, 3]])
    await under.setClock(2 * 3_600_000)
    await wf.waitUntilFinished({ timeout: '10s' })
    await under.setClock(0)
    expect(done(wf)).toEqual(all)
  })

  it.each([false, true])('that is suspended is skipped from outside (held: %s)', async held => {
    const wf = await walk({ act: 'wait an hour', at: 4 })
    await waitFor(async () => (await wf.currentExecutions())[0]?.state === 'suspended')
    if (held) await wf.pause()
    await wf.skip('walk', { by: 'ann' })
    if (held) await wf.resume()
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe(3)
    expect(await wf.history()).toMatchObject([
      { step: 'walk', attempt: 1, state: 'skipped', outcome: 'skipped_by_flow_control' },
      { step: 'after', outcome: 'success' },
    ])
  })

  it.each([false, true])('that is suspended is canceled at once (held: %s)', async held => {
    const wf = await walk({ act: 'wait an hour', at: 4 })
    await waitFor(async () => (await wf.currentExecutions())[0]?.state === 'suspended')
    if (held) await wf.pause()
    await wf.cancel()
    expect(wf.state).toBe('canceled')
    expect(await wf.history()).toMatchObject([{ step: 'walk', state: 'skipped', outcome: 'stopped' }])
  })

  it('that throws keeps its place, also at the first item of a run', async () => {
    const wf = await walk({ act: 'throw', at: 4 })
    for (const next of [4, 0]) {
      await waitFor(async () => (await wf.refresh()).state === 'paused')
      expect(done(wf)).toEqual(all.slice(0, 3))
      // The first time, the first item of the next run throws as well.
      actsAt.set(wf.id, next)
      await wf.resume()
    }
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(done(wf)).toEqual(all)
    expect(await wf.history()).toMatchObject([
      { attempt: 1, outcome: 'paused_by_exception' },
      { attempt: 2, outcome: 'paused_by_exception' },
      { attempt: 3, outcome: 'success' },
      { step: 'after' },
    ])
  })

  it.each([
    ['throw', 'failed', 'reattempted_by_exception'],
    ['reattempt', 'completed', 'reattempted'],
  ] as const)('that is reattempted (%s) goes on where it was', async (act, state, outcome) => {
    const wf = await walk({ act, at: 4, policy: 'reattempt' })
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(done(wf)).toEqual(all)
    expect(await wf.history()).toMatchObject([
      { attempt: 1, state, outcome },
      { attempt: 2, outcome: 'success' },
      { step: 'after' },
    ])
  })

  it('that is rewound starts over', async () => {
    const wf = await walk({ act: 'rewind', at: 4 })
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(done(wf)).toEqual([1, 2, 3, ...all])
    const store = await under.geneva.openedStore()
    expect((await store.history(wf.id)).map(row => row.progress)).toMatchObject([
      { cursor: '3', completedIterations: 3, runs: 1 },
      { cursor: '30', completedIterations: 30, runs: 1 },
      {},
    ])
  })

  it('may skip the rest of itself', async () => {
    const wf = await walk({ act: 'skip', at: 4 })
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe(3)
    expect((await wf.history())[0]).toMatchObject({ state: 'skipped', outcome: 'skipped_by_flow_control' })
  })

  it('may finish the workflow', async () => {
    const wf = await walk({ act: 'finish', at: 4 })
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('early')
    expect(await wf.history()).toMatchObject([{ state: 'completed', outcome: 'success' }])
  })

  it('may cancel the workflow', async () => {
    const wf = await walk({ act: 'cancel', at: 4 })
    await expect(wf.waitUntilFinished({ timeout: '10s' })).rejects.toMatchObject({ state: 'canceled' })
    expect(await wf.history()).toMatchObject([{ state: 'canceled', outcome: 'canceled_by_flow_control' }])
    expect(done(wf)).toEqual([1, 2, 3])
  })

  it('that swallows its own stop does not go on to another item', async () => {
    const wf = await walk({ act: 'swallow', at: 4 })
    await wf.waitUntilFinished({ timeout: '10s' })
    // The item in which it happened is done again, because its checkpoint was not reached.
    expect(done(wf)).toEqual([1, 2, 3, 4, ...all.slice(3)])
    expect((await wf.events()).filter(event => event.type === 'step.suspended')).toHaveLength(1)
  })
})

forEachDatabase('a resumable step whose worker shuts down', database => {
  const under = useGeneva(database, { workflows: [Walk] })
  beforeAll(() => {
    doneBy.clear()
    actsAt.clear()
  })

  it('stops at its next checkpoint, long before its grace time is over, and goes on in another process', async () => {
    const leaving = under.another()
    const worker = await leaving.startWorker({ ...quickly, grace: '1 min' })
    const wf = await leaving.start(Walk, { input: { slow: true } })
    await waitFor(() => done(wf).length >= 2)
    const before = done(wf).length
    await worker.stop()
    const reached = done(wf).length
    // The item under way was the last.
    expect(reached).toBeLessThanOrEqual(before + 1)
    const elsewhere = await under.geneva.find(Walk, wf.id)
    expect(await elsewhere?.currentExecutions()).toMatchObject([{ attempt: 1, state: 'suspended' }])
    expect((await elsewhere?.events())?.at(-1)).toMatchObject({ type: 'step.suspended', reason: 'shutting down' })
    await leaving.close()
    await under.runDue()
    expect((await elsewhere?.refresh())?.state).toBe('finished')
    expect(done(wf)).toEqual(all)
    expect(await elsewhere?.history()).toMatchObject([{ attempt: 1, outcome: 'success' }, { step: 'after' }])
  })

  it('and that does not come to a checkpoint is given back, and nothing that it does later counts', async () => {
    const items: number[] = []
    const stuck = gate()
    class Stuck extends Workflow {
      static {
        this.resumableStep('hang', { checkpoint: 'each' })
      }
      async hang(iter: Iteration<number>) {
        for await (const item of iter.over([1, 2, 3])) {
          items.push(item)
          if (item === 2 && !iter.resumed) await stuck.passed
        }
      }
    }
    const leaving = under.another({ workflows: [Stuck] })
    const worker = await leaving.startWorker(quickly)
    const { id } = await leaving.start(Stuck)
    await waitFor(() => items.length === 2)
    await worker.stop()
    const rescuer = under.another({ workflows: [Stuck] })
    const wf = await rescuer.find(Stuck, id)
    expect(await wf?.currentExecutions()).toMatchObject([{ attempt: 1, state: 'scheduled' }])
    await rescuer.runDue(quickly)
    expect((await wf?.refresh())?.state).toBe('finished')
    expect(items).toEqual([1, 2, 2, 3])
    stuck.open()
    await leaving.close()
    expect(items).toEqual([1, 2, 2, 3])
    expect(await wf?.history()).toMatchObject([{ attempt: 1, outcome: 'success' }])
  })
})
