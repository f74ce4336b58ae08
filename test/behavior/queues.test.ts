/** Who runs what, and when: queues, limits and priorities. */
import { beforeEach, expect, it } from 'vitest'
import { type WorkerOptions, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const order: string[] = []
const running = new Map<string, number>()
const peaks = new Map<string, number>()

/** Counts how many steps of a queue run at once. */
async function occupy(queue: string): Promise<void> {
  const now = (running.get(queue) ?? 0) + 1
  running.set(queue, now)
  peaks.set(queue, Math.max(peaks.get(queue) ?? 0, now))
  await new Promise(resolve => setTimeout(resolve, 3))
  running.set(queue, (running.get(queue) ?? 0) - 1)
}

class Mail extends Workflow<null, { name?: string }> {
  static {
    this.jobOptions({ queue: 'mail' })
    this.step('send')
  }
  send() {
    order.push(this.input.name ?? 'mail')
  }
}

class Report extends Workflow {
  static {
    this.step('collect')
    this.step('print', { queue: 'printer' })
    this.step('file')
  }
  collect() {
    order.push('collect')
  }
  print() {
    order.push('print')
  }
  file() {
    order.push('file')
  }
}

class Relay extends Workflow {
  static {
    this.step('wide', { queue: 'wide' })
    this.step('narrow', { queue: 'narrow' })
    this.step('narrowAgain', { queue: 'narrow' })
    this.step('back', { queue: 'wide' })
  }
  async wide() {
    await occupy('wide')
  }
  async narrow() {
    await occupy('narrow')
  }
  async narrowAgain() {
    await occupy('narrow')
  }
  async back() {
    await occupy('wide')
  }
}

function ranked(priority: number, own?: number) {
  return class extends Workflow<null, { name: string }> {
    static {
      this.named(`ranked ${priority} ${own}`)
      this.jobOptions({ priority, queue: 'ranked' })
      this.step('go', own === undefined ? {} : { priority: own })
    }
    go() {
      order.push(this.input.name)
    }
  }
}
const Low = ranked(0)
const Middle = ranked(0, 50)
const High = ranked(100)

forEachDatabase('a worker', database => {
  const under = useGeneva(database, { workflows: [Mail, Report, Relay, Low, Middle, High] })
  beforeEach(() => {
    order.length = 0
    running.clear()
    peaks.clear()
  })

  async function withWorker(options: WorkerOptions, work: () => Promise<void>): Promise<void> {
    const worker = await under.geneva.startWorker({ ...quickly, ...options })
    try {
      await work()
    } finally {
      await worker.stop()
    }
  }

  it('takes only what stands in the queues that it serves', async () => {
    const mail = await under.geneva.start(Mail, {})
    const report = await under.geneva.start(Report)
    expect(await under.runDue({ queues: ['other'] })).toBe(0)
    await under.runDue({ queues: ['default'] })
    expect(order).toEqual(['collect'])
    expect(await report.currentExecutions()).toMatchObject([{ step: 'print', state: 'scheduled' }])
    await under.runDue({ queues: ['printer'] })
    expect(order).toEqual(['collect', 'print'])
    await under.runDue({ queues: ['default', 'mail'] })
    expect(order.slice(2).toSorted()).toEqual(['file', 'mail'])
    expect([(await mail.refresh()).state, (await report.refresh()).state]).toEqual(['finished', 'finished'])
  })

  it('serves every queue that the code names, unless it is told otherwise', async () => {
    const mail = await under.geneva.start(Mail, {})
    const report = await under.geneva.start(Report)
    await under.runDue()
    expect([(await mail.refresh()).state, (await report.refresh()).state]).toEqual(['finished', 'finished'])
  })

  it('serves a queue that a class was moved to without any other change', async () => {
    const Moved = mailIn('express')
    const geneva = under.another({ workflows: [Moved] })
    const later = await geneva.start(Moved)
    const before = await under.geneva.start(Mail, {})
    expect(await geneva.runDue(quickly)).toBe(2)
    expect([(await later.refresh()).state, (await before.refresh()).state]).toEqual(['finished', 'finished'])
  })

  it('never runs more at once than a queue allows, nor than it allows itself', async () => {
    const wfs = await under.geneva.startMany(
      Relay,
      Array.from({ length: 24 }, () => ({})),
    )
    await withWorker({ queues: { wide: 6, narrow: 2 }, concurrency: 7 }, async () => {
      await Promise.all(wfs.map(wf => wf.waitUntilFinished({ timeout: '20s' })))
    })
    expect(peaks.get('narrow')).toBe(2)
    expect(peaks.get('wide')).toBeGreaterThan(2)
    expect(peaks.get('wide')).toBeLessThanOrEqual(6)
  })

  it('never runs more at once than its concurrency', async () => {
    const wfs = await under.geneva.startMany(
      Relay,
      Array.from({ length: 12 }, () => ({})),
    )
    await withWorker({ concurrency: 3 }, async () => {
      await Promise.all(wfs.map(wf => wf.waitUntilFinished({ timeout: '20s' })))
    })
    expect(peaks.get('narrow')).toBeLessThanOrEqual(3)
    expect(peaks.get('wide')).toBe(3)
  })

  it('takes the higher priority first among what is due', async () => {
    const names = ['a', 'b']
    for (const name of names) await under.geneva.start(Low, { input: { name: `low ${name}` } })
    for (const name of names) await under.geneva.start(Middle, { input: { name: `middle ${name}` } })
    for (const name of names) await under.geneva.start(High, { input: { name: `high ${name}` } })
    await under.runDue({ queues: ['ranked'], concurrency: 1 })
    expect(order).toEqual(['high a', 'high b', 'middle a', 'middle b', 'low a', 'low b'])
  })

  it('starts them in that order also when it takes all at once', async () => {
    await under.geneva.start(Low, { input: { name: 'low' } })
    await under.geneva.start(Middle, { input: { name: 'middle' } })
    await under.geneva.start(High, { input: { name: 'high' } })
    await under.runDue({ queues: ['ranked'] })
    expect(order).toEqual(['high', 'middle', 'low'])
  })

  it('lets nothing wait for ever behind a higher priority', async () => {
    await under.geneva.start(Low, { input: { name: 'patient' } })
    await under.setClock(10 * 60_000)
    await under.geneva.start(High, { input: { name: 'urgent' } })
    await under.runDue({ queues: ['ranked'], concurrency: 1 })
    await under.setClock(0)
    expect(order).toEqual(['patient', 'urgent'])
  })

  it('takes nothing of high priority before it is due', async () => {
    const wf = await under.geneva.start(High, { input: { name: 'later' } }, { delay: '1 min' })
    expect(await under.runDue({ queues: ['ranked'] })).toBe(0)
    await wf.cancel()
  })

  it('leaves alone the workflows whose code it does not have', async () => {
    const stranger = under.another({ workflows: [Mail] })
    await stranger.startWorker({ ...quickly, queues: ['default', 'mail'] })
    const report = await under.geneva.start(Report)
    const mail = await under.geneva.start(Mail, {})
    await mail.waitUntilFinished({ timeout: '10s' })
    expect(await report.currentExecutions()).toMatchObject([{ step: 'collect', state: 'scheduled', attempt: 1 }])
    await under.runDue()
    await waitFor(async () => (await report.refresh()).state === 'finished')
    await stranger.close()
  })

  it.each([
    { concurrency: 0 },
    { concurrency: 1.5 },
    { queues: [] },
    { queues: [''] },
    { queues: { mail: 0 } },
    { queues: {} },
    { lease: 1000, heartbeat: 600 },
    { poll: -1 },
    { grace: 'soon' },
  ])('is refused with the options %o', async options => {
    await expect(under.geneva.startWorker(options as object)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

/** The class Mail after a deploy that changed only its queue. */
function mailIn(queue: string) {
  return class Mail extends Workflow {
    static {
      this.jobOptions({ queue })
      this.step('send')
    }
    send() {}
  }
}
