/** Events: who listens hears what happened after it was committed, and whatever a listener does, the engine goes on. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type CustomEvent, defineJob, type EngineEvent, type GenevaEvent, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'
import '../types/register.ts'

let failing = 0

class Order extends Workflow {
  static {
    this.step('charge', { onException: 'reattempt' })
    this.step('ship')
  }
  charge() {
    this.emit('order.noted', `attempt ${this.execution.attempt}`)
    if (failing-- > 0) throw new Error('no money')
  }
  ship() {
    this.emit('order.shipped', { orderId: 7, at: new Date(0) })
    this.emit('order.noted', 'shipped')
  }
}

class Doomed extends Workflow {
  static {
    this.step('fail', { onException: 'dlq' })
  }
  fail() {
    throw new Error('no')
  }
}

class Quiet extends Workflow {
  static {
    this.step('only')
  }
  only() {}
}

class Rude extends Workflow {
  static {
    this.step('speak')
  }
  speak() {
    this.emit('step.completed' as 'order.noted', 'I have done it')
  }
}

const shipping = defineJob('shipping', async (_args: object, job) => {
  job.emit('order.shipped', { orderId: 8 })
})

forEachDatabase('events', database => {
  const under = useGeneva(database, { workflows: [Order, Quiet, Rude, Doomed], jobs: [shipping] })
  const listeners: (() => void)[] = []
  const heard: GenevaEvent[] = []

  beforeAll(() => {
    listeners.push(under.geneva.on('*', event => heard.push(event)))
  })
  afterAll(() => {
    for (const end of listeners) end()
  })

  const allOf = (workflowId: string) => heard.filter(event => event.workflowId === workflowId)
  const typesOf = (workflowId: string) => allOf(workflowId).map(event => event.type)
  const run = async (workflow: { readonly id: string }) => {
    await under.runDue()
    await waitFor(() => typesOf(workflow.id).includes('workflow.finished'))
    return allOf(workflow.id)
  }

  it('tell the whole story of a workflow, in order, with how long everything took', async () => {
    failing = 0
    const wf = await under.geneva.start(Order)
    const events = await run(wf)
    expect(events.map(event => event.type)).toEqual([
      'workflow.started',
      'step.scheduled',
      'step.started',
      'order.noted',
      'step.completed',
      'step.started',
      'order.shipped',
      'order.noted',
      'step.completed',
      'workflow.finished',
    ])
    const started = events.find(event => event.type === 'step.started')
    expect(started).toMatchObject({ workflow: 'Order', step: 'charge', attempt: 1, from: 'scheduled', position: null })
    expect(started?.waitedMs).toBeGreaterThanOrEqual(0)
    // It tells when the first step of the workflow began.
    expect(started?.at).toEqual((await wf.history())[0]?.startedAt)
    const completed = events.find(event => event.type === 'step.completed')
    expect(completed).toMatchObject({ step: 'charge', outcome: 'success', error: null, to: 'completed' })
    expect(completed?.ranMs).toBeGreaterThanOrEqual(0)
    const finished = events.find(event => event.type === 'workflow.finished')
    expect(finished?.lastedMs).toBeGreaterThanOrEqual(0)
    expect(finished?.decision).toBe('all_complete')
  })

  it('of the application are written with the outcome, and what a failed attempt said is forgotten', async () => {
    failing = 1
    const wf = await under.geneva.start(Order)
    const events = await run(wf)
    const failed = events.find(event => event.type === 'step.failed')
    expect(failed).toMatchObject({ step: 'charge', attempt: 1, error: { className: 'Error', message: 'no money' } })
    const custom = events.filter((event): event is CustomEvent => event.type.startsWith('order.'))
    expect(custom.map(({ type, payload, step, attempt }) => [type, payload, step, attempt])).toEqual([
      ['order.noted', 'attempt 2', 'charge', 2],
      ['order.shipped', { orderId: 7, at: new Date(0) }, 'ship', 1],
      ['order.noted', 'shipped', 'ship', 1],
    ])
    const stored = (await wf.events()).filter(event => event.type.startsWith('order.'))
    expect(stored.map(event => event.payload)).toEqual(custom.map(event => event.payload))
  })

  it('of a job are written as well', async () => {
    const graph = under.geneva.build(w => {
      w.node('ship', { job: shipping, args: {} })
    })
    const events = await run(await under.geneva.startGraph(graph))
    expect(events.find(event => event.type === 'order.shipped')).toMatchObject({
      payload: { orderId: 8 },
      workflow: '',
    })
  })

  it('say what the engine has concluded, who asked and why', async () => {
    const wf = await under.geneva.start(Doomed)
    await under.runDue()
    const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
    await under.geneva.requeue(letter?.id ?? '', { by: 'ann', reason: 'try again' })
    await under.geneva.pause(wf.id, { by: 'bob', reason: 'not now' })
    await under.geneva.resume(wf.id)
    await waitFor(() => typesOf(wf.id).filter(type => type === 'workflow.resumed').length === 2)
    const changes = allOf(wf.id).filter(({ type }) => /^(workflow|letter)\./.test(type))
    expect(changes).toMatchObject([
      { type: 'workflow.started', from: null, to: 'ready' },
      { type: 'workflow.dlq', from: 'ready', to: 'dlq', decision: 'blocked_by_failures', reason: 'no' },
      { type: 'letter.opened', step: 'fail', attempt: 1, reason: 'policy' },
      { type: 'letter.requeued', step: 'fail', attempt: 1, by: 'ann', reason: 'try again' },
      { type: 'workflow.resumed', from: 'dlq', to: 'ready', by: 'ann', reason: 'try again', pausedMs: null },
      { type: 'workflow.paused', cause: 'request', decision: null, by: 'bob', reason: 'not now' },
      { type: 'workflow.resumed', from: 'paused', pausedMs: expect.any(Number) },
    ])
  })

  it('with a name that belongs to the engine are refused, and the step fails', async () => {
    const wf = await under.geneva.start(Rude)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    await waitFor(() => typesOf(wf.id).includes('workflow.paused'))
    expect(allOf(wf.id).at(-1)).toMatchObject({ cause: 'exception', decision: 'blocked_by_failures' })
    expect((await wf.history())[0]?.error?.message).toMatch(/names that begin with step\. are kept for the engine/)
  })

  it('reach only who asked for them, by type and by class', async () => {
    failing = 0
    const types: string[] = []
    const payloads: number[] = []
    const ends = [
      under.geneva.on('step.completed', Quiet, event => types.push(`${event.workflow} ${event.step}`)),
      under.geneva.on('order.shipped', ({ orderId }, { step }) => step === 'ship' && payloads.push(orderId)),
    ]
    await run(await under.geneva.start(Order))
    await run(await under.geneva.start(Quiet))
    expect(types).toEqual(['Quiet only'])
    expect(payloads).toEqual([7])
    for (const end of ends) end()
    await run(await under.geneva.start(Quiet))
    expect(types).toEqual(['Quiet only'])
  })

  it('that nobody can ever write are refused', () => {
    const on = under.geneva.on.bind(under.geneva) as (type: string, handler: unknown) => unknown
    expect(() => on('step.faild', () => {})).toThrow(/no event "step.faild"/)
    expect(() => on('shipped', () => {})).toThrow(/has a namespace and a dot/)
    expect(() => on('step.failed', 'no function')).toThrow(/needs a function/)
  })

  it('go on when one listener throws and another never comes back', async () => {
    const stuck = gate()
    const calls: string[] = []
    const ends = [
      under.geneva.on('step.completed', Quiet, () => {
        calls.push('throws')
        throw new Error('listener')
      }),
      under.geneva.on('step.completed', Quiet, async () => {
        calls.push('waits')
        await stuck.passed
      }),
    ]
    under.errors.length = 0
    const workflows = await under.geneva.startMany(Quiet, [{}, {}, {}])
    for (const wf of workflows) await run(wf)
    expect(await Promise.all(workflows.map(async wf => (await wf.refresh()).state))).toEqual(Array(3).fill('finished'))
    await waitFor(() => under.errors.length === 3)
    expect(under.errors[0]).toMatchObject({ error: { message: 'listener' }, context: { step: 'only', attempt: 1 } })
    expect(calls.toSorted()).toEqual(['throws', 'throws', 'throws', 'waits'])
    stuck.open()
    for (const end of ends) end()
  })
})

/** Whether the first step stood in line is up to the worker. */
const told = (events: readonly { readonly type: string }[]) =>
  events.map(({ type }) => type).filter(type => type !== 'step.scheduled')

forEachDatabase('the record of events', database => {
  const under = useGeneva(database, { workflows: [Quiet], worker: true })

  it('is read by another process from where it stopped, at least once and in order', async () => {
    const other = under.another()
    const first = await under.geneva.start(Quiet)
    const seen = await collect(other.events({ poll: 5 }), event => event.type === 'workflow.finished')
    // Its first step begins with it where the worker has room for it.
    expect(told(seen)).toEqual(['workflow.started', 'step.started', 'step.completed', 'workflow.finished'])
    expect(seen.every(event => event.workflowId === first.id && event.workflow === 'Quiet')).toBe(true)
    const second = await under.geneva.start(Quiet)
    const after = seen.find(event => event.type === 'step.started')?.position ?? ''
    const rest = await collect(other.events({ after, poll: 5 }), event => isEndOf(second.id, event))
    expect(rest.slice(0, 2).map(event => event.type)).toEqual(['step.completed', 'workflow.finished'])
    const ends = await collect(other.events({ types: ['workflow.finished'], poll: 5 }), event =>
      isEndOf(second.id, event),
    )
    expect(ends.map(event => event.workflowId)).toEqual([first.id, second.id])
  })

  it('from now on tells nothing of before', async () => {
    const iterator = under.geneva.events({ after: 'now' })[Symbol.asyncIterator]()
    const next = iterator.next()
    const started = await startUntil(next)
    expect(started).toContain((await next).value?.workflowId)
    await iterator.return?.()
  })

  it('ends with what is there, where it is not to follow', async () => {
    const wf = await under.geneva.start(Quiet)
    await wf.waitUntilFinished()
    const all: { type: string }[] = []
    for await (const event of under.geneva.events({ workflow: wf.id, follow: false })) all.push(event)
    expect(all.at(-1)?.type).toBe('workflow.finished')
    expect(told(all)).toHaveLength(4)
    for await (const event of under.geneva.events({ after: 'now', follow: false })) expect(event).toBeNull()
  })

  it('wakes at once when this process has written', async () => {
    const wf = await under.geneva.start(Quiet)
    const events = under.geneva.events({ workflow: wf.id, poll: '1 hour' })
    expect(told(await collect(events, event => event.type === 'workflow.finished'))).toHaveLength(4)
  })

  it('ends when it is told to, and when the instance is closed', async () => {
    const stop = new AbortController()
    const told = collect(under.geneva.events({ after: 'now', poll: '1 hour', signal: stop.signal }), () => false)
    const other = under.another()
    const closed = collect(other.events({ after: 'now', poll: '1 hour' }), () => false)
    await other.migrate()
    stop.abort()
    await other.close()
    await expect(Promise.all([told, closed])).resolves.toHaveLength(2)
  })

  it('refuses a position that is none', () => {
    expect(() => under.geneva.events({ after: 'yesterday' })).toThrow(/is no position/)
    expect(() => under.geneva.events({ types: ['step.faild' as 'step.failed'] })).toThrow(/no event/)
  })

  /** The subscription begins when the loop does: starts workflows until it has heard of one. */
  async function startUntil(next: Promise<unknown>): Promise<string[]> {
    let heard = false
    void next.then(() => {
      heard = true
    })
    const ids: string[] = []
    await waitFor(async () => {
      if (!heard) ids.push((await under.geneva.start(Quiet)).id)
      return heard
    })
    return ids
  }
})

function isEndOf(id: string, event: EngineEvent | GenevaEvent): boolean {
  return event.type === 'workflow.finished' && event.workflowId === id
}

async function collect<E>(events: AsyncIterable<E>, isLast: (event: E) => boolean): Promise<E[]> {
  const all: E[] = []
  for await (const event of events) {
    all.push(event)
    if (isLast(event)) break
  }
  return all
}
