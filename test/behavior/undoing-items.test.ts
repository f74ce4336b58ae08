/** Items of `each` nodes in a rollback: every one that is done is undone on its own, with its item and what it returned. */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, defineJob, type Signal, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

let calls: string[] = []
let stuck = new Set<string>()
let failing = new Set<number>()

const reserve = defineJob('reserve', async ({ seat }: { seat: number }) => {
  if (failing.has(seat)) throw new Error(`seat ${seat} is taken`)
  return { code: `s${seat}` }
})

class Tour extends Workflow<null, { fails?: boolean }> {
  static {
    this.named('tour')
    this.onException('rollback')
    this.step('pay', { compensate: 'refund' })
    this.each('rooms', {
      items: () => [1, 2, 3],
      concurrency: 1,
      compensate: { step: 'leave', retry: { attempts: 2, backoff: 'fixed', delay: 0 } },
    })
    this.eachJob('seats', { job: reserve, items: () => [{ seat: 7 }, { seat: 8 }], concurrency: 1, compensate: 'free' })
    this.step('depart')
    this.waitFor('returned')
  }
  async pay() {}
  async refund() {
    calls.push('refund')
  }
  async rooms(room: number) {
    if (failing.has(room)) throw new Error(`room ${room} is gone`)
    return { key: `r${room}` }
  }
  async leave({ item, output, node, attempt }: Compensation<Tour['rooms']>) {
    calls.push(`leave ${node} ${item} ${output?.key} ${attempt}`)
    if (stuck.has(node)) throw new Error(`${node} is locked`)
  }
  async free({ item, output, node }: Compensation<{ code: string }, { seat: number }>) {
    calls.push(`free ${node} ${item.seat} ${output?.code}`)
  }
  async depart() {
    if (this.input.fails !== false) throw new Error('no bus')
  }
  async returned(_: Signal) {}
}

/** Its items are given up one by one. */
class Held extends Workflow {
  static {
    this.each('rooms', { items: () => [1, 2, 3], concurrency: 1, onException: 'dlq', compensate: 'leave' })
    this.step('depart', { onException: 'rollback' })
  }
  async rooms(room: number) {
    if (failing.has(room)) throw new Error(`room ${room} is gone`)
    return { key: `r${room}` }
  }
  async leave({ item, output, node }: Compensation<Held['rooms']>) {
    calls.push(`leave ${node} ${item} ${output?.key}`)
  }
  async depart() {
    throw new Error('no bus')
  }
}

forEachDatabase('an item of an each node', database => {
  const under = useGeneva(database, { workflows: [Tour, Held], jobs: [reserve] })

  beforeEach(() => {
    calls = []
    stuck = new Set()
    failing = new Set()
  })

  async function run(input: { fails?: boolean } = {}) {
    const wf = await under.geneva.start(Tour, { input })
    await under.runDue()
    return wf.refresh()
  }

  type Run = Awaited<ReturnType<typeof run>>

  async function states(wf: Run): Promise<Record<string, string>> {
    return Object.fromEntries((await wf.history()).map(({ step, state }) => [step, state]))
  }

  async function expectSound(wf: Run): Promise<void> {
    expect(await wf.verifyHistory()).toBeNull()
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  }

  const allUndone = [
    'free seats/1 8 s8',
    'free seats/0 7 s7',
    'leave rooms/2 3 r3 1',
    'leave rooms/1 2 r2 1',
    'leave rooms/0 1 r1 1',
    'refund',
  ]

  it('is undone on its own after a failure, newest first with all else, with its item and its output', async () => {
    const wf = await run()
    expect(wf.state).toBe('failed')
    expect(calls).toEqual(allUndone)
    expect(new Set(Object.values(await states(wf)))).toEqual(new Set(['rolled_back']))
    expect((await wf.compensations()).map(({ step, outcome }) => [step, outcome])).toEqual(
      ['seats/1', 'seats/0', 'rooms/2', 'rooms/1', 'rooms/0', 'pay'].map(step => [step, 'compensated']),
    )
    await expectSound(wf)
  })

  it('is undone by a cancel, as the preview says', async () => {
    const wf = await run({ fails: false })
    expect((await wf.previewRollback()).map(({ step, compensation }) => [step, compensation])).toEqual([
      ['depart', null],
      ['seats', null],
      ['seats/1', 'free'],
      ['seats/0', 'free'],
      ['rooms', null],
      ['rooms/2', 'leave'],
      ['rooms/1', 'leave'],
      ['rooms/0', 'leave'],
      ['pay', 'refund'],
    ])
    await wf.cancel({ by: 'ann' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('canceled')
    expect(calls).toEqual(allUndone)
    await expectSound(wf)
  })

  it('is shown with what undoes it, where there is one', async () => {
    const undoing = async (id: string) => {
      const { nodes } = await under.geneva.views.graph(id)
      return nodes.filter(({ kind }) => kind === 'compensation').map(({ compensates, state }) => [compensates, state])
    }
    const waiting = await under.geneva.start(Tour, {}, { delay: '1 day' })
    expect(await undoing(waiting.id)).toEqual(['pay', 'rooms', 'seats'].map(step => [step, 'pending']))
    await waiting.cancel()
    const undone = ['pay', 'rooms/0', 'rooms/1', 'rooms/2', 'seats/0', 'seats/1']
    expect(await undoing((await run()).id)).toEqual(undone.map(step => [step, 'completed']))
  })

  it('is undone by a graph that was frozen', async () => {
    const wf = await run({ fails: false })
    const { nodes } = await under.geneva.freeze(wf.id)
    expect(nodes.rooms?.compensation).toEqual({ name: 'leave' })
    await wf.cancel()
    await under.runDue()
    expect(calls).toEqual(allUndone)
    await expectSound(wf)
  })

  it('is undone when another one fails: that one as well, and those that never began are left alone', async () => {
    failing.add(2)
    const wf = await run()
    expect(wf.state).toBe('failed')
    expect(calls).toEqual(['leave rooms/1 2 undefined 1', 'leave rooms/0 1 r1 1', 'refund'])
    expect(await states(wf)).toEqual({
      pay: 'rolled_back',
      rooms: 'skipped',
      'rooms/0': 'rolled_back',
      'rooms/1': 'rolled_back',
      'rooms/2': 'skipped',
    })
    await expectSound(wf)
  })

  it('has retries of its own, and a dead letter of its own, which can be requeued after the end', async () => {
    stuck.add('rooms/1')
    const wf = await run()
    expect(wf.state).toBe('failed')
    expect(calls.slice(2)).toEqual([
      'leave rooms/2 3 r3 1',
      'leave rooms/1 2 r2 1',
      'leave rooms/1 2 r2 2',
      'leave rooms/0 1 r1 1',
      'refund',
    ])
    const [letter, ...others] = await under.geneva.deadLetters({ workflowId: wf.id })
    expect(others).toEqual([])
    expect(letter).toMatchObject({ step: 'rooms/1', kind: 'compensate', reason: 'compensation_exhausted' })
    expect((await states(wf))['rooms/1']).toBe('failed')
    stuck.clear()
    await under.geneva.requeue(letter?.id ?? '')
    await under.runDue()
    expect(calls.at(-1)).toBe('leave rooms/1 2 r2 3')
    expect((await states(wf))['rooms/1']).toBe('rolled_back')
    await expectSound(wf)
  })

  it('whose worker dies while it is undone is undone by another, and what was undone stays so', async () => {
    const wf = await under.geneva.start(Tour)
    await under.runDue({ maxSteps: 12 })
    expect(calls).toEqual(allUndone.slice(0, 3))
    const store = await under.geneva.openedStore()
    const dead = `dead ${database.name} ${wf.id}`
    await store.registerWorker({ id: dead, host: 'test', pid: 1, leaseMs: 1, handlers: ['tour'] })
    const source = { queue: 'default', handler: 'tour', generation: 1 }
    const [claimed] = await store.claim({ workerId: dead, sources: [source], limit: 1, workflowId: wf.id })
    expect(claimed?.execution).toMatchObject({ node: 'rooms/1', kind: 'compensate' })
    const worker = await under.geneva.startWorker({ poll: 20, lease: 500 })
    await waitFor(async () => (await wf.refresh()).state === 'failed', 20_000)
    await worker.stop()
    expect(calls).toEqual([...allUndone.slice(0, 3), 'leave rooms/1 2 r2 2', ...allUndone.slice(4)])
    await expectSound(wf)
  })

  it('that was requeued with another input is undone with that, and one that was resolved with its item', async () => {
    failing = new Set([2, 3])
    const wf = await under.geneva.start(Held)
    await under.runDue()
    const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
    await under.geneva.requeue(letter?.id ?? '', { input: 20 })
    await under.runDue()
    await under.geneva.resolve(wf.id, 'rooms/2', { output: { key: 'by hand' } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls).toEqual(['leave rooms/2 3 by hand', 'leave rooms/1 20 r20', 'leave rooms/0 1 r1'])
  })

  it('that a rerun has taken over is undone with its item', async () => {
    const wf = await run({ fails: false })
    const again = await under.geneva.rerun(wf.id, { from: 'depart' })
    await under.runDue()
    await again.cancel()
    await under.runDue()
    expect((await again.refresh()).state).toBe('canceled')
    expect(calls.toSorted()).toEqual(allUndone.toSorted())
    await wf.cancel()
    await under.runDue()
  })
})
