/** Waits and conditions: when a step falls due, and that its conditions are asked then and not before. */
import { beforeEach, expect, it } from 'vitest'
import { defineHero, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const hour = 3_600_000

interface Account {
  readonly id: number
  active: boolean
}

const accounts = new Map<number, Account>()
const Accounts = defineHero('Account', { id: (account: Account) => account.id, load: id => accounts.get(id) })
const calls: string[] = []

class Waits extends Workflow {
  static {
    this.step('first', { wait: '2 hours' })
    this.step('second', { wait: { minutes: 30 } })
    this.step('third')
  }
  first() {}
  second() {}
  third() {}
}

class Plain extends Workflow {
  static {
    this.step('only')
  }
  only() {}
}

class Conditions extends Workflow<Account, { wanted: boolean }> {
  static {
    this.heroes(Accounts)
    this.allowMultiple()
    this.step('ifMethod', { if: 'isWanted' })
    this.step('ifFunction', { if: wf => wf.input.wanted })
    this.step('ifTrue', { if: true })
    this.step('ifFalse', { if: false })
    this.step('skipIfMethod', { skipIf: 'isWanted' })
    this.step('skipIfFunction', { skipIf: wf => wf.input.wanted })
    this.step('skipIfTrue', { skipIf: true })
    this.step('skipIfFalse', { skipIf: false })
    this.step('ifAsync', { if: async wf => wf.input.wanted })
    this.step('skipIfAsync', { skipIf: 'isWantedLater' })
  }
  isWanted() {
    return this.input.wanted
  }
  async isWantedLater() {
    await Promise.resolve()
    return this.input.wanted
  }
  ifMethod() {}
  ifFunction() {}
  ifTrue() {}
  ifFalse() {}
  skipIfMethod() {}
  skipIfFunction() {}
  skipIfTrue() {}
  skipIfFalse() {}
  ifAsync() {}
  skipIfAsync() {}
}

class Reminder extends Workflow<Account> {
  static {
    this.heroes(Accounts)
    this.step('remind', { wait: '1 hour', skipIf: wf => wf.hero.active })
    this.step('close', { wait: '1 hour', if: wf => !wf.hero.active })
  }
  remind() {
    calls.push('remind')
  }
  close() {
    calls.push('close')
  }
}

class Watched extends Workflow<Account> {
  static {
    this.heroes(Accounts)
    this.cancelIf('isClosed')
    this.cancelIf(async () => {
      calls.push('second cancelIf')
      return false
    })
    this.step('first', { wait: '1 hour', skipIf: wf => asked(wf) })
    this.step('second', { wait: '1 hour' })
  }
  isClosed() {
    calls.push('first cancelIf')
    return !this.hero.active
  }
  first() {
    calls.push('body')
  }
  second() {}
}

function asked(_: Watched): boolean {
  calls.push('skipIf')
  return false
}

forEachDatabase('a step', database => {
  const under = useGeneva(database, { workflows: [Waits, Plain, Conditions, Reminder, Watched] })
  let heroes = 0
  beforeEach(async () => {
    calls.length = 0
    await under.setClock(0)
  })

  function account(active: boolean): Account {
    const hero = { id: ++heroes, active }
    accounts.set(hero.id, hero)
    return hero
  }

  async function at(offsetMs: number): Promise<number> {
    await under.setClock(offsetMs)
    return under.runDue()
  }

  async function dueIn(wf: WorkflowHandle, since: Date): Promise<number> {
    const [next] = await wf.currentExecutions()
    return (next?.scheduledFor.getTime() ?? Number.NaN) - since.getTime()
  }

  it('waits before it is first, and between two others, counted from the end of the one before', async () => {
    const wf = await under.geneva.start(Waits)
    expect(await dueIn(wf, wf.createdAt)).toBeCloseTo(2 * hour, -2)
    expect(await at(2 * hour - 5000)).toBe(0)
    expect(await at(2 * hour + 1000)).toBe(1)
    const [first] = await wf.history()
    expect(first).toMatchObject({ step: 'first', outcome: 'success' })
    expect(await dueIn(wf, first?.endedAt ?? new Date(0))).toBeCloseTo(hour / 2, -2)
    expect(await at(2.5 * hour - 5000)).toBe(0)
    expect(await at(2.5 * hour + 20_000)).toBe(1)
    expect((await wf.refresh()).state).toBe('finished')
    expect((await wf.history()).map(execution => execution.step)).toEqual(['first', 'second', 'third'])
  })

  it('is delayed by the start, besides its own wait', async () => {
    const wf = await under.geneva.start(Waits, {}, { delay: '1 day' })
    expect(await dueIn(wf, wf.createdAt)).toBeCloseTo(26 * hour, -2)
    await wf.cancel()
  })

  it('starts at the time that the start names', async () => {
    const time = new Date(Date.now() + 10 * hour)
    const byDate = await under.geneva.start(Plain, {}, { at: time })
    expect((await byDate.currentExecutions())[0]?.scheduledFor).toEqual(time)
    const byNumber = await under.geneva.start(Plain, {}, { at: time.getTime() })
    expect((await byNumber.currentExecutions())[0]?.scheduledFor).toEqual(time)
    const waiting = await under.geneva.start(Waits, {}, { at: time })
    expect((await waiting.currentExecutions())[0]?.scheduledFor.getTime()).toBe(time.getTime() + 2 * hour)
    expect(await at(9 * hour)).toBe(0)
    expect(await at(10 * hour + 1000)).toBe(2)
    expect((await byDate.refresh()).state).toBe('finished')
    await waiting.cancel()
  })

  it('starts at once when that time has passed', async () => {
    const wf = await under.geneva.start(Plain, {}, { at: new Date(0) })
    expect(await under.runDue()).toBe(1)
    expect((await wf.refresh()).state).toBe('finished')
  })

  it.each([
    { delay: '1 hour', at: new Date() },
    { delay: -1 },
    { delay: 'soon' },
    { at: new Date(Number.NaN) },
    { at: 'tomorrow' },
    { at: Number.POSITIVE_INFINITY },
    { at: 1e16 },
  ])('cannot be started with %o', async options => {
    await expect(under.geneva.start(Plain, {}, options as object)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it.each([
    [true, ['ifMethod', 'ifFunction', 'ifTrue', 'skipIfFalse', 'ifAsync']],
    [false, ['ifTrue', 'skipIfMethod', 'skipIfFunction', 'skipIfFalse', 'skipIfAsync']],
  ])('runs if `if` is true and is skipped if `skipIf` is: wanted %s', async (wanted, ran) => {
    const wf = await under.geneva.start(Conditions, { hero: account(true), input: { wanted } })
    await under.runDue()
    const history = await wf.history()
    expect(history).toHaveLength(10)
    expect(history.filter(execution => execution.outcome === 'success').map(execution => execution.step)).toEqual(ran)
    const others = history.filter(execution => !ran.includes(execution.step))
    expect(new Set(others.map(execution => execution.outcome))).toEqual(new Set(['skipped_by_condition']))
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('is asked about when it is about to run, not when it is scheduled', async () => {
    const hero = account(false)
    const wf = await under.geneva.start(Reminder, { hero })
    await at(hour + 1000)
    hero.active = true
    await at(2 * hour + 10_000)
    expect(calls).toEqual(['remind'])
    expect((await wf.history()).map(execution => execution.outcome)).toEqual(['success', 'skipped_by_condition'])
  })

  it('asks cancelIf before each step, in the order of declaration, and only then its own condition', async () => {
    const hero = account(true)
    const wf = await under.geneva.start(Watched, { hero })
    expect(calls).toEqual([])
    await at(hour + 1000)
    expect(calls).toEqual(['first cancelIf', 'second cancelIf', 'skipIf', 'body'])
    hero.active = false
    calls.length = 0
    await at(2 * hour + 10_000)
    expect(calls).toEqual(['first cancelIf'])
    expect((await wf.refresh()).state).toBe('canceled')
    expect((await wf.history())[1]).toMatchObject({ step: 'second', outcome: 'canceled_by_condition' })
  })
})
