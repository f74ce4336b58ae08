/** Cancel from outside: at once where nothing runs, else as soon as the running step has ended or had its time to. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
const ran: string[] = []

class Long extends Workflow<null, { gate: string; ends?: 'throws' | 'heeds' | 'finishes' | 'skips' }> {
  static {
    this.step('long')
    this.step('after')
  }
  async long() {
    const { gate, ends } = this.input
    const { signal } = this
    if (ends === 'heeds') {
      gates.stop(gate, signal)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    await gates.stop(gate, signal)
    if (ends === 'throws') throw new Error('while it was canceled')
    if (ends === 'finishes') this.finish('early')
    if (ends === 'skips') this.skip()
    return 'done'
  }
  after() {
    ran.push('after')
  }
}

class Quick extends Workflow<null, { database?: string }> {
  static {
    this.step('only')
  }
  only() {
    ran.push(`${this.input.database} ${this.id}`)
  }
}

class Sleeper extends Workflow {
  static {
    this.step('wake', { wait: '30 days' })
  }
  wake() {}
}

class Stubborn extends Workflow<null, { gate: string }> {
  static {
    this.jobOptions({ queue: 'stubborn' })
    this.step('long')
  }
  async long() {
    await gates.stop(this.input.gate, this.signal)
    return 'too late'
  }
}

class Hasty extends Stubborn {
  static {
    this.jobOptions({ queue: 'hasty' })
    this.defaults({ stopGrace: '5s' })
  }
}

forEachDatabase('cancel', database => {
  const under = useGeneva(database, {
    workflows: [Long, Quick, Sleeper, Stubborn, Hasty],
    worker: { heartbeat: 50, queues: ['default'] },
  })
  let count = 0

  async function running(ends?: 'throws' | 'heeds' | 'finishes' | 'skips') {
    const gate = `${database.name} ${++count}`
    const wf = await under.geneva.start(Long, { input: { gate, ...(ends ? { ends } : {}) } })
    return { wf, gate, signal: await gates.arrived(gate) }
  }

  async function aborted(signal: AbortSignal): Promise<unknown> {
    await waitFor(() => signal.aborted)
    return signal.reason
  }

  async function ended(wf: WorkflowHandle): Promise<void> {
    await waitFor(async () => (await wf.refresh()).state === 'canceled')
    expect(await wf.currentExecutions()).toEqual([])
    expect(wf.canceledAt).toBeInstanceOf(Date)
  }

  it('ends a sleeping workflow at once', async () => {
    const wf = await under.geneva.start(Sleeper)
    await wf.cancel({ by: 'ann', reason: 'customer asked' })
    expect(wf.state).toBe('canceled')
    expect(await wf.history()).toMatchObject([
      { step: 'wake', state: 'canceled', outcome: 'stopped', reason: 'customer asked' },
    ])
    expect((await wf.events()).slice(2)).toMatchObject([
      { type: 'step.canceled', by: 'ann', reason: 'customer asked' },
      { type: 'workflow.canceled', from: 'ready', by: 'ann', reason: 'customer asked' },
    ])
  })

  it('tells a running step, waits for it, and records that it completed all the same', async () => {
    ran.length = 0
    const { wf, gate, signal } = await running()
    await wf.cancel({ by: 'ann' })
    expect(wf.state).toBe('rolling_back')
    expect(await aborted(signal)).toBe('canceled')
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'long', state: 'in_progress' }])
    gates.open(gate)
    await ended(wf)
    expect(await wf.history()).toMatchObject([{ step: 'long', state: 'completed', outcome: 'success' }])
    expect(await wf.output('long')).toBe('done')
    expect(ran).toEqual([])
  })

  it('records a step that threw as stopped, with its error', async () => {
    const { wf, gate } = await running('throws')
    await wf.cancel()
    gates.open(gate)
    await ended(wf)
    expect(await wf.history()).toMatchObject([
      { step: 'long', state: 'skipped', outcome: 'stopped', error: { message: 'while it was canceled' } },
    ])
  })

  it('records a step that heeds its signal as stopped', async () => {
    const { wf } = await running('heeds')
    await wf.cancel()
    await ended(wf)
    expect(await wf.history()).toMatchObject([{ state: 'skipped', outcome: 'stopped', error: { message: 'canceled' } }])
  })

  it.each([
    ['finishes', 'completed', 'success'],
    ['skips', 'skipped', 'stopped'],
  ] as const)('ends as canceled when the running step %s', async (ends, state, outcome) => {
    const { wf, gate } = await running(ends)
    await wf.cancel()
    gates.open(gate)
    await ended(wf)
    expect(await wf.history()).toMatchObject([{ step: 'long', state, outcome }])
  })

  it('reaches a step that runs in another instance within two heartbeats', async () => {
    const elsewhere = under.another({ workflows: [Long] })
    const { wf, gate, signal } = await running()
    const store = await under.geneva.openedStore()
    const heartbeat = store.heartbeat.bind(store)
    let beats = 0
    const counted = vi.spyOn(store, 'heartbeat').mockImplementation((...args) => {
      if (!signal.aborted) beats++
      return heartbeat(...args)
    })
    onTestFinished(() => counted.mockRestore())
    await elsewhere.cancel(wf.id)
    beats = 0
    expect(await aborted(signal)).toBe('canceled')
    expect(beats).toBeLessThanOrEqual(2)
    gates.open(gate)
    await ended(wf)
  })

  it('twice does no more than once', async () => {
    const { wf, gate } = await running()
    await wf.cancel({ by: 'ann' })
    await wf.cancel({ by: 'bob' })
    gates.open(gate)
    await ended(wf)
    const asked = (await wf.events()).filter(event => event.type.startsWith('workflow.'))
    expect(asked.map(event => [event.type, event.by])).toEqual([
      ['workflow.started', null],
      ['workflow.rolling_back', 'ann'],
      ['workflow.canceled', 'ann'],
    ])
  })

  it('voids the claim of a step that does not stop in time, and refuses its late result', async () => {
    const { wf, gate, signal } = await running()
    await wf.cancel()
    await aborted(signal)
    await under.setClock(31_000)
    await ended(wf)
    await under.setClock(0)
    const history = await wf.history()
    expect(history).toMatchObject([{ state: 'skipped', outcome: 'stopped', reason: 'it did not stop in time' }])
    const before = await wf.events()
    gates.open(gate)
    await waitFor(async () => (await under.geneva.list(Long, { state: 'performing' })).items.length === 0)
    const { wf: other, gate: otherGate } = await running()
    gates.open(otherGate)
    await other.waitUntilFinished({ timeout: '10s' })
    expect(await wf.history()).toEqual(history)
    expect(await wf.events()).toEqual(before)
    expect(await wf.output('long')).toBeUndefined()
    expect((await wf.refresh()).state).toBe('canceled')
  })

  it('waits for a step as long as the class says, and no longer', async () => {
    const gate = `${database.name} ${++count}`
    const worker = await under.geneva.startWorker({ ...quickly, queues: ['hasty'] })
    const wf = await under.geneva.start(Hasty, { input: { gate } })
    const signal = await gates.arrived(gate)
    await wf.cancel()
    await aborted(signal)
    await under.setClock(3000)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('rolling_back')
    await under.setClock(6000)
    await ended(wf)
    await under.setClock(0)
    expect(await wf.history()).toMatchObject([{ outcome: 'stopped', reason: 'it did not stop in time' }])
    gates.open(gate)
    await worker.stop()
  })

  it('voids the claim in time also when the only worker has no room left', async () => {
    const gate = `${database.name} ${++count}`
    const worker = await under.geneva.startWorker({ ...quickly, queues: { stubborn: 1 }, concurrency: 1 })
    const wf = await under.geneva.start(Stubborn, { input: { gate } })
    await gates.arrived(gate)
    await wf.cancel()
    await under.setClock(31_000)
    await ended(wf)
    await under.setClock(0)
    gates.open(gate)
    await worker.stop()
  })

  it('meets each step before or after its claim, and never in between', async () => {
    const wfs = await Promise.all(
      Array.from({ length: 40 }, async (_, index): Promise<WorkflowHandle> => {
        const wf = await under.geneva.start(Quick, { input: { database: database.name } })
        if (index % 2) await new Promise(resolve => setTimeout(resolve, index % 5))
        await wf.cancel().catch(error => expect(error).toMatchObject({ code: 'INVALID_STATE', state: 'finished' }))
        return wf
      }),
    )
    for (const wf of wfs) {
      await waitFor(async () => ['canceled', 'finished'].includes((await wf.refresh()).state))
      const [execution, ...others] = await wf.history()
      expect(others).toEqual([])
      expect([execution?.state, execution?.startedAt !== null]).toEqual(
        ran.includes(`${database.name} ${wf.id}`) ? ['completed', true] : ['canceled', false],
      )
    }
  })

  it('leaves no timer behind', async () => {
    const connection = await connectPlainly(database.name, under.url)
    expect(await connection.query('select * from geneva_drive_active_executions')).toEqual([])
    await connection.close()
  })
})
