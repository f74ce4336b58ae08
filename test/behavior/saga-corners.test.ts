/** Corners of sagas: what is undone when much has happened before, and with which keys and numbers. */
import { beforeEach, describe, expect, it } from 'vitest'
import { type Child, type Compensation, type Decision, defineHero, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

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
    calls.push('freeFlight')
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
    attempts.push(undo.attempt)
    this.emit('order.noted', undo.idempotencyKey)
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

let attempts: number[] = []
function note(name: string, key: string): void {
  keys[name] = [...(keys[name] ?? []), key]
}

class Steering extends Workflow<null, { how: 'skip' | 'cancel' | 'stall' }> {
  static {
    this.named('steering')
    this.step('act', { compensate: { step: 'undo', retry: 1, timeout: '20 ms' } })
    this.step('stop')
  }
  async act() {}
  async undo() {
    calls.push('undo')
    if (this.input.how === 'skip') this.skip('nothing to undo')
    if (this.input.how === 'cancel') this.cancel()
    await new Promise(resolve => this.signal.addEventListener('abort', resolve, { once: true }))
  }
  async stop() {
    this.cancel('not wanted')
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

class Draft extends Workflow {
  static {
    this.named('draft')
    this.onException('rollback')
    this.step('write', { compensate: 'shred' })
    this.human('accept', { onReject: { backTo: 'write' } })
    this.step('print')
  }
  async write() {}
  async shred(undo: Compensation) {
    calls.push('shred')
    note('shred', undo.idempotencyKey)
  }
  async accept(_: Decision) {}
  async print() {
    throw new Error('no paper')
  }
}

/** Waits for its second attempt when it is canceled. */
class Flaky extends Workflow {
  static {
    this.named('flaky')
    this.step('first', { compensate: 'undoFirst' })
    this.step('call', { compensate: 'undoCall', retry: { attempts: 5, backoff: 'fixed', delay: '1 hour' } })
  }
  async first() {}
  async undoFirst() {
    run('undoFirst')
  }
  async call() {
    run('call')
  }
  async undoCall() {
    run('undoCall')
  }
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
  const workflows = [Booking, Careful, Steering, Plain, Lettered, Leg, Trip, Sleeper, Draft, Flaky]
  const under = useGeneva(database, { workflows })
  const statesOf = async (id: string) =>
    (await under.geneva.nodesWithState(id)).map(({ name, state }) => `${name} ${state}`)
  const stateOf = async (id: string) => (await under.geneva.find(id))?.state
  beforeEach(async () => {
    calls.length = 0
    failing.clear()
    customers.clear()
    for (const name of Object.keys(keys)) delete keys[name]
    await under.setClock(0)
  })

  describe('a bug:', () => {
    it('was given up beside others is undone once each has been requeued', async () => {
      failing.add('last')
      failing.add('undoOnce')
      failing.add('undoPlain')
      const wf = await under.geneva.start(Careful)
      for (const minute of [0, 1, 2, 3]) {
        await under.setClock(minute * 60_000)
        await under.runDue()
      }
      failing.clear()
      const letters = await under.geneva.deadLetters({ workflowId: wf.id })
      expect(letters.map(({ step }) => step).toSorted()).toEqual(['once', 'plain'])
      for (const letter of letters) await under.geneva.requeue(letter.id, { by: 'ann' })
      await under.runDue()
      expect(await statesOf(wf.id)).toEqual([
        'plain rolled_back',
        'once rolled_back',
        'unsure rolled_back',
        'last rolled_back',
      ])
      expect(await stateOf(wf.id)).toBe('failed')
    })

    it('from its dead letter queue is undone to the start, the step that was given up included', async () => {
      failing.add('second')
      const canceled = await under.geneva.start(Lettered)
      await under.runDue()
      expect(await stateOf(canceled.id)).toBe('dlq')
      await canceled.cancel({ by: 'ann' })
      await under.runDue()
      expect(await stateOf(canceled.id)).toBe('canceled')
      expect(calls).toEqual(['second', 'undoSecond', 'undoFirst'])
      expect(await under.geneva.deadLetters({ workflowId: canceled.id, state: 'open' })).toEqual([])
    })

    it('is found by its state, and is not active', async () => {
      const wf = await under.geneva.start(Plain)
      await under.runDue()
      const ids = async (state: 'failed' | 'active') =>
        (await under.geneva.list(Plain, { state })).items.map(({ id }) => id)
      expect(await ids('failed')).toContain(wf.id)
      expect(await ids('active')).not.toContain(wf.id)
    })

    it('by discarding its dead letter is undone as by a cancel', async () => {
      failing.add('second')
      const wf = await under.geneva.start(Lettered)
      await under.runDue()
      const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
      await under.geneva.discard(letter?.id ?? '', { by: 'ann' })
      await under.runDue()
      expect(await stateOf(wf.id)).toBe('canceled')
      expect(calls).toEqual(['second', 'undoSecond', 'undoFirst'])
    })

    it('has a key of its own for each round', async () => {
      const wf = await under.geneva.start(Draft)
      await under.runDue()
      await wf.decide('accept', { decision: 'rejected', by: 'ann' })
      await under.runDue()
      await wf.decide('accept', { decision: 'confirmed', by: 'ann' })
      await under.runDue()
      expect(keys.shred).toHaveLength(2)
      expect(new Set(keys.shred).size).toBe(2)
    })

    it('of a call that has failed is run too when the workflow is canceled before the next attempt', async () => {
      failing.add('call')
      const wf = await under.geneva.start(Flaky)
      await under.runDue()
      await wf.cancel({ by: 'ann' })
      await under.runDue()
      expect(calls).toEqual(['call', 'undoCall', 'undoFirst'])
    })

    it('tells the number of the attempt at undoing', async () => {
      const seen: number[] = []
      attempts = seen
      failing.add('last')
      failing.add('undoPlain')
      await under.geneva.start(Careful)
      for (const minute of [0, 1, 2, 3]) {
        await under.setClock(minute * 60_000)
        await under.runDue()
      }
      expect(seen).toEqual([1, 2, 3])
    })

    it('may emit events', async () => {
      failing.add('last')
      const wf = await under.geneva.start(Careful)
      await under.runDue()
      expect((await wf.events()).map(({ type }) => type)).toContain('order.noted')
    })
  })
})
