/** The strategies of the test kit: one step after the other, no backoff, planned failures; all on the path of production. */
import { expect, it } from 'vitest'
import { defineJob, PermanentError, Workflow } from '../../src/index.ts'
import { testGeneva } from '../../src/testing.ts'
import { gate, waitFor } from '../support/wait-for.ts'

const ran: string[] = []

class Order extends Workflow {
  static {
    this.step('charge', { retry: { attempts: 3, backoff: 'exponential', jitter: false } })
    this.step('ship', { onException: { policy: 'reattempt', wait: '1 hour', limit: 2, then: 'dlq' } })
    this.each('mail', { items: () => ['a', 'b'] })
  }
  async charge() {
    return 'charged'
  }
  async ship() {}
  async mail(to: string) {
    return to
  }
}

let slow: Promise<void> = Promise.resolve()

class Branches extends Workflow {
  static {
    this.task('one')
    this.task('two')
    this.task('three')
  }
  async one() {
    await this.note('one')
  }
  async two() {
    await this.note('two')
  }
  async three() {
    await this.note('three')
  }
  private async note(name: string) {
    ran.push(`${name} begins`)
    await slow
    await new Promise(resolve => setImmediate(resolve))
    ran.push(`${name} ends`)
  }
}

class Limited extends Workflow {
  static {
    this.defaults({ deadline: '1 hour' })
    this.step('wait', { wait: '10 min' })
  }
  async wait() {
    this.pause()
  }
}

class Trip extends Workflow {
  static {
    this.step('book', { compensate: 'free' })
    this.step('travel', { wait: '1 day' })
  }
  async book() {
    ran.push('book')
  }
  async free() {
    ran.push('free')
  }
  async travel() {}
}

it('a planned failure takes the way of any other: retries, their waits, and their end', async () => {
  await using kit = await testGeneva({ workflows: [Order] })
  const declined = new Error('declined')
  kit.failNext('charge', declined, { times: 2 })
  const wf = await kit.start(Order)
  expect((await kit.performNextStep(wf))?.outcome).toBe('reattempted_by_exception')
  // The first backoff is two seconds.
  expect(await kit.performNextStep(wf)).toBeNull()
  await kit.advance('2s')
  expect((await kit.performNextStep(wf))?.error).toMatchObject({ message: 'declined' })
  await kit.speedrun(wf)
  await kit.assertState(wf, 'finished')
  expect(await wf.output('charge')).toBe('charged')
  expect(kit.errors).toEqual([declined, declined])
})

it('a permanent error that is planned is not retried, and acts at attempt 1 of 3', async () => {
  await using kit = await testGeneva({ workflows: [Order] })
  const wf = await kit.start(Order)
  kit.failNext('charge', new PermanentError('card stolen'))
  await kit.speedrun(wf)
  await kit.assertState(wf, 'paused')
  await kit.assertStepExecuted(wf, 'charge', { times: 1 })
})

it('failures can be planned for one workflow, one item, a job', async () => {
  const report = defineJob('report', async () => 'done')
  await using kit = await testGeneva({ workflows: [Order], jobs: [report] })
  const [first, second] = [await kit.start(Order), await kit.start(Order)]
  kit.failNext('charge', new PermanentError('no'), { workflow: second })
  kit.failNext('mail/1', new PermanentError('bounced'), { workflow: first })
  await kit.speedrun(first)
  await kit.speedrun(second)
  expect((await first.history()).filter(row => row.state === 'failed').map(row => row.step)).toEqual(['mail/1'])
  expect((await second.history()).filter(row => row.state === 'failed').map(row => row.step)).toEqual(['charge'])
  const graph = await kit.geneva.startGraph(kit.geneva.build(w => w.node('report', { job: report, args: {} })))
  kit.failNext('report')
  await kit.runDue()
  await kit.assertState(graph, 'paused')
})

it('a planned failure waits for an attempt at the step, and is not used up by what undoes it', async () => {
  const book = defineJob('book', async () => {
    ran.push('book')
  })
  const free = defineJob('free', async () => {
    ran.push('free')
  })
  await using kit = await testGeneva({ workflows: [Trip], jobs: [book, free] })
  const graph = kit.geneva.build(w => {
    w.node('book', { job: book, args: {}, compensate: free })
    w.node('travel', { job: book, args: {}, wait: '1 day' })
  })
  const starts = [() => kit.start(Trip), () => kit.geneva.startGraph(graph)]
  for (const start of starts) {
    ran.length = 0
    const first = await start()
    await kit.runDue()
    kit.failNext('book', new PermanentError('full'))
    await first.cancel()
    await kit.runDue()
    await kit.assertState(first, 'canceled')
    expect(ran).toEqual(['book', 'free'])
    const second = await start()
    await kit.runDue()
    await kit.assertState(second, 'paused')
  }
})

it('without backoff retries and reattempts follow at once, each an attempt of its own', async () => {
  await using kit = await testGeneva({ workflows: [Order], bypassBackoff: true })
  const before = await kit.now()
  kit.failNext('charge', new Error('busy'), { times: 2 })
  kit.failNext('ship', new Error('late'), { times: 3 })
  const wf = await kit.start(Order)
  await kit.runDue()
  await kit.assertState(wf, 'dlq')
  expect((await wf.history()).map(row => `${row.step} ${row.attempt} ${row.outcome}`).slice(0, 6)).toEqual([
    'charge 1 reattempted_by_exception',
    'charge 2 reattempted_by_exception',
    'charge 3 success',
    'ship 1 reattempted_by_exception',
    'ship 2 reattempted_by_exception',
    'ship 3 dead_lettered',
  ])
  expect((await kit.now()).getTime() - before.getTime()).toBeLessThan(60_000)
  kit.bypassBackoff(false)
  const again = await kit.start(Order)
  kit.failNext('charge')
  await kit.runDue()
  await kit.assertState(again, 'ready')
})

it('branches are performed one after the other, unless the test wants them side by side', async () => {
  for (const dispatch of ['in turn', 'side by side'] as const) {
    ran.length = 0
    await using kit = await testGeneva({ workflows: [Branches], dispatch })
    const wf = await kit.start(Branches)
    await kit.runDue()
    await kit.assertState(wf, 'finished')
    const inTurn = ran.every((line, index) => index % 2 === 0 || line === ran[index - 1]?.replace('begins', 'ends'))
    expect(inTurn).toBe(dispatch === 'in turn')
    expect(ran).toHaveLength(6)
  }
})

it('a step that hangs in one call of the kit does not keep another call from its work', async () => {
  await using kit = await testGeneva({ workflows: [Branches, Order] })
  const hold = gate()
  slow = hold.passed
  ran.length = 0
  const hanging = await kit.start(Branches)
  const performing = kit.performNextStep(hanging)
  await waitFor(() => ran.length > 0)
  const order = await kit.start(Order)
  await kit.speedrun(order)
  await kit.assertState(order, 'finished')
  hold.open()
  await performing
  slow = Promise.resolve()
})

it('a speedrun does not run into the deadline; the test may go there', async () => {
  await using kit = await testGeneva({ workflows: [Limited] })
  const wf = await kit.start(Limited)
  await kit.speedrun(wf)
  await kit.assertState(wf, 'paused')
  expect((await kit.now()).getTime()).toBeLessThan(wf.deadline?.getTime() ?? 0)
  await kit.advance('1 hour')
  await kit.runDue()
  await wf.resume()
  await kit.assertState(wf, 'canceled')
})

it('a dispatch that does not exist, or no failures at all, are refused', async () => {
  await expect(testGeneva({ workflows: [], dispatch: 'somehow' as never })).rejects.toThrow(/'in turn'/)
  await using kit = await testGeneva({ workflows: [Order] })
  expect(() => kit.failNext('charge', new Error('x'), { times: 0 })).toThrow(/above 0/)
})
