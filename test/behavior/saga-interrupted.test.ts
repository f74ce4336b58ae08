/** What was cut off while its workflow was being stopped: where its call may have happened, it is undone like one that failed. */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, type Iteration, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
const calls: string[] = []

interface Cut {
  readonly gate: string
  readonly how?: 'heeds' | 'skips' | 'throws'
}

class Charge extends Workflow<null, Cut> {
  static {
    this.step('reserve', { compensate: 'release' })
    this.step('charge', { compensate: 'refund' })
    this.step('ship')
  }
  async reserve() {
    return 'shelf 7'
  }
  async release({ output }: Compensation<Charge['reserve']>) {
    calls.push(`released ${output}`)
  }
  async charge() {
    await cutOff(this.input, this.signal)
    if (this.input.how === 'throws') throw new Error('the line is dead')
    if (this.input.how === 'skips') this.skip('nothing was charged')
    return 'paid'
  }
  async refund({ output, reason }: Compensation<Charge['charge']>) {
    calls.push(`refunded ${output}: ${reason.kind}`)
  }
  async ship() {}
}

/** Stops at the gate; one that heeds its signal throws as soon as that is aborted, as a request would. */
async function cutOff({ gate, how }: Cut, signal: AbortSignal): Promise<void> {
  const passed = gates.stop(gate, signal)
  if (how !== 'heeds') return passed
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}

class Careful extends Workflow<null, Cut> {
  static {
    this.step('charge', { compensate: { step: 'refund', afterFailure: false } })
  }
  async charge() {
    await cutOff(this.input, this.signal)
  }
  async refund() {
    calls.push('refunded')
  }
}

class Once extends Workflow<null, Cut> {
  static {
    this.step('send', { idempotent: false, timeout: '300 ms', compensate: 'callBack' })
  }
  async send() {
    await cutOff(this.input, this.signal)
  }
  async callBack({ output }: Compensation<Once['send']>) {
    calls.push(`called back ${output}`)
  }
}

class Mailing extends Workflow<null, Cut & { readonly waits?: boolean }> {
  static {
    this.resumableStep('mail', { compensate: 'apologize' })
  }
  async mail(iteration: Iteration<number>) {
    for await (const n of iteration.over([1, 2, 3])) {
      calls.push(`mailed ${n}`)
      if (n === 2 && this.input.waits) await iteration.suspend({ wait: '1 day' })
      if (n === 2) await gates.stop(this.input.gate, this.signal)
    }
  }
  async apologize({ output }: Compensation<Mailing['mail']>) {
    calls.push(`apologized ${output}`)
  }
}

forEachDatabase('a saga that is canceled', database => {
  const under = useGeneva(database, { workflows: [Charge, Careful, Once, Mailing] })
  let count = 0
  const gate = () => `${database.name} ${++count}`
  const worker = () => under.another().startWorker({ ...quickly, heartbeat: 20 })
  const outcomeOf = async (id: string, step: string) =>
    (await under.geneva.nodesWithState(id)).filter(({ name }) => name === step).map(({ state }) => state)
  const canceled = async (wf: { readonly id: string }) => {
    await waitFor(async () => {
      await under.runDue()
      return (await under.geneva.find(wf.id))?.state === 'canceled'
    })
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  }

  beforeEach(() => {
    calls.length = 0
  })

  it('undoes a step that its worker gave back in mid-call, because it had to shut down', async () => {
    const input = { gate: gate() }
    const first = await worker()
    const wf = await under.geneva.start(Charge, { input })
    await gates.arrived(input.gate)
    await wf.cancel({ by: 'ann' })
    await first.stop()
    await canceled(wf)
    expect(calls).toEqual(['refunded undefined: cancel', 'released shelf 7'])
    gates.open(input.gate)
    expect(await outcomeOf(wf.id, 'charge')).toEqual(['rolled_back'])
  })

  it('undoes a step that threw because its worker shuts down', async () => {
    const input = { gate: gate(), how: 'throws' } as const
    const first = await worker()
    const wf = await under.geneva.start(Charge, { input })
    const signal = await gates.arrived(input.gate)
    const stopping = first.stop()
    await waitFor(() => signal.aborted)
    expect(signal.reason).toBe('shutting down')
    await wf.cancel()
    gates.open(input.gate)
    await stopping
    await canceled(wf)
    expect(calls).toEqual(['refunded undefined: cancel', 'released shelf 7'])
  })

  it('undoes a step that heeds its signal and throws: its request may have arrived', async () => {
    const input = { gate: gate(), how: 'heeds' } as const
    const first = await worker()
    const wf = await under.geneva.start(Charge, { input })
    await gates.arrived(input.gate)
    await wf.cancel()
    await canceled(wf)
    await first.stop()
    expect(calls).toEqual(['refunded undefined: cancel', 'released shelf 7'])
    expect(await wf.history()).toMatchObject([{}, { step: 'charge', state: 'rolled_back', outcome: 'stopped' }])
  })

  it('leaves out what undoes a step that threw, where that says so', async () => {
    const input = { gate: gate(), how: 'heeds' } as const
    const first = await worker()
    const wf = await under.geneva.start(Careful, { input })
    await gates.arrived(input.gate)
    await wf.cancel()
    await canceled(wf)
    await first.stop()
    expect(calls).toEqual([])
  })

  it('does not undo a step that says itself that it has done nothing', async () => {
    const input = { gate: gate(), how: 'skips' } as const
    const first = await worker()
    const wf = await under.geneva.start(Charge, { input })
    await gates.arrived(input.gate)
    await wf.cancel()
    gates.open(input.gate)
    await canceled(wf)
    await first.stop()
    expect(calls).toEqual(['released shelf 7'])
    expect(await outcomeOf(wf.id, 'charge')).toEqual(['skipped'])
  })

  it('records a call that must not be repeated and ran out of time as unknown, and undoes it', async () => {
    const input = { gate: gate() }
    const first = await worker()
    const wf = await under.geneva.start(Once, { input })
    await gates.arrived(input.gate)
    await wf.cancel()
    await canceled(wf)
    await first.stop()
    gates.open(input.gate)
    expect(calls).toEqual(['called back undefined'])
    expect(await wf.history()).toMatchObject([{ step: 'send', state: 'rolled_back', outcome: 'unknown' }])
  })

  it('undoes a resumable step that stops half-way, once', async () => {
    const input = { gate: gate() }
    const first = await worker()
    const wf = await under.geneva.start(Mailing, { input })
    const signal = await gates.arrived(input.gate)
    await wf.cancel()
    await waitFor(() => signal.aborted)
    gates.open(input.gate)
    await canceled(wf)
    await first.stop()
    expect(calls).toEqual(['mailed 1', 'mailed 2', 'apologized undefined'])
  })

  it('undoes a resumable step that was suspended half-way, and says so beforehand', async () => {
    const wf = await under.geneva.start(Mailing, { input: { gate: '', waits: true } })
    const untouched = await under.geneva.start(Mailing, { input: { gate: '' } })
    expect(await untouched.previewRollback()).toEqual([])
    await untouched.cancel()
    await under.runDue()
    expect((await wf.currentExecutions()).map(({ state }) => state)).toEqual(['suspended'])
    expect(await wf.previewRollback()).toMatchObject([{ step: 'mail', attempt: 1, compensation: 'apologize' }])
    await wf.cancel()
    await canceled(wf)
    expect(calls).toEqual(['mailed 1', 'mailed 2', 'apologized undefined'])
    expect((await untouched.refresh()).state).toBe('canceled')
  })
})
