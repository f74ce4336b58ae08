/** The testing kit: what it promises to a user's tests, on the database that it makes itself and on the others. */
import { AssertionError } from 'node:assert'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { EndWatch } from '../../src/engine/end-watch.ts'
import { defineHero, InvalidArgumentError, StepLimitError, Workflow } from '../../src/index.ts'
import { testGeneva } from '../../src/testing.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useKits } from '../support/use-kits.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const day = 24 * 60 * 60 * 1000

const gates = new Gates()

class Trip extends Workflow {
  static {
    this.step('pack')
    this.step('drive', { wait: '2 days' })
    this.step('unpack', { wait: '7 days' })
  }
  async pack() {
    return 'packed'
  }
  async drive() {}
  async unpack() {}
}

class Chain extends Workflow<null, { length: number }> {
  static {
    this.step('link')
    this.step('last')
  }
  async link() {
    if (this.execution.attempt < this.input.length) this.reattempt()
  }
  async last() {}
}

class Waiting extends Workflow<null, { gate: string }> {
  static {
    this.step('stand')
    this.step('move')
  }
  async stand() {
    await gates.stop(this.input.gate, this.signal)
    if (this.signal.aborted) throw this.signal.reason
  }
  async move() {}
}

class Fragile extends Workflow {
  static {
    this.step('touch')
    this.step('shatter', { wait: '1 hour' })
    this.step('sweep', { wait: '1 hour' })
  }
  async touch() {}
  async shatter() {
    if (this.execution.attempt === 1) throw new TypeError('it broke')
  }
  async sweep() {}
}

class Picky extends Workflow<null, { fail?: boolean }> {
  static {
    this.step('unwanted', { skipIf: true })
    this.inline('lazy', async wf => wf.skip('no need'))
    this.step('risky', { onException: 'skip' })
    this.step('real')
  }
  async unwanted() {}
  async risky() {
    if (this.input.fail) throw new Error('as expected')
  }
  async real() {}
}

const open = useKits()

forEachDatabase('the testing kit', database => {
  let url: string
  beforeAll(async () => {
    url = (await database.isolated()).url
  })

  it('performs exactly one step at a time, and none that is not due', async () => {
    const kit = await open({ database: url, workflows: [Trip] })
    const wf = await kit.start(Trip)
    await kit.assertExecutedSteps(wf, [])
    const first = await kit.performNextStep(wf)
    expect(first).toMatchObject({ step: 'pack', attempt: 1, state: 'completed', outcome: 'success' })
    expect(await kit.performNextStep(wf)).toBeNull()
    await kit.advance('47 hours')
    expect(await kit.performNextStep(wf)).toBeNull()
    await kit.advance('1 hour')
    expect(await kit.executedSteps(wf)).toEqual(['pack'])
    expect(await kit.performNextStep(wf)).toMatchObject({ step: 'drive', state: 'completed' })
    expect(wf.state).toBe('ready')
    await kit.advance('7 days')
    expect(await kit.performNextStep(wf)).toMatchObject({ step: 'unpack', state: 'completed' })
    expect(wf.state).toBe('finished')
    expect(await kit.performNextStep(wf)).toBeNull()
  })

  it('does not run on to the next step, even where that is due at once', async () => {
    const kit = await open({ database: url, workflows: [Chain] })
    const wf = await kit.start(Chain, { input: { length: 2 } })
    const other = await kit.start(Chain, { input: { length: 1 } })
    expect(await kit.performNextStep(wf)).toMatchObject({ step: 'link', attempt: 1, outcome: 'reattempted' })
    expect(await kit.performNextStep(wf)).toMatchObject({ step: 'link', attempt: 2, outcome: 'success' })
    await kit.assertExecutedSteps(wf, ['link', 'link'])
    await kit.assertExecutedSteps(other, [])
    expect(await kit.runDue()).toBe(3)
    await kit.assertState(wf, 'finished')
    await kit.assertState(other, 'finished')
  })

  it('speeds through every wait, on a clock that has seen them all', async () => {
    const kit = await open({ database: url, workflows: [Trip] })
    const started = await kit.now()
    const wf = await kit.start(Trip)
    const bystander = await kit.start(Trip)
    expect(await kit.speedrun(wf)).toBe(wf)
    expect(wf.state).toBe('finished')
    await kit.assertExecutedSteps(wf, ['pack', 'drive', 'unpack'])
    const passed = (await kit.now()).getTime() - started.getTime()
    expect(passed).toBeGreaterThanOrEqual(9 * day)
    expect(passed).toBeLessThan(9 * day + 60_000)
    const [packed, drove] = await wf.history()
    expect(Number(drove?.startedAt) - Number(packed?.endedAt)).toBeGreaterThanOrEqual(2 * day)
    await kit.assertExecutedSteps(bystander, [])
    await bystander.cancel()
  })

  it('stops a speedrun where the workflow pauses, and goes on after a resume', async () => {
    const kit = await open({ database: url, workflows: [Fragile] })
    const wf = await kit.speedrun(await kit.start(Fragile))
    await kit.assertState(wf, 'paused')
    await kit.assertExecutedSteps(wf, ['touch', 'shatter'])
    await wf.resume()
    await kit.speedrun(wf)
    await kit.assertState(wf, 'finished')
    await kit.assertStepExecuted(wf, 'shatter', { times: 2 })
  })

  it('leaves a running step and a resident worker their leases when years go by', async () => {
    const gate = `years on ${database.name}`
    const kit = await open({ database: url, workflows: [Waiting, Trip] })
    const wf = await kit.start(Waiting, { input: { gate } })
    const step = kit.performNextStep(wf)
    const signal = await gates.arrived(gate)
    await kit.advance('36500 days')
    // Every round of work begins by taking over what dead workers have left.
    expect(await kit.runDue()).toBe(0)
    const worker = await kit.geneva.startWorker({ heartbeat: '10ms' })
    await kit.advance('36500 days')
    const later = await kit.start(Trip)
    await kit.speedrun(later)
    await kit.assertExecutedSteps(later, ['pack', 'drive', 'unpack'])
    expect(worker.healthy).toBe(true)
    await worker.stop()
    expect(signal.aborted).toBe(false)
    gates.open(gate)
    expect(await step).toMatchObject({ step: 'stand', attempt: 1, outcome: 'success' })
  })

  it('ends a speedrun that would go on for ever, naming the workflow', async () => {
    const kit = await open({ database: url, workflows: [Chain] })
    const wf = await kit.start(Chain, { input: { length: 10 } })
    const failure = await kit.speedrun(wf, { maxSteps: 10 }).catch(error => error)
    expect(failure).toBeInstanceOf(StepLimitError)
    expect(failure.message).toContain(`Workflow ${wf.id} has performed 10 steps`)
    expect(await kit.executedSteps(wf)).toHaveLength(10)
    await kit.speedrun(wf, { maxSteps: 1 })
    await kit.assertState(wf, 'finished')
  })

  it('leaves a workflow alone that it has no code for', async () => {
    const kit = await open({ database: url, workflows: [Trip] })
    const { id } = await kit.start(Trip)
    const other = await open({ database: url, workflows: [Chain] })
    const wf = await other.geneva.find(id)
    if (wf === null) throw new Error('The workflow was not found.')
    expect(await other.performNextStep(wf)).toBeNull()
    await other.speedrun(wf)
    await other.assertState(wf, 'ready')
    await other.assertStepNotExecuted(wf, 'pack')
    await wf.cancel()
  })

  it('takes the time from the test', async () => {
    const kit = await open({ database: url, workflows: [Trip] })
    const noon = new Date('2031-05-05T12:00:00Z')
    expect((await kit.setTime(noon)).getTime() - noon.getTime()).toBeLessThan(10_000)
    const wf = await kit.start(Trip, {}, { at: new Date('2031-06-01T00:00:00Z') })
    expect(wf.createdAt.toISOString()).toMatch(/^2031-05-05T12:00/)
    expect(await kit.runDue()).toBe(0)
    await kit.setTime(new Date('2031-06-01T00:00:00Z'))
    expect(await kit.runDue()).toBe(1)
    await kit.setTime(new Date('2020-01-01T00:00:00Z'))
    expect((await kit.now()).getUTCFullYear()).toBe(2020)
    expect(await kit.runDue()).toBe(0)
  })
})

describe('the database that the kit makes', () => {
  const before = process.env.TMPDIR
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'kit-'))
    return () => rmSync(folder, { recursive: true, force: true })
  })
  afterEach(() => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  })

  it('is a file that is deleted when the kit is closed, also after a failure', async () => {
    process.env.TMPDIR = folder
    const failing = async () => {
      await using kit = await testGeneva({ workflows: [Trip] })
      const wf = await kit.start(Trip)
      expect(readdirSync(folder)).toHaveLength(1)
      await kit.assertState(wf, 'finished')
    }
    await expect(failing()).rejects.toThrow(AssertionError)
    expect(readdirSync(folder)).toEqual([])
  })

  it('is deleted as well when the kit cannot be opened', async () => {
    process.env.TMPDIR = folder
    await expect(testGeneva({ workflows: [class extends Workflow {}, class extends Workflow {}] })).rejects.toThrow()
    expect(readdirSync(folder)).toEqual([])
  })

  it('belongs to one kit alone', async () => {
    const [one, two] = await Promise.all([open({ workflows: [Trip] }), open({ workflows: [Trip] })])
    await one.start(Trip)
    expect((await two.geneva.list()).items).toEqual([])
    expect((await one.geneva.list()).items).toHaveLength(1)
  })

  it('can be closed while a step hangs, which is told to stop', async () => {
    const gate = 'hanging'
    const kit = await open({ workflows: [Waiting] })
    const wf = await kit.start(Waiting, { input: { gate } })
    void kit.performNextStep(wf).catch(() => {})
    const signal = await gates.arrived(gate)
    const startedAt = performance.now()
    await Promise.all([kit.close(), kit.close()])
    expect(signal.reason).toBe('shutting down')
    expect(performance.now() - startedAt).toBeLessThan(10_000)
    await expect(kit.now()).rejects.toThrow()
  })
})

describe('a speedrun', () => {
  it('waits for steps that a resident worker runs', async () => {
    const gate = 'resident'
    const kit = await open({ workflows: [Waiting] })
    await kit.geneva.startWorker()
    const wf = await kit.start(Waiting, { input: { gate } })
    await gates.arrived(gate)
    const rounds = vi.spyOn(kit.geneva, 'runDue')
    const run = kit.speedrun(wf)
    await waitFor(() => rounds.mock.calls.length > 2)
    gates.open(gate)
    expect((await run).state).toBe('finished')
  })

  it('waits for a running step instead of jumping to the end of its time to stop', async () => {
    const gate = 'canceled'
    const kit = await open({ workflows: [Waiting] })
    const wf = await kit.start(Waiting, { input: { gate } })
    const step = kit.performNextStep(wf)
    const signal = await gates.arrived(gate)
    await wf.cancel()
    expect(wf.state).toBe('rolling_back')
    const run = kit.speedrun(wf)
    await waitFor(() => signal.aborted)
    gates.open(gate)
    expect((await run).state).toBe('canceled')
    expect(await step).toMatchObject({ step: 'stand', state: 'skipped', outcome: 'stopped' })
    expect((await kit.now()).getTime()).toBeLessThan(Date.now() + 20_000)
  })

  it('refuses a limit that is no limit', async () => {
    const kit = await open({ workflows: [Trip] })
    const wf = await kit.start(Trip)
    for (const maxSteps of [0, -1, 1.5, Number.NaN, '3' as unknown as number]) {
      await expect(kit.speedrun(wf, { maxSteps })).rejects.toThrow(InvalidArgumentError)
      await expect(kit.runDue({ maxSteps })).rejects.toThrow(InvalidArgumentError)
    }
  })
})

describe('a step under test', () => {
  interface Account {
    id: number
    balance: number
  }
  const accounts = new Map<number, Account>()
  const loads: number[] = []
  const instances = new Set<unknown>()
  const Accounts = defineHero('Account', {
    id: (account: Account) => account.id,
    load(id) {
      loads.push(id)
      return structuredClone(accounts.get(id))
    },
  })

  class Billing extends Workflow<Account> {
    static {
      this.heroes(Accounts)
      this.step('look')
      this.step('lookAgain', { wait: '1 day' })
    }
    async look() {
      instances.add(this)
      return this.hero.balance
    }
    async lookAgain() {
      instances.add(this)
      return [await this.output(this.look), this.hero.balance]
    }
  }

  it('has an instance and a hero of its own, loaded again for every step', async () => {
    const account = { id: 7, balance: 10 }
    accounts.set(7, account)
    const kit = await open({ workflows: [Billing] })
    const wf = await kit.start(Billing, { hero: account })
    expect(loads).toEqual([])
    await kit.performNextStep(wf)
    expect(loads).toEqual([7])
    account.balance = 20
    await kit.speedrun(wf)
    expect(await wf.output('lookAgain')).toEqual([10, 20])
    expect(loads).toEqual([7, 7])
    expect(instances.size).toBe(2)
  })

  it('can be replaced by a spy, whose result other steps read as its output', async () => {
    const look = vi.spyOn(Billing.prototype, 'look').mockResolvedValue(99)
    try {
      const kit = await open({ workflows: [Billing] })
      const wf = await kit.speedrun(await kit.start(Billing, { hero: { id: 7, balance: 0 } }))
      expect(look).toHaveBeenCalledTimes(1)
      expect(await wf.output('lookAgain')).toEqual([99, 20])
    } finally {
      look.mockRestore()
    }
  })

  it('may see a date that the runner has faked', async () => {
    vi.useFakeTimers({ now: new Date('1999-12-31T23:59:59Z'), toFake: ['Date'] })
    try {
      const kit = await open({ workflows: [Trip] })
      const wf = await kit.speedrun(await kit.start(Trip))
      await kit.assertState(wf, 'finished')
      expect((await kit.now()).getUTCFullYear()).toBeGreaterThan(2000)
    } finally {
      vi.useRealTimers()
    }
  })

  it('has its errors collected instead of printed, and passed on to the listener of the test', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    try {
      const told: unknown[] = []
      const kit = await open({ workflows: [Fragile], onError: (error, context) => told.push([error, context?.step]) })
      expect(kit.errors).toEqual([])
      await kit.speedrun(await kit.start(Fragile))
      expect(kit.errors).toEqual([new TypeError('it broke')])
      expect(told).toEqual([[kit.errors[0], 'shatter']])
      expect(printed).not.toHaveBeenCalled()
    } finally {
      printed.mockRestore()
    }
  })
})

describe('assertions', () => {
  it('tell what the workflow has been through, with the error as the cause', async () => {
    const kit = await open({ workflows: [Fragile] })
    const wf = await kit.speedrun(await kit.start(Fragile))
    const failure = await failureOf(kit.assertState(wf, 'finished'))
    expect(failure).toMatchObject({ code: 'ERR_ASSERTION', actual: 'paused', expected: 'finished' })
    expect(failure.cause).toBe(kit.errors[0])
    expect(failure.message).toBe(
      [
        `Workflow ${wf.id} (Fragile) is paused, not finished.`,
        '  touch, attempt 1: completed (success)',
        '  shatter, attempt 1: failed (paused_by_exception): TypeError: it broke',
      ].join('\n'),
    )
  })

  it('look at the database, not at what the handle saw last', async () => {
    const kit = await open({ workflows: [Trip] })
    const wf = await kit.start(Trip)
    await kit.geneva.cancel(wf.id)
    expect(wf.state).toBe('ready')
    await kit.assertState(wf, 'canceled')
    expect(wf.state).toBe('canceled')
  })

  it('tell executed steps from skipped ones, however they were skipped', async () => {
    const kit = await open({ workflows: [Picky] })
    const wf = await kit.speedrun(await kit.start(Picky, { input: { fail: true } }))
    await kit.assertExecutedSteps(wf, ['lazy', 'risky', 'real'])
    for (const step of ['unwanted', 'lazy', 'risky']) await kit.assertStepSkipped(wf, step)
    await kit.assertStepNotExecuted(wf, 'unwanted')
    await kit.assertStepExecuted(wf, 'lazy', { times: 1 })
    await kit.assertStepExecuted(wf, 'real')
    const wrong = [
      kit.assertStepExecuted(wf, 'unwanted'),
      kit.assertStepExecuted(wf, 'real', { times: 2 }),
      kit.assertStepNotExecuted(wf, 'real'),
      kit.assertStepSkipped(wf, 'real'),
      kit.assertExecutedSteps(wf, ['real', 'risky', 'lazy']),
      kit.assertExecutedSteps(wf, ['lazy', 'risky']),
    ]
    expect((await Promise.all(wrong.map(failureOf))).map(failure => failure.message.split('\n')[0])).toEqual([
      `Workflow ${wf.id} (Picky) has not executed step unwanted, but should have.`,
      `Workflow ${wf.id} (Picky) has executed step real once, not 2 times.`,
      `Workflow ${wf.id} (Picky) has executed step real once, not at all.`,
      `Workflow ${wf.id} (Picky) has not skipped step real: it is completed.`,
      `Workflow ${wf.id} (Picky) has executed lazy, risky, real, not real, risky, lazy.`,
      `Workflow ${wf.id} (Picky) has executed lazy, risky, real, not lazy, risky.`,
    ])
  })

  it('leave out a step that was skipped from outside, or canceled by a condition', async () => {
    class Watched extends Workflow {
      static {
        this.cancelIf(() => canceled)
        this.step('one')
        this.step('two')
      }
      async one() {}
      async two() {}
    }
    let canceled = false
    const kit = await open({ workflows: [Watched] })
    const wf = await kit.start(Watched)
    await wf.skip('one')
    canceled = true
    await kit.speedrun(wf)
    await kit.assertState(wf, 'canceled')
    await kit.assertExecutedSteps(wf, [])
    await kit.assertStepSkipped(wf, 'one')
  })

  it('refuse a step that the class does not have, so that a misspelled one proves nothing', async () => {
    const kit = await open({ workflows: [Trip] })
    const wf = await kit.start(Trip)
    const message = 'Trip has no step "drvie". Its steps are pack, drive, unpack.'
    await expect(kit.assertStepNotExecuted(wf, 'drvie')).rejects.toThrow(message)
    await expect(kit.assertStepExecuted(wf, 'drvie')).rejects.toThrow(InvalidArgumentError)
    await expect(kit.assertStepSkipped(wf, 'drvie')).rejects.toThrow(InvalidArgumentError)
  })
})

describe('the clock', () => {
  it('refuses what is no time, and times that could not be stored exactly', async () => {
    const kit = await open({})
    await expect(kit.setTime(new Date(Number.NaN))).rejects.toThrow(InvalidArgumentError)
    await expect(kit.setTime('2030-01-01' as unknown as Date)).rejects.toThrow(InvalidArgumentError)
    await expect(kit.setTime(new Date('9999-01-01'))).rejects.toThrow(InvalidArgumentError)
    await expect(kit.advance(-1)).rejects.toThrow(InvalidArgumentError)
    await kit.advance('36500 days')
    await kit.advance('36500 days')
    await expect(kit.advance('36500 days')).rejects.toThrow(InvalidArgumentError)
    expect((await kit.now()).getTime()).toBeGreaterThanOrEqual(Date.now() + 72_999 * day)
  })

  it('is guarded against a workflow that is due again and again', async () => {
    const kit = await open({ workflows: [Chain] })
    const quiet = await kit.start(Chain, { input: { length: 1 } })
    const wild = await kit.start(Chain, { input: { length: 1_000_000 } })
    const failure = await kit.runDue({ maxSteps: 40 }).catch(error => error)
    expect(failure).toBeInstanceOf(StepLimitError)
    expect(failure.message).toContain(`Workflow ${wild.id} has performed 38 steps`)
    await kit.assertState(quiet, 'finished')
  })
})

describe('the worker behind the kit', () => {
  class Queued extends Workflow {
    static {
      this.jobOptions({ queue: 'slow' })
      this.step('wait')
      this.step('go', { queue: 'fast' })
    }
    async wait() {
      running.now++
      running.most = Math.max(running.most, running.now)
      await new Promise(resolve => setImmediate(resolve))
      running.now--
    }
    go() {
      return this.wait()
    }
  }
  const running = { now: 0, most: 0 }

  it('leaves no listener behind, however many steps it performs', async () => {
    let listeners = 0
    const { onStop } = EndWatch.prototype
    const spy = vi.spyOn(EndWatch.prototype, 'onStop').mockImplementation(function (this: EndWatch, listener) {
      listeners++
      const unsubscribe = onStop.call(this, listener)
      return () => {
        listeners--
        unsubscribe()
      }
    })
    try {
      const kit = await open({ workflows: [Chain] })
      await kit.speedrun(await kit.start(Chain, { input: { length: 3 } }))
      expect(spy).toHaveBeenCalled()
      expect(listeners).toBe(0)
    } finally {
      spy.mockRestore()
    }
  })

  it('keeps to the number of steps and to its concurrency over all queues', async () => {
    const kit = await open({ workflows: [Queued] })
    const ahead = await kit.start(Queued)
    await kit.performNextStep(ahead)
    const behind = await kit.start(Queued)
    expect(await kit.geneva.runDue({ queues: { slow: 5, fast: 5 }, maxSteps: 1 })).toBe(1)
    const steps = [...(await kit.executedSteps(ahead)), ...(await kit.executedSteps(behind))]
    expect(steps).toHaveLength(2)
    await kit.start(Queued)
    await kit.geneva.runDue({ queues: { slow: 5, fast: 5 }, concurrency: 1 })
    expect(running).toEqual({ now: 0, most: 1 })
  })
})

async function failureOf(assertion: Promise<void>): Promise<AssertionError> {
  const failure = await assertion.then(
    () => null,
    error => error,
  )
  if (failure instanceof AssertionError) return failure
  throw new Error('The assertion held.', { cause: failure })
}
