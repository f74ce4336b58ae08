/**
 * A dispatcher that pushes: services that share a database and each have some of the code are woken for what they can run.
 * What is turned down is left alone for the cooldown, said once in a while, and never moved.
 */
import { expect, it } from 'vitest'
import { type DueWork, defineJob, Workflow } from '../../src/index.ts'
import { Dispatcher, type DispatcherOptions } from '../../src/worker/dispatcher.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

class Paying extends Workflow {
  static {
    this.named('paying')
    this.step('charge')
    this.step('receipt', { wait: '1 hour' })
  }
  async charge() {}
  async receipt() {}
}

class Shipping extends Workflow {
  static {
    this.named('shipping')
    this.step('ship', { queue: 'trucks' })
  }
  async ship() {}
}

const stamp = defineJob('stamp', async () => 'stamped')

forEachDatabase('a dispatcher that pushes', database => {
  const under = useGeneva(database, {})

  /** The other services only start work here; nobody looks for it. */
  const payments = () => under.another({ workflows: [Paying] })
  const shipments = () => under.another({ workflows: [Shipping], jobs: [stamp] })

  /** Looks when it is told to, at the time that it is told. */
  async function handDriven(options: DispatcherOptions) {
    const store = await under.geneva.openedStore()
    const errors: unknown[] = []
    const dispatcher = new Dispatcher(options, { store, onError: error => errors.push(error), onTurnedDown() {} })
    return { errors, look: (seconds: number) => dispatcher.look(seconds * 1000), stop: () => dispatcher.stop() }
  }

  it('wakes for each piece of work the service that has its code, once for all that is due', async () => {
    const [paying, shipping] = [payments(), shipments()]
    const pushed: DueWork[] = []
    const dispatcher = await under.geneva.startDispatcher({
      every: 10,
      async push(work) {
        pushed.push(work)
        await (work.workflow === 'paying' ? paying : shipping).runDue(quickly)
      },
    })
    const wfs = [
      await shipping.start(Shipping),
      await shipping.start(Shipping),
      await shipping.startGraph(shipping.build(w => w.node('stamp', { job: stamp }))),
    ]
    const paid = await paying.start(Paying)
    for (const wf of wfs) await waitFor(async () => (await wf.refresh()).state === 'finished')
    await waitFor(async () => (await paid.history())[0]?.state === 'completed')
    await dispatcher.stop()
    expect(pushed).toContainEqual({ queue: 'trucks', workflow: 'shipping', job: null })
    expect(pushed).toContainEqual({ queue: 'default', workflow: 'paying', job: null })
    for (const wf of wfs) expect((await wf.history()).map(({ attempt }) => attempt)).toEqual([1])
    // What is not due yet wakes nobody.
    const before = pushed.length
    const { look, stop } = await handDriven({ push: work => pushed.push(work) })
    await look(0)
    await stop()
    expect(pushed).toHaveLength(before)
    await paid.cancel()
  })

  it('leaves what is turned down alone for the cooldown, and says so once in a while', async () => {
    const wf = await shipments().start(Shipping)
    const [pushed, told]: [number[], number[]] = [[], []]
    let second = 0
    const { look, stop } = await handDriven({
      cooldown: '5s',
      jitter: 0.2,
      notice: '1 minute',
      push() {
        pushed.push(second)
        return false
      },
      onTurnedDown: work => told.push(work.workflow === 'shipping' ? second : -1),
    })
    for (second = 0; second <= 130; second++) await look(second)
    await stop()
    // With up to a fifth on top of five seconds, looked at every second.
    const rests = pushed.slice(1).map((at, index) => at - (pushed[index] ?? 0))
    expect(rests.length).toBeGreaterThan(20)
    for (const rest of rests) expect([5, 6]).toContain(rest)
    expect(told).toHaveLength(3)
    expect(told[0]).toBe(0)
    expect((told[1] ?? 0) - 0).toBeGreaterThanOrEqual(60)
    expect((told[2] ?? 0) - (told[1] ?? 0)).toBeGreaterThanOrEqual(60)
    // Nothing was bounced: the row is as it was, and whoever has the code takes it at once.
    expect((await wf.events()).map(({ type }) => type)).toEqual(['workflow.started', 'step.scheduled'])
    await shipments().runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('without a cooldown asks again at every look, and a push that throws counts as turned down', async () => {
    const wf = await shipments().start(Shipping)
    let [pushes, told] = [0, 0]
    const { look, stop, errors } = await handDriven({
      cooldown: 0,
      push() {
        pushes++
        throw new Error('nobody answers')
      },
      onTurnedDown: () => told++,
    })
    for (let second = 0; second < 5; second++) await look(second)
    await stop()
    expect([pushes, told, errors.length]).toEqual([5, 1, 5])
    await wf.cancel()
  })

  it('pushes nothing again while the push is under way, and nothing that a live worker can run', async () => {
    const wf = await shipments().start(Shipping)
    const answered = gate()
    let pushes = 0
    const slow = await handDriven({
      push: () => {
        pushes++
        return answered.passed
      },
    })
    await slow.look(0)
    await slow.look(60)
    answered.open()
    await slow.stop()
    expect(pushes).toBe(1)
    const service = shipments()
    const worker = await service.startWorker({ ...quickly, queues: ['other'] })
    const served = await handDriven({ push: () => pushes++ })
    await served.look(0)
    await served.stop()
    await worker.stop()
    expect(pushes).toBe(1)
    await wf.cancel()
  })

  it('refuses settings that make no sense', async () => {
    const { geneva } = under
    await expect(geneva.startDispatcher({} as never)).rejects.toThrow('needs `push`')
    await expect(geneva.startDispatcher({ push() {}, jitter: 2 })).rejects.toThrow('from 0 to 1')
    await expect(geneva.startDispatcher({ push() {}, cooldown: 'soon' as never })).rejects.toThrow('cooldown')
  })
})
