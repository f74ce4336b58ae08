/** A misspelled option is refused by name, by whatever takes options, before anything is done. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { type TestKit, testGeneva } from '../../src/testing.ts'

class Order extends Workflow {
  static {
    this.allowMultiple()
    this.step('ship', { wait: '1 day' })
  }
  async ship() {}
}

/** Plain JavaScript may give anything. */
type Anything = Record<string, (...args: unknown[]) => any>

describe('an option that nobody knows', () => {
  let kit: TestKit
  let id = ''

  beforeAll(async () => {
    kit = await testGeneva({ workflows: [Order] })
    id = (await kit.geneva.start(Order)).id
  })
  afterAll(() => kit.close())

  const loose = (value: unknown) => value as Anything

  function refusal(attempt: () => unknown): Promise<{ readonly code: string; readonly message: string } | null> {
    return new Promise<unknown>(resolve => resolve(attempt())).then(
      () => null,
      error => error,
    )
  }

  const wrong = { lmit: 1 }
  const verbs: Readonly<Record<string, (geneva: Geneva, handle: Anything) => unknown>> = {
    pause: geneva => loose(geneva).pause?.(id, wrong),
    resume: geneva => loose(geneva).resume?.(id, wrong),
    cancel: geneva => loose(geneva).cancel?.(id, wrong),
    abort: geneva => loose(geneva).abort?.(id, wrong),
    skip: geneva => loose(geneva).skip?.(id, 'ship', wrong),
    resolve: geneva => loose(geneva).resolve?.(id, 'ship', wrong),
    reattempt: geneva => loose(geneva).reattempt?.(id, 'ship', wrong),
    decide: (_, handle) => handle.decide?.('ship', { decision: 'confirmed', by: 'ann', ...wrong }),
    signal: geneva => loose(geneva).signal?.(id, 'ship', {}, wrong),
    requeue: geneva => loose(geneva).requeue?.('1', wrong),
    discard: geneva => loose(geneva).discard?.('1', wrong),
    freeze: geneva => loose(geneva).freeze?.(id, wrong),
    importDag: geneva => loose(geneva).importDag?.({ nodes: {} }, wrong),
    rerun: geneva => loose(geneva).rerun?.(id, { from: 'ship', ...wrong }),
    find: geneva => loose(geneva).find?.(Order, wrong),
    list: geneva => loose(geneva).list?.(wrong),
    explainMany: geneva => loose(geneva).explainMany?.(wrong),
    executions: geneva => loose(geneva).executions?.(wrong),
    deadLetters: geneva => loose(geneva).deadLetters?.(wrong),
    draw: geneva => loose(geneva).draw?.(Order, wrong),
    doctor: geneva => loose(geneva).doctor?.(wrong),
    prune: geneva => loose(geneva).prune?.({ olderThan: '1 day', ...wrong }),
    stuck: geneva => loose(geneva).stuck?.(wrong),
    stats: geneva => loose(geneva).stats?.(wrong),
    events: geneva => loose(geneva).events?.(wrong),
    handler: geneva => loose(geneva).handler?.(wrong),
    work: geneva => loose(geneva).work?.(wrong),
    startWorker: geneva => loose(geneva).startWorker?.(wrong),
    runDue: geneva => loose(geneva).runDue?.(wrong),
    startDispatcher: geneva => loose(geneva).startDispatcher?.({ push: () => true, ...wrong }),
    all: geneva => loose(geneva).all?.(wrong),
    'all().pause': geneva => loose(geneva.all({})).pause?.({ lmt: 1, ...wrong }),
    'all().resolve': geneva => loose(geneva.all({})).resolve?.(wrong),
    'all().requeue': geneva => loose(geneva.all({})).requeue?.(wrong),
    'all().discard': geneva => loose(geneva.all({})).discard?.(wrong),
    'queues.pause': geneva => loose(geneva.queues).pause?.('mail', wrong),
    'queues.limit': geneva => loose(geneva.queues).limit?.('mail', { concurrency: 1 }, wrong),
    'schedules.pause': geneva => loose(geneva.schedules).pause?.('nightly', wrong),
    'views.workflows': geneva => loose(geneva.views).workflows?.(wrong),
    'views.count': geneva => loose(geneva.views).count?.(wrong),
    'views.graph': geneva => loose(geneva.views).graph?.(id, wrong),
    'views.history': geneva => loose(geneva.views).history?.(id, wrong),
    'views.eventsOf': geneva => loose(geneva.views).eventsOf?.(id, wrong),
    'views.events': geneva => loose(geneva.views).events?.(wrong),
    'views.executions': geneva => loose(geneva.views).executions?.(wrong),
    'views.approvals': geneva => loose(geneva.views).approvals?.(wrong),
    'views.requests': geneva => loose(geneva.views).requests?.(wrong),
    'handle.pause': (_, handle) => handle.pause?.(wrong),
    'handle.cancel': (_, handle) => handle.cancel?.(wrong),
    'handle.signal': (_, handle) => handle.signal?.('ship', {}, wrong),
    'handle.resolve': (_, handle) => handle.resolve?.('ship', wrong),
    'handle.waitUntilFinished': (_, handle) => handle.waitUntilFinished?.(wrong),
  }

  it.each(Object.keys(verbs))('is refused by %s, which names it and those that it knows', async verb => {
    const handle = loose(await kit.geneva.find(id))
    const error = await refusal(() => verbs[verb]?.(kit.geneva, handle))
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(error?.message).toMatch(/there is no option lmi?t\. Known are \w+/)
    expect((await kit.geneva.find(id))?.state).toBe('ready')
  })

  it('is refused by `new Geneva`, for its database, limits and telemetry as well', () => {
    const make = (options: object) => () => new Geneva({ database: 'sqlite:app.db', ...options } as never)
    expect(make({ workflow: [Order] })).toThrow(
      /^new Geneva: there is no option workflow\. Known are database, workflows,/,
    )
    expect(make({ database: { url: 'sqlite:app.db', prefx: 'a_' } })).toThrow(
      /^The database: there is no option prefx\. Known are url, prefix,/,
    )
    expect(make({ limits: { inputbytes: 5 } })).toThrow(/^The limits: there is no option inputbytes\./)
    expect(make({ telemetry: { metric: true } })).toThrow(/^The telemetry: there is no option metric\./)
  })

  it('is nothing that the verbs themselves take', async () => {
    const { geneva } = kit
    const other = await geneva.start(Order)
    await other.pause({ by: 'ann', reason: 'lunch' })
    await geneva.resume(other.id, { by: 'ann', reason: 'back' })
    await geneva.all({ workflow: Order, state: 'ready', olderThan: 0 }).pause({ by: 'ann', limit: 1, dryRun: true })
    await geneva.runDue({ maxSteps: 1, maxMs: '1s', concurrency: 1, poll: '1s' })
    expect(await geneva.prune({ olderThan: '1 day', states: 'finished', limit: 1, dryRun: true, by: 'ann' })).toEqual({
      workflows: 0,
      complete: true,
    })
  })
})
