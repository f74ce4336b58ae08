/** What a join went on without: where its call may have happened, a later rollback undoes it like a step that failed. */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, type Decision, type Iteration, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
const calls: string[] = []

interface Lost {
  readonly gate: string
  readonly how: 'heeds' | 'deaf' | 'skips'
}

async function pay({ gate, how }: Lost, signal: AbortSignal): Promise<void> {
  const passed = gates.stop(gate, signal)
  if (how === 'deaf') return passed
  await new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => (how === 'heeds' ? reject(signal.reason) : resolve(null)), { once: true })
  })
}

/** `first` wins as soon as the other one is under way. What comes afterwards fails an hour later. */
function raceOf(name: string, { afterFailure }: { readonly afterFailure: boolean }) {
  return class Race extends Workflow<null, Lost> {
    static {
      this.named(name)
      this.fork(
        'pay',
        {
          a: b => b.step('first', { compensate: 'undoFirst' }),
          b: b => b.step('second', { queue: 'bank', compensate: { step: 'undoSecond', afterFailure } }),
        },
        { join: 'any' },
      )
      this.step('book', { compensate: 'unbook' })
      this.step('ship', { wait: '1 hour', onException: 'rollback' })
    }
    async first() {
      await gates.arrived(this.input.gate)
    }
    async undoFirst() {
      calls.push('undo first')
    }
    async second() {
      await pay(this.input, this.signal)
      this.skip('nothing was paid')
    }
    async undoSecond({ output }: Compensation) {
      calls.push(`undo second: ${output}`)
    }
    async book() {}
    async unbook() {
      calls.push('unbook')
    }
    async ship() {
      throw new Error('no courier')
    }
  }
}

const Race = raceOf('race of payments', { afterFailure: true })
const CarefulRace = raceOf('careful race of payments', { afterFailure: false })

/** The other branch stands still when the join is decided: before it has begun, or half-way. */
class Still extends Workflow<null, { readonly begins: boolean }> {
  static {
    this.named('race that stands still')
    this.fork(
      'pay',
      {
        a: b => b.step('first', { wait: '10 min', compensate: 'undoFirst' }),
        b: b => b.resumableStep('second', { compensate: 'undoSecond' }),
      },
      { join: 'any' },
    )
    this.step('ship', { wait: '1 hour', onException: 'rollback' })
  }
  async first() {}
  async undoFirst() {
    calls.push('undo first')
  }
  async second(iteration: Iteration<number>) {
    if (!this.input.begins) await iteration.suspend({ wait: '1 day' })
    for await (const n of iteration.over([1, 2, 3])) if (n === 2) await iteration.suspend({ wait: '1 day' })
  }
  async undoSecond() {
    calls.push('undo second')
  }
  async ship() {
    throw new Error('no courier')
  }
}

/** `second` is under way when the join is decided, and still when somebody says no. */
class Returned extends Workflow {
  static {
    this.named('race that goes back')
    this.defaults({ stopGrace: 20_000 })
    this.step('write')
    this.fork(
      'pay',
      {
        a: b => b.step('first', { wait: '10 min' }),
        b: b => b.step('second', { queue: 'bank', compensate: 'undoSecond' }),
      },
      { join: 'any' },
    )
    this.human('accept', { onReject: { backTo: 'write' } })
  }
  async write() {}
  async first() {}
  async second() {}
  async undoSecond() {
    calls.push('undo second')
  }
  async accept(_: Decision) {}
}

forEachDatabase('what a join went on without', database => {
  const under = useGeneva(database, { workflows: [Race, CarefulRace, Still, Returned] })
  let count = 0
  const gate = () => `${database.name} ${++count}`
  const endOf = async (wf: Awaited<ReturnType<typeof start>>) =>
    (await wf.history()).filter(({ step }) => step === 'second').map(({ state, outcome }) => [state, outcome])
  const start = (input: Lost, workflow: typeof Race = Race) => under.geneva.start(workflow, { input })

  beforeEach(() => {
    calls.length = 0
  })

  /** The join is decided while the other one is in mid-call, by a worker of its own. */
  async function decided(input: Lost, workflow: typeof Race = Race) {
    const worker = await under.another().startWorker({ ...quickly, heartbeat: 20 })
    const wf = await start(input, workflow)
    await waitFor(async () => (await wf.history()).some(({ step }) => step === 'book'))
    return { wf, worker }
  }

  async function shipped(wf: Awaited<ReturnType<typeof start>>): Promise<string[]> {
    const preview = await wf.previewRollback('failure')
    await under.setClock(3_700_000)
    await under.runDue()
    await under.setClock(0)
    expect((await wf.refresh()).state).toBe('failed')
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
    return preview.flatMap(({ compensation }) => compensation ?? [])
  }

  it('and heeds its signal and throws is undone: its request may have arrived', async () => {
    const { wf, worker } = await decided({ gate: gate(), how: 'heeds' })
    await waitFor(async () => (await endOf(wf)).length > 0)
    await worker.stop()
    expect(await endOf(wf)).toEqual([['canceled', 'superseded']])
    const preview = await shipped(wf)
    expect(preview.toSorted()).toEqual(['unbook', 'undoFirst', 'undoSecond'].toSorted())
    expect(calls.toSorted()).toEqual(['unbook', 'undo first', 'undo second: undefined'].toSorted())
    expect(await endOf(wf)).toEqual([['rolled_back', 'superseded']])
  })

  it('and is given back in mid-call is undone', async () => {
    const input = { gate: gate(), how: 'deaf' } as const
    const { wf, worker } = await decided(input)
    await worker.stop()
    gates.open(input.gate)
    expect(await endOf(wf)).toEqual([['canceled', 'superseded']])
    expect(await shipped(wf)).toEqual(['undoSecond', 'unbook', 'undoFirst'])
    expect(calls).toEqual(['undo second: undefined', 'unbook', 'undo first'])
  })

  it('and has lost its worker is undone in its turn', async () => {
    const input = { gate: gate(), how: 'deaf' } as const
    const wf = await start(input)
    const store = await under.geneva.openedStore()
    const sources = [{ queue: 'bank', handler: 'race of payments', generation: 1 }]
    const running = under.runDue({ queues: ['default'] })
    await waitFor(async () => (await wf.currentExecutions()).some(({ step }) => step === 'second'))
    const workerId = `lost ${input.gate}`
    await store.registerWorker({ id: workerId, host: 'test', pid: 1, leaseMs: 1, handlers: ['race of payments'] })
    expect(await store.claim({ workerId, sources, limit: 1, workflowId: wf.id })).toHaveLength(1)
    void gates.stop(input.gate, new AbortController().signal)
    await running
    const worker = await under.another().startWorker({ ...quickly, lease: 500 })
    await waitFor(async () => (await endOf(wf)).length > 0)
    await worker.stop()
    gates.open(input.gate)
    expect(await endOf(wf)).toEqual([['canceled', 'superseded']])
    expect(await shipped(wf)).toContain('undoSecond')
    expect(calls).toContain('undo second: undefined')
  })

  it('and says itself that it has done nothing is left alone', async () => {
    const { wf, worker } = await decided({ gate: gate(), how: 'skips' })
    await waitFor(async () => (await endOf(wf)).length > 0)
    await worker.stop()
    expect(await shipped(wf)).toEqual(['unbook', 'undoFirst'])
    expect(calls).toEqual(['unbook', 'undo first'])
    expect(await endOf(wf)).toEqual([['canceled', 'superseded']])
  })

  it('and may have happened is not undone where its compensation says so', async () => {
    const { wf, worker } = await decided({ gate: gate(), how: 'heeds' }, CarefulRace)
    await waitFor(async () => (await endOf(wf)).length > 0)
    await worker.stop()
    expect(await shipped(wf)).toEqual(['unbook', 'undoFirst'])
    expect(calls).toEqual(['unbook', 'undo first'])
  })

  it.each([
    [true, ['undo second', 'undo first']],
    [false, ['undo first']],
  ])('and stood still is undone if it has done some of its items (%s)', async (begins, undone) => {
    const wf = await under.geneva.start(Still, { input: { begins } })
    await under.runDue()
    await under.setClock(660_000)
    await under.runDue()
    expect(await endOf(wf as never)).toEqual([['canceled', 'superseded']])
    await under.setClock(8_000_000)
    await under.runDue()
    await under.setClock(0)
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls).toEqual(undone)
  })

  it('and was left behind by a way back is undone once it has had the time to stop', async () => {
    const wf = await under.geneva.start(Returned)
    const store = await under.geneva.openedStore()
    const workerId = `busy ${database.name}`
    const sources = [{ queue: 'bank', handler: 'race that goes back', generation: 1 }]
    await under.runDue({ queues: ['default'] })
    await store.registerWorker({
      id: workerId,
      host: 'test',
      pid: 1,
      leaseMs: 600_000,
      handlers: ['race that goes back'],
    })
    expect(await store.claim({ workerId, sources, limit: 1, workflowId: wf.id })).toHaveLength(1)
    await under.setClock(660_000)
    await under.runDue({ queues: ['default'] })
    await wf.decide('accept', { by: 'ann', decision: 'rejected' })
    await wf.cancel()
    await under.runDue()
    expect(calls).toEqual([])
    expect((await wf.refresh()).state).toBe('rolling_back')
    await under.setClock(681_000)
    await under.runDue()
    await under.setClock(0)
    expect(calls).toEqual(['undo second'])
    expect((await wf.refresh()).state).toBe('canceled')
  })
})
