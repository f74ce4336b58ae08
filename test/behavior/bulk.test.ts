/** Requests to many workflows at once, by filter. */
import { beforeEach, expect, it, vi } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Declined extends Error {}

let broken = true

class Payment extends Workflow<null, { amount: number }> {
  static {
    this.onException([[RangeError, 'dlq']])
    this.task('charge')
    this.task('notify', { wait: '1 day' })
    this.step('book', { dependsOn: 'charge' })
  }
  async charge() {
    if (broken && this.input.amount === 0) throw new RangeError('nothing to pay')
    if (broken && this.input.amount > 100) throw new Declined('too much')
    if (broken && this.input.amount < 0) throw new TypeError('negative')
    return this.input.amount
  }
  async notify() {}
  async book() {}
}

class Other extends Workflow {
  static {
    this.step('wait', { wait: '1 day' })
  }
  async wait() {}
}

forEachDatabase('a request to many workflows', database => {
  const under = useGeneva(database, { workflows: [Payment, Other] })

  beforeEach(async () => {
    await under.geneva.all({}).cancel()
    broken = true
  })

  async function start(...amounts: number[]) {
    const all = await under.geneva.startMany(
      Payment,
      amounts.map(amount => ({ input: { amount } })),
      { tags: ['batch'] },
    )
    await under.runDue()
    return all
  }

  async function states(all: Awaited<ReturnType<typeof start>>): Promise<string[]> {
    return Promise.all(all.map(async wf => (await wf.refresh()).state))
  }

  it('changes those that the filter finds, says who and why, and leaves the others alone', async () => {
    const payments = await start(1, 2, 3)
    const other = await under.geneva.start(Other)
    const report = await under.geneva.all({ workflow: Payment }).pause({ by: 'ann', reason: 'audit' })
    expect(report).toEqual({ found: 3, changed: 3, refused: [] })
    expect(await states(payments)).toEqual(['paused', 'paused', 'paused'])
    expect((await other.refresh()).state).toBe('ready')
    const paused = (await payments[0]?.events())?.findLast(event => event.type === 'workflow.paused')
    expect(paused).toMatchObject({ by: 'ann', reason: 'audit' })
    expect(await under.geneva.all({ state: 'paused' }).resume({ limit: 2 })).toMatchObject({ found: 2, changed: 2 })
    expect((await states(payments)).filter(state => state === 'paused')).toHaveLength(1)
  })

  it('with dryRun, or asked for the count, changes nothing', async () => {
    const payments = await start(1, 2)
    const all = under.geneva.all({ tag: 'batch' })
    expect(await all.count()).toBe(2)
    expect(await all.cancel({ dryRun: true })).toEqual({ found: 2, changed: 0, refused: [] })
    expect(await states(payments)).toEqual(['ready', 'ready'])
  })

  it('finds workflows by the step and the error that they failed with, and reattempts what has failed', async () => {
    const payments = await start(500, 600, -1, 5)
    const declined = under.geneva.all({ at: 'charge', error: 'Declined' })
    expect(await declined.count()).toBe(2)
    broken = false
    expect(await declined.reattempt()).toMatchObject({ found: 2, changed: 2 })
    await under.runDue()
    const charged = await Promise.all(payments.map(wf => wf.output('charge')))
    expect(charged).toEqual([500, 600, undefined, 5])
  })

  it('skips or resolves what has failed', async () => {
    const payments = await start(500, -1)
    await under.geneva.all({ error: 'Declined' }).resolve({ output: 7, by: 'ann' })
    await under.geneva.all({ error: 'TypeError' }).skip()
    await under.runDue()
    const charged = await Promise.all(payments.map(wf => wf.output('charge')))
    expect(charged).toEqual([7, undefined])
    const booked = await Promise.all(payments.map(async wf => (await wf.history()).some(row => row.step === 'book')))
    expect(booked).toEqual([true, true])
  })

  it('requeues and discards dead letters', async () => {
    const payments = await start(0, 0, 5)
    const dead = under.geneva.all({ state: 'dlq', letter: 'policy' })
    broken = false
    expect(await dead.requeue({ limit: 1, by: 'ann' })).toMatchObject({ found: 1, changed: 1 })
    expect(await dead.count()).toBe(1)
    expect(await dead.discard()).toMatchObject({ found: 1, changed: 1 })
    expect((await states(payments)).toSorted()).toEqual(['canceled', 'ready', 'ready'])
    expect(await under.geneva.deadLetters()).toEqual([])
  })

  it('tells which have refused', async () => {
    const [first, second] = await start(1, 2)
    await first?.pause()
    const { found, changed, refused } = await under.geneva.all({ workflow: Payment }).resume()
    expect([found, changed]).toEqual([2, 1])
    expect(refused).toMatchObject([{ id: second?.id, message: expect.stringContaining('Only a paused workflow') }])
    const none = await under.geneva.all({ workflow: Payment }).reattempt()
    expect(none).toMatchObject({ found: 2, changed: 0 })
  })

  it('finds those that were started long ago', async () => {
    await start(1)
    await under.setClock(3_600_000)
    await start(2)
    expect(await under.geneva.all({ olderThan: '30 min' }).count()).toBe(1)
    await under.setClock(0)
    await expect(under.geneva.all({}).cancel({ limit: 0 })).rejects.toThrow(/above 0/)
  })

  it('leaves everything as its events say', async () => {
    expect((await under.geneva.doctor()).findings).toEqual([])
  })

  it('to failed steps reaches those that were given up, whose letters are closed by that', async () => {
    const all = await start(0, 500)
    expect(await states(all)).toEqual(['dlq', 'ready'])
    expect(await under.geneva.all({ tag: 'batch' }).skip()).toMatchObject({ found: 2, changed: 2, refused: [] })
    for (const wf of all) {
      const charge = (await wf.nodesWithState()).find(({ name }) => name === 'charge')
      expect(charge?.state).toBe('skipped')
      expect((await wf.refresh()).state).toBe('ready')
    }
    expect(await under.geneva.deadLetters({ workflowId: all[0]?.id ?? '' })).toEqual([])
  })

  it('that breaks off has come to rest by then: nothing is changed any more', async () => {
    await under.geneva.startMany(
      Other,
      Array.from({ length: 50 }, () => ({})),
    )
    const store = await under.geneva.openedStore()
    const change = store.change.bind(store)
    let asked = 0
    const broken = vi.spyOn(store, 'change').mockImplementation(async (...given) => {
      if (++asked === 6) throw new TypeError('the disk is full')
      return change(...given)
    })
    const left = () => under.geneva.all({ workflow: Other }).count()
    try {
      await expect(under.geneva.all({ workflow: Other }).cancel()).rejects.toThrow('the disk is full')
      const before = [asked, await left()]
      expect(before[1]).toBeGreaterThanOrEqual(41)
      for (let look = 0; look < 10; look++) expect([asked, await left()]).toEqual(before)
    } finally {
      broken.mockRestore()
    }
    expect(await under.geneva.all({ workflow: Other }).cancel()).toMatchObject({ refused: [] })
    expect(await left()).toBe(0)
  })

  it('by names and ids finds them without their classes, and ends them at once', async () => {
    const payments = await start(1, 2)
    const other = await under.geneva.start(Other)
    const report = await under.geneva.all({ where: { type: 'Payment', tag: 'batch' } }).abort({ by: 'ann' })
    expect(report).toEqual({ found: 2, changed: 2, refused: [] })
    expect(await states(payments)).toEqual(['aborted', 'aborted'])
    expect((await other.refresh()).state).toBe('ready')
  })
})
