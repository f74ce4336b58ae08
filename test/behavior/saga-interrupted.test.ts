/** What was cut off while its workflow was being stopped: where its call may have happened, it is undone like one that failed. */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, type Iteration, Workflow } from '../../src/index.ts'
import { forEachDatabaseSideBySide } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
/** What was called on each database, whose name a gate begins with. */
const callsOn: Readonly<Record<string, string[]>> = { sqlite: [], postgres: [], mysql: [] }
const callsOf = ({ input }: { readonly input: Cut }) => callsOn[input.gate.split(' ')[0] ?? ''] ?? []

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
    callsOf(this).push(`released ${output}`)
  }
  async charge() {
    await cutOff(this.input, this.signal)
    if (this.input.how === 'throws') throw new Error('the line is dead')
    if (this.input.how === 'skips') this.skip('nothing was charged')
    return 'paid'
  }
  async refund({ output, reason }: Compensation<Charge['charge']>) {
    callsOf(this).push(`refunded ${output}: ${reason.kind}`)
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
    callsOf(this).push('refunded')
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
    callsOf(this).push(`called back ${output}`)
  }
}

class Mailing extends Workflow<null, Cut & { readonly waits?: boolean; readonly again?: boolean }> {
  static {
    this.resumableStep('mail', { compensate: 'apologize' })
  }
  async mail(iteration: Iteration<number>) {
    for await (const n of iteration.over([1, 2, 3])) {
      callsOf(this).push(`mailed ${n}`)
      if (n === 2 && this.input.waits) await iteration.suspend({ wait: '1 day' })
      if (n === 2 && this.input.again) this.reattempt({ wait: '1 day' })
      if (n === 2) await gates.stop(this.input.gate, this.signal)
      if (n === 2 && this.input.how === 'throws') throw new Error('the line is dead')
    }
  }
  async apologize({ output }: Compensation<Mailing['mail']>) {
    callsOf(this).push(`apologized ${output}`)
  }
}

/** By its gate, what is not to go on any more. */
const unwanted = new Set<string>()

class Guarded extends Workflow<null, Cut & { readonly asks: 'cancelIf' | 'if' }> {
  static {
    this.cancelIf(wf => wf.input.asks === 'cancelIf' && unwanted.has(wf.input.gate))
    const retry = { attempts: 3, backoff: 'fixed', delay: '1 hour' } as const
    this.step('charge', { if: wf => !unwanted.has(wf.input.gate), retry, compensate: 'refund' })
    this.step('ship', { onException: 'rollback' })
  }
  async charge() {
    callsOf(this).push(`charged with ${this.execution.idempotencyKey}`)
    if (this.input.how === 'throws') throw new Error('no answer')
    await gates.stop(this.input.gate, this.signal)
  }
  async refund({ output }: Compensation<Guarded['charge']>) {
    callsOf(this).push(`refunded ${output}`)
  }
  async ship() {
    throw new Error('no courier')
  }
}

class Transfer extends Workflow<null, Cut> {
  static {
    this.cancelIf(wf => unwanted.has(wf.input.gate))
    this.step('send', { idempotent: false, reconcile: 'findTransfer', compensate: 'callBack' })
  }
  async send() {
    await gates.stop(this.input.gate, this.signal)
  }
  async findTransfer() {
    callsOf(this).push('asked')
    return { happened: true }
  }
  async callBack() {
    callsOf(this).push('called back')
  }
}

class Beside extends Workflow<null, Cut> {
  static {
    this.task('charge', { queue: 'bank', compensate: 'refund' })
    this.task('ship', { onException: 'rollback', wait: '1 hour' })
  }
  async charge() {
    await gates.stop(this.input.gate, this.signal)
  }
  async refund() {
    callsOf(this).push('refunded')
  }
  async ship() {
    throw new Error('no courier')
  }
}

type Word = 'pays' | 'throws' | 'reattempts' | 'pauses' | 'cancels' | 'skips' | 'postpones'

/** What each of its calls does in turn. The money is on its way after the first one, whatever that says. */
class Polling extends Workflow<null, Cut & { readonly says: readonly Word[]; readonly careful?: boolean }> {
  static {
    const retry = { attempts: 2, backoff: 'fixed', delay: '1 hour' } as const
    this.step('pay', { if: wf => !wf.input.careful, compensate: 'refund', retry })
    this.step('careful', { if: wf => wf.input.careful === true, compensate: { step: 'giveBack', afterFailure: false } })
    this.step('rest', { wait: '30 days' })
  }
  async pay() {
    const word = this.input.says[this.execution.attempt - 1]
    callsOf(this).push(word ?? 'paid')
    if (word === 'throws') throw new Error('no answer')
    if (word === 'reattempts') this.reattempt({ wait: '1 hour' })
    if (word === 'pauses') this.pause('needs review')
    if (word === 'cancels') this.cancel('declined')
    if (word === 'skips') this.skip('nothing was due')
    if (word === 'postpones') this.postpone('1 hour')
    return 'receipt'
  }
  async careful() {
    this.reattempt({ wait: '1 hour' })
  }
  async rest() {}
  async giveBack() {
    callsOf(this).push('gave back')
  }
  async refund({ output }: Compensation<Polling['pay']>) {
    callsOf(this).push(`refunded ${output}`)
  }
}

class Rooms extends Workflow<null, Cut> {
  static {
    this.each('book', { items: () => ['a', 'b'], compensate: 'unbook' })
  }
  async book(room: string) {
    if (room === 'b') this.reattempt({ wait: '1 hour' })
  }
  async unbook({ item }: Compensation<Rooms['book']>) {
    callsOf(this).push(`unbooked ${item}`)
  }
}

forEachDatabaseSideBySide('a saga that is canceled', database => {
  const under = useGeneva(database, {
    workflows: [Charge, Careful, Once, Mailing, Guarded, Transfer, Beside, Polling, Rooms],
  })
  let count = 0
  const calls = callsOf({ input: { gate: database.name } })
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
    const wf = await under.geneva.start(Mailing, { input: { gate: gate(), waits: true } })
    const untouched = await under.geneva.start(Mailing, { input: { gate: gate() } })
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

  /** The step is in mid-call when its worker has to shut down, and nobody has canceled anything yet. */
  async function givenBack(at: string): Promise<void> {
    const first = await worker()
    await gates.arrived(at)
    await first.stop()
    gates.open(at)
  }

  it.each([false, true])(
    'undoes a step that had been given back in mid-call before the cancel (paused meanwhile: %s)',
    async isPaused => {
      const input = { gate: gate() }
      const wf = await under.geneva.start(Charge, { input })
      const first = await worker()
      await gates.arrived(input.gate)
      if (isPaused) await wf.pause()
      await first.stop()
      expect(await wf.currentExecutions()).toMatchObject([
        { step: 'charge', attempt: 2, state: isPaused ? 'paused' : 'scheduled' },
      ])
      expect(await wf.previewRollback()).toMatchObject([{ step: 'charge', attempt: 1 }, { step: 'reserve' }])
      await wf.cancel()
      await canceled(wf)
      gates.open(input.gate)
      expect(calls).toEqual(['refunded undefined: cancel', 'released shelf 7'])
    },
  )

  it.each(['cancelIf', 'if'] as const)(
    'undoes a step that was given back in mid-call and is not wanted any more when it is claimed again (%s)',
    async asks => {
      const input = { gate: gate(), asks }
      const wf = await under.geneva.start(Guarded, { input })
      await givenBack(input.gate)
      unwanted.add(input.gate)
      await under.runDue()
      expect((await wf.refresh()).state).toBe(asks === 'cancelIf' ? 'canceled' : 'failed')
      expect(calls.slice(1)).toEqual(['refunded undefined'])
      expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
    },
  )

  it('undoes a step that was given back in mid-call when another fails before it is claimed again', async () => {
    const input = { gate: gate() }
    const wf = await under.geneva.start(Beside, { input })
    await givenBack(input.gate)
    await under.setClock(3_700_000)
    await under.runDue({ queues: ['default'] })
    expect((await wf.refresh()).state).toBe('rolling_back')
    await under.runDue()
    await under.setClock(0)
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls).toEqual(['refunded'])
  })

  it('calls what was given back in mid-call again with the same key, and undoes it once', async () => {
    const input = { gate: gate(), asks: 'if' } as const
    const wf = await under.geneva.start(Guarded, { input })
    await givenBack(input.gate)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls).toEqual([calls[0], calls[0], 'refunded undefined'])
    expect(await wf.history()).toMatchObject([
      { step: 'charge', attempt: 1, outcome: 'recovered' },
      { step: 'charge', attempt: 2, outcome: 'success' },
      { step: 'ship' },
    ])
  })

  it('gives back what nothing would undo as it is, in the same attempt', async () => {
    const input = { gate: gate() }
    const wf = await under.geneva.start(Careful, { input })
    await givenBack(input.gate)
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'charge', attempt: 1, state: 'scheduled' }])
    await wf.cancel()
    await canceled(wf)
    expect(calls).toEqual([])
  })

  it('undoes a resumable step that threw half-way because its worker shuts down', async () => {
    const input = { gate: gate(), how: 'throws' } as const
    const first = await worker()
    const wf = await under.geneva.start(Mailing, { input })
    const signal = await gates.arrived(input.gate)
    const stopping = first.stop()
    await waitFor(() => signal.aborted)
    gates.open(input.gate)
    await stopping
    expect((await wf.currentExecutions()).map(({ state }) => state)).toEqual(['scheduled'])
    await wf.cancel()
    await canceled(wf)
    expect(calls).toEqual(['mailed 1', 'mailed 2', 'apologized undefined'])
  })

  it('undoes a resumable step that has done some of its items and asked for another attempt', async () => {
    const wf = await under.geneva.start(Mailing, { input: { gate: gate(), again: true } })
    await under.runDue()
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'mail', attempt: 2, state: 'scheduled' }])
    const preview = (await wf.previewRollback()).filter(({ compensation }) => compensation !== null)
    expect(preview).toMatchObject([{ step: 'mail', attempt: 2 }])
    await wf.cancel()
    await canceled(wf)
    expect(calls).toEqual(['mailed 1', 'mailed 2', 'apologized undefined'])
  })

  it.each(['cancelIf', 'if'] as const)(
    'undoes a call that failed though the next attempt ended before its own (%s)',
    async asks => {
      const input = { gate: gate(), asks, how: 'throws' } as const
      const wf = await under.geneva.start(Guarded, { input })
      await under.runDue()
      unwanted.add(input.gate)
      await under.setClock(8_000_000)
      await under.runDue()
      await under.setClock(0)
      expect((await wf.refresh()).state).toBe(asks === 'cancelIf' ? 'canceled' : 'failed')
      expect(calls.slice(1)).toEqual(['refunded undefined'])
      expect((await wf.history())[0]).toMatchObject({ step: 'charge', attempt: 1, state: 'rolled_back' })
    },
  )

  it('undoes a call whose outcome is unknown though it is not asked about any more', async () => {
    const input = { gate: gate() }
    const wf = await under.geneva.start(Transfer, { input })
    await givenBack(input.gate)
    unwanted.add(input.gate)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('canceled')
    expect(calls).toEqual(['called back'])
  })

  it.each<[undone: boolean, says: Word[]]>([
    [true, ['reattempts']],
    [true, ['reattempts', 'reattempts']],
    [true, ['throws', 'reattempts']],
    [true, ['throws', 'pauses']],
    [true, ['pauses']],
    [true, ['reattempts', 'throws']],
    // What the step says itself about what it has done counts.
    [false, ['reattempts', 'skips']],
    [false, ['reattempts', 'cancels']],
    [false, ['throws', 'cancels']],
    [false, ['postpones']],
  ])('undoes what asked to be called again, once: %s after %s', async (undone, says) => {
    const input = { gate: gate(), says }
    const wf = await under.geneva.start(Polling, { input })
    for (const hours of says.keys()) {
      await under.setClock(hours * 8_000_000)
      await under.runDue()
    }
    await under.setClock(0)
    if ((await wf.refresh()).state !== 'canceled') {
      const preview = (await wf.previewRollback()).filter(({ compensation }) => compensation !== null)
      expect(preview).toMatchObject(undone ? [{ step: 'pay', attempt: says.length, compensation: 'refund' }] : [])
      await wf.cancel()
      await canceled(wf)
    }
    expect(calls).toEqual(undone ? [...says, 'refunded undefined'] : says)
    expect((await wf.history()).filter(({ state }) => state === 'completed')).toEqual([])
  })

  it('undoes a step that asked to be called again by its last call, which has completed', async () => {
    const wf = await under.geneva.start(Polling, { input: { gate: gate(), says: ['reattempts', 'pays'] } })
    await under.runDue()
    await under.setClock(8_000_000)
    await under.runDue()
    await under.setClock(0)
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'rest' }])
    await wf.cancel()
    await canceled(wf)
    expect(calls).toEqual(['reattempts', 'pays', 'refunded receipt'])
  })

  it('leaves out what undoes a step that asked to be called again, where that says so', async () => {
    const wf = await under.geneva.start(Polling, { input: { gate: gate(), says: [], careful: true } })
    await under.runDue()
    await wf.cancel()
    await canceled(wf)
    expect(calls).toEqual([])
    expect((await wf.history()).map(({ state }) => state)).toEqual(['skipped', 'rolled_back', 'canceled'])
  })

  it('undoes an item that asked to be called again', async () => {
    const wf = await under.geneva.start(Rooms, { input: { gate: gate() } })
    await under.runDue()
    await wf.cancel()
    await canceled(wf)
    expect(calls.toSorted()).toEqual(['unbooked a', 'unbooked b'])
  })
})
