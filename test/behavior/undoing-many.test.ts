/** Rollbacks of much that was done: a step of one looks at what comes next, and not at all that was and will be undone. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { JobRegistry } from '../../src/definition/job-registry.ts'
import { Registry } from '../../src/definition/registry.ts'
import { ScheduleRegistry } from '../../src/definition/schedule-registry.ts'
import { Engine } from '../../src/engine/engine.ts'
import { Ticks } from '../../src/engine/ticks.ts'
import { type Compensation, type Decision, Workflow } from '../../src/index.ts'
import { SqlStore } from '../../src/store/sql/sql-store.ts'
import { ErrorListener } from '../../src/worker/error-listener.ts'
import { Worker } from '../../src/worker/worker.ts'
import { workerSettings } from '../../src/worker/worker-options.ts'
import { forEachDatabase } from '../support/databases.ts'
import { planners } from '../support/planners.ts'
import { type Recording, recordingDatabase } from '../support/recording-database.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

const many = 500
const few = 100
/** Each of these is given up, requeued and undone, one by one. */
const several = 200

let calls: (number | string)[] = []
let onCall: (item: number) => Promise<void> | void = () => {}

function itemsOf(wf: { readonly input: { readonly items: number } }): number[] {
  return Array.from({ length: wf.input.items }, (_, index) => index)
}

class Mailing extends Workflow<null, { items: number }> {
  static {
    this.named('mailing')
    this.each('mail', { items: itemsOf, compensate: { step: 'takeBack', retry: { attempts: 1 } } })
    this.step('close', { onException: 'rollback' })
  }
  async mail(item: number) {
    return item
  }
  async takeBack({ item }: Compensation<Mailing['mail'], number>) {
    calls.push(item)
    await onCall(item)
  }
  async close() {
    throw new Error('not closed')
  }
}

/** Has long stretches of which nothing has to be undone by anybody. */
class Tour extends Workflow<null, { items: number }> {
  static {
    this.named('tour')
    this.onException('rollback')
    this.step('book', { compensate: 'unbook' })
    this.each('ask', { items: itemsOf })
    this.savePoint('asked')
    this.step('pay', { compensate: 'refund' })
    this.each('tell', { items: itemsOf, retry: { attempts: 2, backoff: 'fixed', delay: 0 } })
    this.step('insure', { compensate: 'quit' })
    this.step('leave')
  }
  async book() {}
  async unbook() {
    calls.push('unbook')
  }
  async ask(_: number) {}
  async pay() {}
  async refund() {
    calls.push('refund')
    await onCall(0)
  }
  async tell(item: number) {
    if (item % 2 === 0 && this.execution.attempt === 1) throw new Error('nobody at home')
  }
  async insure() {}
  async quit() {
    calls.push('quit')
  }
  async leave() {
    throw new Error('no bus')
  }
}

/** Is sent back once, so that what is undone looks for what it has come from. */
class Rounds extends Workflow<null, { items: number }> {
  static {
    this.named('rounds')
    this.onException('rollback')
    this.step('write')
    this.each('mail', { items: itemsOf, compensate: 'takeBack' })
    for (const pad of ['p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7', 'p8'] as const) this.step(pad)
    this.step('seal', { compensate: 'open' })
    this.human('accept', { onReject: { backTo: 'write' } })
    this.step('close')
  }
  async write() {
    return this.execution.attempt
  }
  async mail(item: number) {
    return item
  }
  async takeBack({ item }: Compensation<Rounds['mail'], number>) {
    calls.push(`${item} of ${await this.output(this.write)}`)
    await onCall(item)
  }
  async p1() {}
  async p2() {}
  async p3() {}
  async p4() {}
  async p5() {}
  async p6() {}
  async p7() {}
  async p8() {}
  async seal() {}
  async open() {
    calls.push(`seal of ${await this.output(this.write)}`)
  }
  async accept(_: Decision) {}
  async close() {
    throw new Error('not closed')
  }
}

forEachDatabase('undoing much', database => {
  const under = useGeneva(database, { workflows: [Mailing, Tour, Rounds] })
  let recording: Recording
  let store: SqlStore

  beforeAll(async () => {
    recording = recordingDatabase(await planners[database.name].open(under.url))
    store = new SqlStore(recording.database, {})
    await store.migrate()
  })
  afterAll(() => store.close())

  beforeEach(() => {
    calls = []
    onCall = () => {}
  })

  /** A worker that is alone, and a count of the rows that it reads from the call of one compensation to that of the next. */
  async function reader() {
    const engine = new Engine(store, new Registry([Mailing, Rounds]), new JobRegistry([], []))
    await engine.register()
    const ticks = new Ticks(engine, new ScheduleRegistry([]), 1000)
    const onError = new ErrorListener(() => {})
    const settings = workerSettings(quickly)
    const limits = { maxInputBytes: 1000, maxOutputBytes: 1000 }
    const worker = new Worker({ engine, ticks, settings, onError, ...limits, retention: new Map() })
    calls = []
    const read: number[] = []
    const count = () => void read.push(recording.answered())
    const betweenCalls = () => read.slice(1).map((seen, index) => seen - (read[index] ?? 0))
    return { engine, worker, count, betweenCalls }
  }

  async function readBetweenCalls(items: number): Promise<number[]> {
    const wf = await under.geneva.start(Mailing, { input: { items } })
    const { worker, count, betweenCalls } = await reader()
    onCall = count
    await worker.drain()
    expect((await wf.refresh()).state).toBe('failed')
    expect(new Set(calls).size).toBe(items)
    const ends = (await wf.events()).filter(({ type, node }) => type === 'step.completed' && node?.includes('/'))
    expect(calls).toEqual(ends.toReversed().map(({ node }) => Number(node?.split('/')[1])))
    expect((await wf.history()).every(({ state }) => state === 'rolled_back')).toBe(true)
    return betweenCalls()
  }

  /** The same after the end, when nothing could be undone before and everything was requeued; and what each requeue read. */
  async function readAfterTheEnd(items: number): Promise<{ requeues: number[]; runs: number[] }> {
    const wf = await under.geneva.start(Mailing, { input: { items } })
    const { engine, worker, count, betweenCalls } = await reader()
    onCall = () => {
      throw new Error('not now')
    }
    await worker.drain()
    const letters = await store.listLetters({ workflowId: wf.id, state: 'open', limit: items + 1 })
    expect(letters.length).toBe(items)
    const requeues: number[] = []
    for (const { id } of letters) {
      const before = recording.answered()
      await engine.requeue({ letterId: id, request: { by: null, reason: null }, input: null })
      requeues.push(recording.answered() - before)
    }
    calls = []
    onCall = count
    await (await reader()).worker.drain()
    calls = [...new Set(calls)]
    expect(calls.length).toBe(items)
    expect((await wf.refresh()).state).toBe('failed')
    expect((await wf.history()).filter(({ state }) => state === 'compensating' || state === 'failed')).toEqual([])
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
    return { requeues, runs: betweenCalls() }
  }

  const mean = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0) / counts.length

  it(`reads as much for each of ${several} that are undone once more after the end as for each of ${few}`, async () => {
    const withFew = await readAfterTheEnd(few)
    const withMany = await readAfterTheEnd(several)
    for (const part of ['requeues', 'runs'] as const) {
      expect(mean(withFew[part])).toBeLessThan(few)
      expect(mean(withMany[part])).toBeLessThan(mean(withFew[part]) * 1.5)
      expect(Math.max(...withMany[part])).toBeLessThan(several)
    }
  })

  it('finds what each round has left without reading all that was done', async () => {
    const read: number[] = []
    for (const items of [20, 100]) {
      const wf = await under.geneva.start(Rounds, { input: { items } })
      await under.runDue()
      await wf.decide('accept', { by: 'ann', decision: 'rejected' })
      await under.runDue()
      await wf.decide('accept', { by: 'ann', decision: 'confirmed' })
      const { worker, count, betweenCalls } = await reader()
      onCall = count
      await worker.drain()
      expect((await wf.refresh()).state).toBe('failed')
      expect(calls.map(call => String(call).split(' of ')[1])).toEqual([
        ...Array.from({ length: items + 1 }, () => '2'),
        ...Array.from({ length: items + 1 }, () => '1'),
      ])
      expect([calls[0], calls[items + 1]]).toEqual(['seal of 2', 'seal of 1'])
      read.push(mean(betweenCalls()))
    }
    expect(read[1]).toBeLessThan((read[0] ?? 0) * 1.5)
  })

  it(`reads as much for each of ${many} items as for each of ${few}`, async () => {
    const withFew = await readBetweenCalls(few)
    const withMany = await readBetweenCalls(many)
    expect(mean(withFew)).toBeLessThan(few)
    // Some have to look further, and the worker reads some rows for itself every other second. None reads all that was done.
    expect(mean(withMany)).toBeLessThan(mean(withFew) * 1.5)
    expect(Math.max(...withMany)).toBeLessThan(many)
  })

  it('passes by what nobody has to be called for, however much it is, and stops at the save point', async () => {
    const wf = await under.geneva.start(Tour, { input: { items: 40 } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls).toEqual(['quit', 'refund'])
    const states = (await wf.history()).map(({ step, state, outcome }) => `${step.split('/')[0]} ${state} ${outcome}`)
    expect(new Set(states)).toEqual(
      new Set([
        'book completed success',
        'ask completed success',
        'asked completed success',
        'pay rolled_back success',
        'tell failed reattempted_by_exception',
        'tell rolled_back success',
        'insure rolled_back success',
        'leave rolled_back rolled_back_by_exception',
      ]),
    )
    expect(await wf.verifyHistory()).toBeNull()
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  })

  it('goes on past the save point to the start when it is canceled meanwhile', async () => {
    const wf = await under.geneva.start(Tour, { input: { items: 40 } })
    onCall = async () => {
      await wf.cancel()
    }
    await under.runDue()
    expect((await wf.refresh()).state).toBe('canceled')
    expect(calls).toEqual(['quit', 'refund', 'unbook'])
    expect((await wf.history()).filter(({ state }) => state === 'completed')).toEqual([])
  })

  it('comes back next to what was given up and is requeued meanwhile, and then goes on where it was', async () => {
    const wf = await under.geneva.start(Mailing, { input: { items: 30 } })
    let isShut = true
    onCall = async item => {
      if (calls.length === 3 && isShut) throw new Error(`${item} cannot be taken back`)
      if (calls.length !== 20) return
      isShut = false
      const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
      await under.geneva.requeue(letter?.id ?? '')
    }
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls.length).toBe(31)
    expect(calls[20]).toBe(calls[2])
    expect(new Set([...calls.slice(0, 20), ...calls.slice(21)]).size).toBe(30)
    expect((await wf.history()).every(({ state }) => state === 'rolled_back')).toBe(true)
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  })
})
