/** Children of sagas: what a child has done is undone by its node, however far that has come, and one that has finished is not started again. */
import { beforeEach, expect, it } from 'vitest'
import { type Child, type Compensation, type Decision, defineHero, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const calls: string[] = []
const failing = new Set<string>()

/** Throws once if the test wants that. */
function run(name: string): void {
  calls.push(name)
  if (failing.delete(name)) throw new Error(`${name} broke`)
}

interface Customer {
  readonly id: number
}
const customers = new Map<number, Customer>()
const Customers = defineHero('Customer', {
  id: (customer: Customer) => customer.id,
  load: (id): Customer | undefined => customers.get(id),
})

/** Runs in a queue of its own, so that a test can let it finish while nobody runs its parent. */
class Charge extends Workflow {
  static {
    this.named('charge')
    this.step('charge', { queue: 'bank', onException: 'cancel' })
  }
  async charge() {
    run('charge')
  }
}

class Order extends Workflow<Customer> {
  static {
    this.named('order')
    this.heroes(Customers)
    this.step('reserve', { compensate: 'release' })
    this.child('pay', { workflow: Charge, start: () => ({}), compensate: 'refund' })
    this.step('ship')
  }
  async reserve() {}
  async release() {
    calls.push('release')
  }
  async pay(_: Child<Charge>) {
    run('pay')
    return 'receipt'
  }
  async refund({ output }: Compensation<Order['pay']>) {
    calls.push(`refund ${output}`)
  }
  async ship() {
    run('ship')
  }
}

class Retried extends Workflow {
  static {
    this.named('retried')
    this.child('pay', {
      workflow: Charge,
      start: () => ({}),
      compensate: 'refund',
      retry: { attempts: 2, backoff: 'fixed', delay: '1 hour' },
    })
  }
  async pay(_: Child<Charge>) {
    run('pay')
  }
  async refund() {
    calls.push('refund')
  }
}

class Reviewed extends Workflow {
  static {
    this.named('reviewed')
    this.child('pay', { workflow: Charge, start: () => ({}) })
    this.human('accept', { onReject: { backTo: 'pay' } })
  }
  async pay(_: Child<Charge>) {
    run('pay')
  }
  async accept(_: Decision) {}
}

/** Goes on with the quicker one. The slower is not needed any more, whether it has come to its end or not. */
class Either extends Workflow {
  static {
    this.named('either')
    this.fork(
      'both',
      {
        card: b => b.child('pay', { workflow: Charge, start: () => ({}), compensate: 'refund' }),
        cash: b => b.step('cash', { queue: 'desk' }),
      },
      { join: 'any' },
    )
    this.step('ship', { wait: '1 hour' })
  }
  async pay(_: Child<Charge>) {
    run('pay')
  }
  async refund() {
    calls.push('refund')
  }
  async cash() {}
  async ship() {}
}

let people = 0

forEachDatabase('the child of a saga', database => {
  const under = useGeneva(database, { workflows: [Charge, Order, Retried, Reviewed, Either] })

  beforeEach(async () => {
    await under.setClock(0)
    calls.length = 0
    failing.clear()
  })

  /** Its child is there and has not begun. */
  async function waiting() {
    const hero = { id: ++people }
    customers.set(hero.id, hero)
    const order = await under.geneva.start(Order, { hero })
    await under.runDue({ queues: ['default'] })
    expect(await order.currentExecutions()).toMatchObject([{ step: 'pay', state: 'waiting' }])
    return order
  }

  const childrenOf = async (id: string) =>
    (await under.geneva.list(Charge)).items.filter(({ parentId }) => parentId === id)
  const letChildRun = () => under.runDue({ queues: ['bank'] })
  const sound = async (id: string) => expect((await under.geneva.doctor({ workflow: id })).findings).toEqual([])

  it.each([true, false])('is undone though its node was not claimed since it had finished (paused: %s)', async held => {
    const order = await waiting()
    if (held) await order.pause()
    await letChildRun()
    expect(await order.currentExecutions()).toMatchObject([{ step: 'pay', state: held ? 'paused' : 'scheduled' }])
    expect(await order.previewRollback()).toMatchObject([{ compensation: 'refund' }, { compensation: 'release' }])
    await order.cancel({ by: 'ann', reason: 'changed her mind' })
    await under.runDue()
    expect((await order.refresh()).state).toBe('canceled')
    expect(calls).toEqual(['charge', 'refund undefined', 'release'])
    expect(await order.history()).toMatchObject([{}, { step: 'pay', state: 'rolled_back', outcome: 'stopped' }])
    await sound(order.id)
  })

  it('is undone where it finishes before the cancel of its parent has reached it', async () => {
    const order = await waiting()
    const [child] = await childrenOf(order.id)
    await child?.resolve('charge', { by: 'ann', reason: 'paid at the desk' })
    expect(child?.state).toBe('finished')
    await order.cancel()
    expect(await order.currentExecutions()).toMatchObject([{ step: 'pay', state: 'waiting' }])
    await under.runDue()
    expect((await order.refresh()).state).toBe('canceled')
    expect(calls).toEqual(['refund undefined', 'release'])
    await sound(order.id)
  })

  it('is not undone by its node where it was canceled itself', async () => {
    const order = await waiting()
    failing.add('charge')
    await order.pause()
    await letChildRun()
    expect(await order.currentExecutions()).toMatchObject([{ step: 'pay', state: 'paused' }])
    await order.cancel()
    await under.runDue()
    expect((await order.refresh()).state).toBe('canceled')
    expect(calls).toEqual(['charge', 'release'])
    await sound(order.id)
  })

  it('is undone where the hero is gone by the time that its node is claimed again', async () => {
    const order = await waiting()
    await letChildRun()
    customers.clear()
    await under.runDue()
    expect((await order.refresh()).state).toBe('canceled')
    expect(calls).toEqual(['charge', 'refund undefined', 'release'])
  })

  it('is undone where a join went on without it after it had finished', async () => {
    const wf = await under.geneva.start(Either)
    await under.runDue({ queues: ['default'] })
    await letChildRun()
    await under.runDue({ queues: ['desk'] })
    expect((await wf.history()).find(({ step }) => step === 'pay')).toMatchObject({ outcome: 'superseded' })
    await wf.cancel()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('canceled')
    expect(calls).toEqual(['charge', 'refund'])
    await sound(wf.id)
  })

  it('is undone where a join went on without it before anybody had said that it has finished', async () => {
    const wf = await under.geneva.start(Either)
    await under.runDue({ queues: ['default'] })
    const [child] = await childrenOf(wf.id)
    await child?.resolve('charge')
    await wf.resolve('cash')
    await under.runDue()
    expect((await wf.history()).find(({ step }) => step === 'pay')).toMatchObject({ outcome: 'superseded' })
    await wf.cancel()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('canceled')
    expect(calls).toEqual(['refund'])
    await sound(wf.id)
  })

  it('is not undone where a join went on without it and canceled it', async () => {
    const wf = await under.geneva.start(Either)
    await under.runDue({ queues: ['default'] })
    await under.runDue({ queues: ['desk'] })
    await under.runDue()
    await wf.cancel()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('canceled')
    expect(calls).toEqual([])
  })

  it('is not started again when its node is, once it has finished: after a retry', async () => {
    const wf = await under.geneva.start(Retried)
    failing.add('pay')
    await under.runDue()
    await under.setClock(4_000_000)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge', 'pay', 'pay'])
    expect(await childrenOf(wf.id)).toHaveLength(1)
  })

  it('is undone once where the next attempt at its node had not begun', async () => {
    const wf = await under.geneva.start(Retried)
    failing.add('pay')
    await under.runDue()
    await wf.cancel()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('canceled')
    expect(calls).toEqual(['charge', 'pay', 'refund'])
  })

  it('is not started again when its node is, once it has finished: after a resume', async () => {
    const order = await waiting()
    failing.add('pay')
    await under.runDue()
    expect((await order.refresh()).state).toBe('paused')
    await order.resume()
    await under.runDue()
    expect((await order.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge', 'pay', 'pay', 'ship'])
    expect(await childrenOf(order.id)).toHaveLength(1)
    await sound(order.id)
  })

  it('is started again when its node is, where it did not finish', async () => {
    const order = await waiting()
    failing.add('charge')
    await under.runDue()
    expect((await order.refresh()).state).toBe('paused')
    await order.resume()
    await under.runDue()
    expect((await order.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge', 'charge', 'pay', 'ship'])
  })

  it('is started again in the next round', async () => {
    const wf = await under.geneva.start(Reviewed)
    await under.runDue()
    await wf.decide('accept', { decision: 'rejected', by: 'ann' })
    await under.runDue()
    await wf.decide('accept', { decision: 'confirmed', by: 'ann' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['charge', 'pay', 'charge', 'pay'])
  })
})
