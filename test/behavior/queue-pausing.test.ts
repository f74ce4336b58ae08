/** A paused queue: nothing of it begins, in any process, until somebody resumes it. */
import { beforeEach, expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

let ran: string[] = []
let arrived = () => {}
let leave: Promise<void> = Promise.resolve()

class Mail extends Workflow<null, { name?: string }> {
  static {
    this.jobOptions({ queue: 'mail' })
    this.step('send')
  }
  send() {
    ran.push(this.input.name ?? 'mail')
  }
}

class Order extends Workflow {
  static {
    this.step('take')
    this.step('mail', { queue: 'mail' })
    this.step('close')
  }
  async take() {
    ran.push('take')
    arrived()
    await leave
  }
  mail() {
    ran.push('mail')
  }
  close() {
    ran.push('close')
  }
}

forEachDatabase('a queue', database => {
  const under = useGeneva(database, { workflows: [Mail, Order] })
  beforeEach(() => {
    ran = []
    leave = Promise.resolve()
  })
  const find = async (name: string) => (await under.geneva.queues.list()).find(queue => queue.name === name)

  it('that is paused is left alone by every process, and goes on when it is resumed', async () => {
    await under.geneva.queues.pause('mail', { by: 'ann', reason: 'the provider is down' })
    const wf = await under.geneva.start(Mail, {})
    const other = under.another()
    expect([await under.runDue(), await other.runDue(quickly)]).toEqual([0, 0])
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'send', state: 'scheduled', attempt: 1 }])
    await other.queues.resume('mail')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('is told with who paused it, why, what stands in it and for how long', async () => {
    await under.geneva.queues.pause('mail', { by: 'ann', reason: 'the provider is down' })
    await under.geneva.queues.pause('mail', { by: 'bob' })
    await under.geneva.startMany(Mail, [{}, {}])
    await under.geneva.start(Mail, {}, { delay: '1 hour' })
    await under.setClock(60_000)
    const [queue] = [await find('mail')]
    expect(queue).toMatchObject({
      paused: true,
      pausedBy: 'ann',
      pauseReason: 'the provider is down',
      pausedAt: expect.any(Date),
      running: 0,
      due: 2,
      later: 1,
      concurrency: null,
      rate: null,
    })
    expect(Math.round((queue?.ageMs ?? 0) / 10_000)).toBe(6)
    expect((await under.geneva.stats()).queues.find(({ queue: name }) => name === 'mail')?.due).toBe(2)
    await under.setClock(0)
    await under.geneva.queues.resume('mail')
    await under.geneva.queues.resume('mail')
    await under.runDue()
    expect(await find('mail')).toMatchObject({
      paused: false,
      pausedBy: null,
      pausedAt: null,
      due: 0,
      later: 1,
      ageMs: 0,
    })
  })

  it('is not entered by a workflow that was on its way into it when it was paused', async () => {
    let go = () => {}
    const there = new Promise<void>(resolve => {
      arrived = resolve
    })
    leave = new Promise(resolve => {
      go = resolve
    })
    const wf = await under.geneva.start(Order)
    const worker = await under.geneva.startWorker(quickly)
    await there
    await under.another().queues.pause('mail')
    go()
    await waitFor(async () => (await wf.currentExecutions())[0]?.step === 'mail')
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'mail', state: 'scheduled' }])
    expect(ran).toEqual(['take'])
    await under.another().queues.resume('mail')
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(ran).toEqual(['take', 'mail', 'close'])
    await worker.stop()
  })

  it('keeps what waits in the order in which it stands in line', async () => {
    await under.geneva.queues.pause('mail')
    for (const name of ['a', 'b', 'c']) await under.geneva.start(Mail, { input: { name } })
    await under.runDue()
    await under.geneva.queues.resume('mail')
    await under.runDue({ concurrency: 1 })
    expect(ran).toEqual(['a', 'b', 'c'])
  })

  it('is noticed by a worker that serves nothing else', async () => {
    await under.geneva.queues.pause('mail')
    const wf = await under.geneva.start(Mail, {})
    const worker = await under.another().startWorker({ ...quickly, queues: ['mail'] })
    await under.geneva.queues.resume('mail')
    await wf.waitUntilFinished({ timeout: '10s' })
    await worker.stop()
  })

  it('needs a name', async () => {
    await expect(under.geneva.queues.pause('')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(under.geneva.queues.limit('mail', { concurrency: 0 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
    await expect(under.geneva.queues.limit('mail', { most: 3 } as object)).rejects.toThrow('there is no option most')
  })
})
