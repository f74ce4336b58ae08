/** What the guide to sagas promises: what is undone, in which order, and what is left when that does not work. */
import { beforeEach, describe, expect, it } from 'vitest'
import { type Child, type Compensation, defineHero, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate } from '../support/wait-for.ts'

const calls: string[] = []
const failing = new Set<string>()
const keys: Record<string, string[]> = {}

/** Notes the call, and throws if the test wants that. */
function run(name: string): void {
  calls.push(name)
  if (failing.has(name)) throw new Error(`${name} broke`)
}

interface Customer {
  readonly id: number
  readonly closed?: boolean
}
const customers = new Map<number, Customer>()
const Customers = defineHero('Customer', {
  id: (customer: Customer) => customer.id,
  load: (id): Customer | undefined => customers.get(id),
})

class Booking extends Workflow<Customer, { nights?: number }> {
  static {
    this.named('booking')
    this.heroes(Customers)
    this.cancelIf(wf => wf.hero.closed === true)
    this.beforeEach((_, step) => calls.push(`before ${step.kind ?? 'forward'} ${step.name}`))
    this.step('hotel', { compensate: 'freeHotel' })
    this.step('flight', { if: wf => wf.hero.id > 0, compensate: 'freeFlight' })
    this.step('confirm', { wait: '1 hour' })
  }
  async hotel() {
    return { room: 12 }
  }
  async freeHotel(undo: Compensation<Booking['hotel']>) {
    calls.push(`room ${undo.output?.room}, ${undo.input === this.input}, ${undo.reason.kind}: ${undo.reason.message}`)
    try {
      calls.push(`hero ${this.hero.id}`)
    } catch (error) {
      calls.push((error as { code: string }).code)
    }
  }
  async flight() {}
  async freeFlight() {
    calls.push(`freeFlight, room ${(await this.output(this.hotel)).room} is still booked`)
  }
  async confirm() {}
}

/** Everything that a compensation may say about itself. */
class Careful extends Workflow<null, { until?: number }> {
  static {
    this.named('careful')
    this.step('plain', { compensate: 'undoPlain' })
    this.step('once', { compensate: { step: 'undoOnce', idempotent: false } })
    this.step('unsure', { compensate: { step: 'undoUnsure', afterFailure: false }, onException: 'rollback' })
    this.step('last', { onException: 'rollback' })
  }
  async plain() {
    note('plain', this.execution.idempotencyKey)
  }
  async undoPlain(undo: Compensation) {
    note('undoPlain', undo.idempotencyKey)
    run('undoPlain')
    if (calls.filter(name => name === 'undoPlain').length < (this.input.until ?? 0)) this.reattempt({ wait: '1 min' })
  }
  async once() {}
  async undoOnce() {
    run('undoOnce')
  }
  async unsure() {
    run('unsure')
  }
  async undoUnsure() {
    run('undoUnsure')
  }
  async last() {
    run('last')
  }
}

function note(name: string, key: string): void {
  keys[name] = [...(keys[name] ?? []), key]
}

class Steering extends Workflow<null, { how: 'skip' | 'cancel' }> {
  static {
    this.named('steering')
    this.step('act', { compensate: { step: 'undo', retry: 1 } })
    this.step('stop')
  }
  async act() {}
  async undo() {
    calls.push('undo')
    if (this.input.how === 'skip') this.skip('nothing to undo')
    this.cancel()
  }
  async stop() {
    this.cancel('not wanted')
  }
}

class Stalling extends Workflow {
  static {
    this.named('stalling')
    this.step('act', { compensate: { step: 'undo', retry: 1, timeout: '20 ms' } })
    this.step('stop')
  }
  async act() {}
  async undo() {
    await new Promise(resolve => this.signal.addEventListener('abort', resolve, { once: true }))
  }
  async stop() {
    this.cancel('not wanted')
  }
}

/** Stops after its save point, in the way that the test wants. */
class Saved extends Workflow<null, { how?: 'policy' | 'stay' }> {
  static {
    this.named('saved')
    this.defaults({ retry: { attempts: 2, backoff: 'fixed', delay: 0, jitter: false } })
    this.step('first', { compensate: 'undoFirst' })
    this.savePoint('here')
    this.step('second', { compensate: 'undoSecond' })
    this.step('third', { onException: 'cancel', retry: 1 })
    this.step('fourth', { wait: '1 day' })
  }
  async first() {}
  async undoFirst() {
    run('undoFirst')
  }
  async second() {}
  async undoSecond() {
    run('undoSecond')
  }
  async third() {
    if (this.input.how === 'policy') throw new Error('third broke')
    if (this.input.how === 'stay') await staying.passed
  }
  async fourth() {}
}
/** What the step that stays waits for. */
let staying = gate()

/** Its compensation hangs, and must not be called twice. */
class Hanging extends Workflow {
  static {
    this.named('hanging')
    this.step('act', { compensate: { step: 'undo', idempotent: false, timeout: '20 ms' } })
    this.step('stop')
  }
  async act() {}
  async undo() {
    calls.push('undo')
    await new Promise(resolve => this.signal.addEventListener('abort', resolve, { once: true }))
  }
  async stop() {
    this.cancel()
  }
}

/** No compensation at all. */
class Plain extends Workflow {
  static {
    this.named('plain')
    this.step('first')
    this.step('second', { onException: 'rollback' })
  }
  async first() {}
  async second() {
    throw new Error('second broke')
  }
}

class Lettered extends Workflow {
  static {
    this.named('lettered')
    this.step('first', { compensate: 'undoFirst' })
    this.step('second', { onException: 'dlq', compensate: 'undoSecond' })
  }
  async first() {}
  async undoFirst() {
    run('undoFirst')
  }
  async second() {
    run('second')
  }
  async undoSecond() {
    run('undoSecond')
  }
}

class Leg extends Workflow {
  static {
    this.named('leg')
    this.step('ride', { compensate: 'returnTicket' })
    this.step('arrive', { wait: '1 day' })
  }
  async ride() {
    run('ride')
  }
  async returnTicket() {
    run('returnTicket')
  }
  async arrive() {}
}

class Trip extends Workflow {
  static {
    this.named('trip')
    this.step('pack', { compensate: 'unpack' })
    this.child('travel', { workflow: Leg, start: () => ({}) })
  }
  async pack() {
    run('pack')
  }
  async unpack() {
    run('unpack')
  }
  async travel(_: Child<Leg>) {}
}

class Sleeper extends Workflow {
  static {
    this.named('sleeper')
    this.step('begin')
    this.step('wake', { wait: '30 days' })
  }
  async begin() {}
  async wake() {}
}

forEachDatabase('a saga', database => {
  const workflows = [Booking, Careful, Steering, Stalling, Saved, Hanging, Plain, Lettered, Leg, Trip, Sleeper]
  const under = useGeneva(database, { workflows })
  const statesOf = async (id: string) =>
    (await under.geneva.nodesWithState(id)).map(({ name, state }) => `${name} ${state}`)
  const stateOf = async (id: string) => (await under.geneva.find(id))?.state
  /** Timers between parents and children are looked for once in a call. */
  const runUntil = async (id: string, state: string) => {
    for (let round = 0; round < 20 && (await stateOf(id)) !== state; round++) await under.runDue()
    expect(await stateOf(id)).toBe(state)
  }

  beforeEach(async () => {
    calls.length = 0
    failing.clear()
    customers.clear()
    for (const name of Object.keys(keys)) delete keys[name]
    await under.setClock(0)
  })

  describe('while it is undone', () => {
    it('runs its hooks around compensations, and tells them so', async () => {
      customers.set(1, { id: 1 })
      const wf = await under.geneva.start(Booking, { hero: { id: 1 } })
      await under.runDue()
      calls.length = 0
      await wf.cancel({ by: 'ann', reason: 'rain' })
      await under.runDue()
      expect(calls).toEqual([
        'before compensate flight',
        'freeFlight, room 12 is still booked',
        'before compensate hotel',
        'room 12, true, cancel: rain',
        'hero 1',
      ])
    })

    it('needs no hero: its compensations run, and only asking for the hero throws', async () => {
      customers.set(2, { id: 2 })
      const wf = await under.geneva.start(Booking, { hero: { id: 2 } })
      await under.runDue()
      customers.clear()
      calls.length = 0
      await under.setClock(3_700_000)
      await under.runDue()
      expect(await stateOf(wf.id)).toBe('canceled')
      expect(calls.slice(-2)).toEqual([expect.stringContaining('room 12, true, cancel'), 'HERO_GONE'])
    })

    it('asks no condition: what was done is undone in any case', async () => {
      customers.set(3, { id: 3 })
      const wf = await under.geneva.start(Booking, { hero: { id: 3 } })
      await under.runDue()
      customers.set(3, { id: 3, closed: true })
      await under.setClock(3_700_000)
      await under.runDue()
      expect(await stateOf(wf.id)).toBe('canceled')
      expect(await statesOf(wf.id)).toEqual(['hotel rolled_back', 'flight rolled_back', 'confirm canceled'])
    })

    it('does not undo what it has skipped', async () => {
      customers.set(-4, { id: -4 })
      const wf = await under.geneva.start(Booking, { hero: { id: -4 } })
      await under.runDue()
      await wf.cancel()
      await under.runDue()
      expect(calls.filter(call => call.startsWith('freeFlight'))).toEqual([])
      expect(await statesOf(wf.id)).toEqual(['hotel rolled_back', 'flight skipped', 'confirm canceled'])
    })

    it('cannot be paused, resumed or skipped, and a second cancel changes nothing', async () => {
      failing.add('last')
      failing.add('undoPlain')
      const wf = await under.geneva.start(Careful)
      await under.runDue()
      expect(await stateOf(wf.id)).toBe('rolling_back')
      await expect(wf.pause()).rejects.toMatchObject({ code: 'INVALID_STATE' })
      await expect(wf.resume()).rejects.toMatchObject({ code: 'INVALID_STATE' })
      await expect(wf.skip('plain')).rejects.toMatchObject({ code: 'INVALID_STATE' })
      await wf.cancel({ by: 'ann' })
      await wf.cancel({ by: 'bob' })
      const requests = (await wf.events()).filter(event => event.type === 'workflow.cancel_requested')
      expect(requests).toMatchObject([{ by: 'ann' }])
      await wf.abort({ by: 'ann' })
      expect(wf.state).toBe('aborted')
      expect(await statesOf(wf.id)).toContain('plain failed')
    })
  })

  describe('whose step fails', () => {
    it('is undone by `this.cancel()`, and ends as canceled', async () => {
      const wf = await under.geneva.start(Steering, { input: { how: 'skip' } })
      await under.runDue()
      expect(calls).toEqual(['undo'])
      expect(await stateOf(wf.id)).toBe('canceled')
      expect(await statesOf(wf.id)).toEqual(['act rolled_back', 'stop canceled'])
    })

    it('is undone by the policy cancel back to the start, past save points', async () => {
      const wf = await under.geneva.start(Saved, { input: { how: 'policy' } })
      await under.runDue()
      expect(calls).toEqual(['undoSecond', 'undoFirst'])
      expect(await stateOf(wf.id)).toBe('canceled')
    })

    it('leaves out the compensation of the failed step if that says so', async () => {
      failing.add('unsure')
      const wf = await under.geneva.start(Careful)
      await under.runDue()
      expect(calls).toEqual(['unsure', 'undoOnce', 'undoPlain'])
      expect((await statesOf(wf.id))[2]).toBe('unsure rolled_back')
    })

    it('and that has no compensation at all fails, and what it has done stays', async () => {
      const wf = await under.geneva.start(Plain)
      await under.runDue()
      expect(await stateOf(wf.id)).toBe('failed')
      expect(await statesOf(wf.id)).toEqual(['first completed', 'second failed'])
      expect((await wf.history()).at(-1)).toMatchObject({ outcome: 'rolled_back_by_exception' })
    })
  })

  describe('whose compensation', () => {
    it('throws is called three times in all, with one key, which is not that of the step', async () => {
      failing.add('last')
      failing.add('undoPlain')
      const wf = await under.geneva.start(Careful)
      await under.runDue()
      expect(calls.filter(name => name === 'undoPlain')).toHaveLength(1)
      await under.setClock(60_000)
      await under.runDue()
      await under.setClock(120_000)
      await under.runDue()
      await under.setClock(180_000)
      await under.runDue()
      expect(calls.filter(name => name === 'undoPlain')).toHaveLength(3)
      expect(new Set(keys.undoPlain).size).toBe(1)
      expect(keys.undoPlain).not.toContain(keys.plain?.[0])
      expect(await stateOf(wf.id)).toBe('failed')
      expect((await wf.compensations()).map(({ step, outcome }) => `${step} ${outcome}`)).toEqual([
        'unsure compensated',
        'once compensated',
        'plain reattempted_by_exception',
        'plain reattempted_by_exception',
        'plain compensation_failed',
      ])
    })

    it('says nothing of retries has those of its class', async () => {
      failing.add('undoSecond')
      const wf = await under.geneva.start(Saved, { input: { how: 'policy' } })
      await under.runDue()
      expect(calls).toEqual(['undoSecond', 'undoSecond', 'undoFirst'])
      expect(await stateOf(wf.id)).toBe('failed')
    })

    it('must not be repeated is called once, and has a dead letter if it throws', async () => {
      failing.add('last')
      failing.add('undoOnce')
      const wf = await under.geneva.start(Careful)
      await under.runDue()
      expect(calls.filter(name => name === 'undoOnce')).toHaveLength(1)
      expect(await stateOf(wf.id)).toBe('failed')
      expect(await statesOf(wf.id)).toEqual([
        'plain rolled_back',
        'once failed',
        'unsure rolled_back',
        'last rolled_back',
      ])
      const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
      expect(letter).toMatchObject({ step: 'once', reason: 'compensation_exhausted' })
    })

    it('must not be repeated and runs out of time is left to a person, since it may have happened', async () => {
      const wf = await under.geneva.start(Hanging)
      await under.runDue()
      expect(calls).toEqual(['undo'])
      expect(await stateOf(wf.id)).toBe('failed')
      expect((await wf.compensations()).map(({ outcome }) => outcome)).toEqual(['unknown'])
      const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
      expect(letter).toMatchObject({ step: 'act', reason: 'unknown_outcome' })
    })

    it('cannot steer the workflow is given up when it tries', async () => {
      const wf = await under.geneva.start(Steering, { input: { how: 'cancel' } })
      await under.runDue()
      expect(await stateOf(wf.id)).toBe('failed')
      expect((await wf.compensations()).at(-1)?.error?.message).toContain('cannot cancel its workflow')
    })

    it('takes longer than its timeout is given up, and a cancel ends as failed then', async () => {
      const wf = await under.geneva.start(Stalling)
      await under.runDue()
      expect(await stateOf(wf.id)).toBe('failed')
      expect(await statesOf(wf.id)).toEqual(['act failed', 'stop canceled'])
    })

    it('was given up can be discarded, and the workflow stays as it has ended', async () => {
      const wf = await under.geneva.start(Steering, { input: { how: 'cancel' } })
      await under.runDue()
      const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
      await under.geneva.discard(letter?.id ?? '', { by: 'ann', reason: 'paid back in cash' })
      expect(await under.geneva.deadLetters({ workflowId: wf.id, state: 'open' })).toEqual([])
      expect(await stateOf(wf.id)).toBe('failed')
    })
  })

  describe('that is asked to end', () => {
    it('tells beforehand what a cancel and what a failure would undo', async () => {
      const wf = await under.geneva.start(Saved)
      await under.runDue()
      const preview = async (kind: 'cancel' | 'failure') =>
        (await wf.previewRollback(kind)).map(({ step, compensation }) => `${step} ${compensation}`)
      expect(await preview('cancel')).toEqual(['third null', 'second undoSecond', 'here null', 'first undoFirst'])
      expect(await preview('failure')).toEqual(['third null', 'second undoSecond'])
      expect(await under.geneva.previewRollback(wf.id)).toHaveLength(4)
      expect((await wf.refresh()).state).toBe('ready')
    })

    it('while it is paused is undone as from any other state', async () => {
      const wf = await under.geneva.start(Saved)
      await under.runDue()
      await wf.pause()
      await wf.cancel({ by: 'ann' })
      await under.runDue()
      expect(calls).toEqual(['undoSecond', 'undoFirst'])
      expect(await stateOf(wf.id)).toBe('canceled')
    })

    it('by an abort does not wait for the step that runs, whose late result is refused', async () => {
      staying = gate()
      const wf = await under.geneva.start(Saved, { input: { how: 'stay' } })
      const running = under.runDue()
      await expect.poll(async () => (await wf.refresh()).state).toBe('performing')
      await expect.poll(async () => (await wf.currentExecutions())[0]?.step).toBe('third')
      expect((await wf.abort()).state).toBe('aborted')
      staying.open()
      await running
      expect(await stateOf(wf.id)).toBe('aborted')
      expect((await wf.history()).find(({ step }) => step === 'third')).toMatchObject({
        state: 'skipped',
        outcome: 'stopped',
      })
      expect(calls).toEqual([])
    })

    it('while it sleeps for a month ends at once', async () => {
      const canceled = await under.geneva.start(Sleeper)
      const aborted = await under.geneva.start(Sleeper)
      await under.runDue()
      expect((await canceled.cancel()).state).toBe('canceled')
      expect((await aborted.abort()).state).toBe('aborted')
    })

    it('has its child undone before it undoes itself further', async () => {
      const wf = await under.geneva.start(Trip)
      await under.runDue()
      await wf.cancel({ by: 'ann' })
      await runUntil(wf.id, 'canceled')
      expect(calls).toEqual(['pack', 'ride', 'returnTicket', 'unpack'])
    })

    it('by an abort has its child aborted too, and neither undoes anything', async () => {
      const wf = await under.geneva.start(Trip)
      await under.runDue()
      const [child] = (await under.geneva.list(Leg, { state: 'active' })).items
      await wf.abort({ by: 'ann', reason: 'stop' })
      expect(wf.state).toBe('aborted')
      await runUntil(child?.id ?? '', 'aborted')
      expect(calls).toEqual(['pack', 'ride'])
    })
  })

  describe('that has ended as failed or aborted', () => {
    it('leaves its place to another one for the same hero', async () => {
      customers.set(7, { id: 7 })
      const wf = await under.geneva.start(Booking, { hero: { id: 7 } })
      await wf.abort()
      const next = await under.geneva.start(Booking, { hero: { id: 7 } })
      expect(next.id).not.toBe(wf.id)
      await next.abort()
    })
  })
})
