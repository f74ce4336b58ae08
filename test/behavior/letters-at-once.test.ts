/** Several people, or processes, at the same letter or rollback: one of them counts, and the others are told. */
import { beforeEach, expect, it } from 'vitest'
import { Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const calls: string[] = []
let broken = true
let stuck = true

class Parcel extends Workflow {
  static {
    this.named('parcel at once')
    this.step('weigh', { onException: 'dlq' })
  }
  async weigh() {
    calls.push('weigh')
    if (broken) throw new Error('too heavy')
  }
}

class Trip extends Workflow {
  static {
    this.named('trip at once')
    this.defaults({ deadline: '1 hour' })
    this.step('book', { compensate: 'unbook' })
    this.savePoint('booked')
    this.step('pay', { compensate: { step: 'refund', retry: { attempts: 2, backoff: () => 60_000, jitter: false } } })
    this.step('leave', { onException: 'rollback' })
  }
  async book() {}
  async unbook() {
    calls.push('unbook')
  }
  async pay() {}
  async refund() {
    calls.push('refund')
    if (stuck) throw new Error('the bank is closed')
  }
  async leave() {
    throw new Error('no bus')
  }
}

forEachDatabase('many at once', database => {
  const under = useGeneva(database, { workflows: [Parcel, Trip] })

  beforeEach(async () => {
    await under.setClock(0)
    calls.length = 0
    broken = true
    stuck = true
  })

  async function given(): Promise<{ wf: WorkflowHandle<any>; id: string }> {
    const wf = await under.geneva.start(Parcel)
    await under.runDue()
    const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
    broken = false
    return { wf, id: letter?.id ?? '' }
  }

  async function sound(wf: WorkflowHandle<any>): Promise<void> {
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
    expect(await wf.verifyHistory()).toBeNull()
    expect(await wf.currentExecutions()).toEqual([])
  }

  it('requeue a letter: one of them does, and its step runs once', async () => {
    const { wf, id } = await given()
    const others = [under.geneva, under.another(), under.another()]
    const results = await Promise.allSettled(others.map(geneva => geneva.requeue(id)))
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBe(1)
    const refused = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
    expect(refused.map(error => error.code)).toEqual(['INVALID_STATE', 'INVALID_STATE'])
    await under.runDue()
    expect([(await wf.refresh()).state, calls]).toEqual(['finished', ['weigh', 'weigh']])
    await sound(wf)
  })

  it('requeue and discard a letter: one of both counts', async () => {
    const { wf, id } = await given()
    const [requeue, discard] = await Promise.allSettled([under.geneva.requeue(id), under.another().discard(id)])
    expect([requeue.status, discard.status].toSorted()).toEqual(['fulfilled', 'rejected'])
    await under.runDue()
    expect((await wf.refresh()).state).toBe(requeue.status === 'fulfilled' ? 'finished' : 'canceled')
    await sound(wf)
  })

  it('requeue and discard the letter of a compensation after the end: one of both counts', async () => {
    const wf = await under.geneva.start(Trip)
    await under.runDue()
    await under.setClock(61_000)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
    const id = letter?.id ?? ''
    stuck = false
    const both = await Promise.allSettled([
      under.geneva.requeue(id),
      under.another().requeue(id),
      under.another().discard(id),
    ])
    expect(both.filter(({ status }) => status === 'fulfilled').length).toBe(1)
    await under.runDue()
    const isRequeued = both[2]?.status === 'rejected'
    expect(calls).toEqual(['refund', 'refund', ...(isRequeued ? ['refund'] : [])])
    expect((await wf.history()).find(({ step }) => step === 'pay')?.state).toBe(isRequeued ? 'rolled_back' : 'failed')
    await sound(wf)
  })

  it('cancel while a compensation waits to be tried again: the rollback goes on to the start', async () => {
    const wf = await under.geneva.start(Trip)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('rolling_back')
    const both = await Promise.allSettled([wf.cancel(), (await under.another().find(wf.id))?.cancel()])
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    stuck = false
    await under.setClock(61_000)
    await under.runDue()
    expect([(await wf.refresh()).state, calls]).toEqual(['canceled', ['refund', 'refund', 'unbook']])
    await sound(wf)
  })

  it('a deadline that passes while a rollback waits changes nothing about it', async () => {
    const wf = await under.geneva.start(Trip)
    await under.runDue()
    stuck = false
    await under.setClock(2 * 3_600_000)
    await under.runDue()
    expect([(await wf.refresh()).state, calls]).toEqual(['failed', ['refund', 'refund']])
    await sound(wf)
  })
})
