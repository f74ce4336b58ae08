/** When a checkpoint is durable, seen from another connection, and what becomes of a run whose claim is gone. */
import { setTimeout as wait } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import type { CheckpointOption } from '../../src/definition/step-options.ts'
import { type Iteration, Workflow, type WorkflowHandle } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { openSameStore } from '../support/open-store.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
/** What was seen inside each item, by workflow. */
const seen = new Map<string, unknown[]>()
let look: (id: string) => Promise<number | null> = async () => null
/** Another database gives the same ids again. */
let url = ''
const gateOf = ({ id }: { id: string }) => `${url} ${id}`

/** Steps that look from outside, inside every item of their own, at how far they have come. */
function looking(name: string, checkpoint: CheckpointOption | undefined) {
  return class extends Workflow<null, { items: number; stopAt?: number }> {
    static {
      this.named(name)
      this.resumableStep('look', checkpoint === undefined ? {} : { checkpoint })
    }
    async look(iter: Iteration<number>) {
      const mine = seen.get(this.id) ?? []
      seen.set(this.id, mine)
      for await (const item of iter.over(Array.from({ length: this.input.items }, (_, index) => index + 1))) {
        const { stopAt = Number.POSITIVE_INFINITY } = this.input
        if (item === stopAt && !iter.resumed) await gates.stop(gateOf(this), this.signal)
        // Whoever pauses is heard while items take their time.
        if (item > stopAt) await wait(5)
        mine.push(await look(this.id))
      }
    }
  }
}

const Each = looking('Each', 'each')
const Coalesced = looking('Coalesced', undefined)
const Hundred = looking('Hundred', { items: 100 })
const Timed = looking('Timed', { time: 30 })

forEachDatabase('a checkpoint', database => {
  const workflows = [Each, Coalesced, Hundred, Timed]
  const under = useGeneva(database, { workflows, worker: true })
  let other: Store
  beforeAll(async () => {
    seen.clear()
    url = under.url
    other = await openSameStore(url)
    look = async id => {
      const [row] = await other.activeExecutions(id)
      return row?.progress.cursor ? Number(row.progress.cursor) : null
    }
    return () => other.close()
  })

  it('after each item is durable before the next one begins', async () => {
    const wf = await under.geneva.start(Each, { input: { items: 6 } })
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(seen.get(wf.id)).toEqual([null, 1, 2, 3, 4, 5])
  })

  it('by default follows soon, also while the next item takes its time', async () => {
    const wf = await under.geneva.start(Coalesced, { input: { items: 40, stopAt: 31 } })
    await gates.arrived(gateOf(wf))
    await waitFor(async () => (await look(wf.id)) === 30)
    gates.open(gateOf(wf))
    await wf.waitUntilFinished({ timeout: '10s' })
    const places = seen.get(wf.id)?.map(Number) ?? []
    expect(places).toEqual(places.toSorted((one, another) => one - another))
    expect((await other.history(wf.id))[0]?.progress).toMatchObject({ cursor: '40', completedIterations: 40 })
  })

  it('after a hundred items comes then and only then, and at the end', async () => {
    const wf = await under.geneva.start(Hundred, { input: { items: 250 } })
    await wf.waitUntilFinished({ timeout: '10s' })
    const expected = Array.from({ length: 250 }, (_, index) => Math.floor(index / 100) * 100 || null)
    expect(seen.get(wf.id)).toEqual(expected)
    expect((await other.history(wf.id))[0]?.progress).toMatchObject({ cursor: '250', completedIterations: 250 })
  })

  it('after a hundred items comes when the step stops as well', async () => {
    const wf = await under.geneva.start(Hundred, { input: { items: 70, stopAt: 33 } })
    await gates.arrived(gateOf(wf))
    expect(await look(wf.id)).toBeNull()
    await wf.pause()
    gates.open(gateOf(wf))
    await waitFor(async () => (await wf.currentExecutions())[0]?.state === 'paused')
    expect(await look(wf.id)).toBe(seen.get(wf.id)?.length)
  })

  it('after some time comes also when the next item takes longer', async () => {
    const wf = await under.geneva.start(Timed, { input: { items: 5, stopAt: 4 } })
    await gates.arrived(gateOf(wf))
    await waitFor(async () => (await look(wf.id)) === 3)
    gates.open(gateOf(wf))
    await wf.waitUntilFinished({ timeout: '10s' })
  })
})

forEachDatabase('a step whose claim is gone', database => {
  const under = useGeneva(database, { workflows: [Each] })
  let other: Store
  beforeAll(async () => {
    seen.clear()
    url = under.url
    other = await openSameStore(url)
    look = async id => (await other.activeExecutions(id))[0]?.attempt ?? null
    return () => other.close()
  })

  /** A step that stands at an item while everybody believes its worker to be dead. */
  async function abandoned(): Promise<{ wf: WorkflowHandle<any>; stop(): Promise<void> }> {
    const doomed = under.another()
    const worker = await doomed.startWorker({ ...quickly, heartbeat: '5s' })
    const wf = await under.geneva.start(Each, { input: { items: 6, stopAt: 3 } })
    await gates.arrived(gateOf(wf))
    const [row] = await other.activeExecutions(wf.id)
    await other.retireWorker(row?.owner ?? '')
    return {
      wf,
      async stop() {
        await worker.stop()
        await doomed.close()
      },
    }
  }

  it('stops at its next checkpoint, and nothing that it says counts', async () => {
    const { wf, stop } = await abandoned()
    await waitFor(async () => {
      // The one that is believed dead looks for abandoned work as well, and what it holds just then is passed over.
      await under.runDue()
      return (await wf.refresh()).state === 'finished'
    })
    // The second attempt has done what was left.
    expect(seen.get(wf.id)).toEqual([1, 1, 2, 2, 2, 2])
    const events = await wf.events()
    gates.open(gateOf(wf))
    await waitFor(() => seen.get(wf.id)?.length === 7)
    // Time enough for the items that would come next.
    for (let i = 0; i < 20; i++) await look(wf.id)
    await stop()
    expect(seen.get(wf.id)).toHaveLength(7)
    expect(await wf.events()).toEqual(events)
    expect((await other.history(wf.id)).map(row => [row.attempt, row.outcome, row.progress.cursor])).toEqual([
      [1, 'recovered', '2'],
      [2, 'success', '6'],
    ])
  })
})
