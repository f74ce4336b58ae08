/** Log lines: facts with ids and a message, for a logger of pino's shape; and no logger can harm the engine. */
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { defineSchedule, Geneva, type Logger, Workflow } from '../../src/index.ts'
import { Gauges } from '../../src/observe/telemetry/gauges.ts'
import { LogLines } from '../../src/observe/telemetry/log-lines.ts'
import { MetricMemory } from '../../src/observe/telemetry/metric-memory.ts'
import { OpenTelemetryTraces } from '../../src/observe/telemetry/open-telemetry-traces.ts'
import { Telemetry } from '../../src/observe/telemetry/telemetry.ts'
import { UnservedNotices } from '../../src/worker/unserved-notices.ts'
import { databases, forEachDatabase } from '../support/databases.ts'
import { reachEveryEnd } from '../support/every-end.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

interface Line {
  readonly level: string
  readonly facts: Readonly<Record<string, unknown>>
  readonly message: string
}

const lines: Line[] = []
const into = (level: string) => (facts: object, message: string) =>
  void lines.push({ level, facts: { ...facts }, message })
const logger: Logger = { debug: into('debug'), info: into('info'), warn: into('warn'), error: into('error') }

function saying(message: string): Line[] {
  return lines.filter(line => line.message.startsWith(message))
}

let held = gate()
let begun = gate()
class Order extends Workflow {
  static {
    this.named('order')
    this.step('charge', { onException: 'dlq' })
  }
  charge() {
    this.emit('order.noted', 'of the application')
    throw new RangeError('declined')
  }
}

class Held extends Workflow {
  static {
    this.named('held')
    this.step('hold')
  }
  async hold() {
    begun.open()
    await held.passed
  }
}

class Simple extends Workflow<null, { readonly code?: string }> {
  static {
    this.named('simple')
    this.step('once', { onException: 'rollback' })
  }
  async once() {
    if (this.input.code === 'failed') throw new Error('of no use')
  }
}

class Long extends Workflow {
  static {
    this.named('long')
    this.step('a')
    this.step('b')
    this.step('c')
  }
  async a() {}
  async b() {}
  async c() {}
}

beforeEach(() => {
  lines.length = 0
  held = gate()
  begun = gate()
})

forEachDatabase('log lines', database => {
  const broken = defineSchedule('broken', {
    every: '1h',
    workflow: Simple,
    start: () => {
      throw new Error('no idea what to start')
    },
  })
  const telemetry = { metrics: true }
  const under = useGeneva(database, { workflows: [Order, Held, Simple, Long], schedules: [broken], logger, telemetry })
  const withIds = ({ facts }: Line) =>
    ['workflowId', 'workerId'].some(id => typeof facts[id] === 'string' && facts[id] !== '')

  it('tell of workers, errors and dead letters, each with ids', async () => {
    const worker = await under.geneva.startWorker({ poll: 5 })
    const wf = await under.geneva.start(Order)
    await waitFor(async () => (await wf.refresh()).state === 'dlq')
    await worker.stop()
    const [started] = saying('worker started')
    expect(started).toMatchObject({
      level: 'info',
      facts: { workerId: expect.stringMatching(/^[0-9a-f]{32}$/), pid: process.pid },
    })
    expect(saying('worker stopped')).toMatchObject([{ level: 'info', facts: { workerId: started?.facts.workerId } }])
    const ids = { workflowId: wf.id, workflow: 'order', step: 'charge', attempt: 1, executionId: expect.any(String) }
    expect(saying('dead letter')).toMatchObject([{ level: 'error', facts: { ...ids, reason: 'policy' } }])
    expect(saying('error of a step')).toMatchObject([
      { level: 'error', facts: { ...ids, err: { message: 'declined' } } },
    ])
    expect(saying('step started')).toMatchObject([{ level: 'debug', facts: { ...ids, by: started?.facts.workerId } }])
    expect(lines.filter(line => !withIds(line))).toEqual([])
    expect(JSON.stringify(lines)).not.toContain('of the application')
  })

  it('tell of every end of a workflow, and of a failure louder', async () => {
    const start = (code: string) => under.geneva.start(Simple, { input: { code } })
    for (const [state, wf] of await reachEveryEnd(start, () => under.runDue())) {
      expect(saying(`workflow ${state}`)).toMatchObject([
        { level: state === 'failed' ? 'warn' : 'debug', facts: { workflowId: wf.id } },
      ])
    }
  })

  it('tell of a lease and a claim that were lost', async () => {
    const worker = await under.geneva.startWorker({ poll: 5, heartbeat: 20, lease: 5000 })
    const wf = await under.geneva.start(Held)
    await begun.passed
    const workerId = String(saying('worker started')[0]?.facts.workerId)
    // As others do with one that has been silent for too long.
    const store = await under.geneva.openedStore()
    await store.retireWorker(workerId)
    const [lost] = await waitFor(() => saying('worker lost its lease').length > 0 && saying('worker lost its lease'))
    expect(lost).toMatchObject({
      level: 'warn',
      facts: { workerId, nextWorkerId: expect.stringMatching(/^[0-9a-f]{32}$/) },
    })
    const [taken] = await waitFor(() => saying('step taken over').length > 0 && saying('step taken over'))
    expect(taken).toMatchObject({
      level: 'warn',
      facts: { workflowId: wf.id, step: 'hold', reason: `worker ${workerId} was lost` },
    })
    held.open()
    const [claim] = await waitFor(() => saying('claim lost').length > 0 && saying('claim lost'))
    expect(claim).toMatchObject({ level: 'warn', facts: { workerId, workflowId: wf.id, step: 'hold', attempt: 1 } })
    const page = await under.geneva.metrics()
    expect(page).toMatch(/^geneva_leases_lost_total 1$/m)
    expect(page).toMatch(/^geneva_claims_lost_total\{workflow="held",step="hold"\} 1$/m)
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    await worker.stop()
    expect(lines.filter(line => !withIds(line))).toEqual([])
  })

  it('tell of a schedule that cannot start, and of a workflow that was healed', async () => {
    const wf = await under.geneva.start(Simple, {}, { delay: '10 days' })
    class Longer extends Workflow {
      static {
        this.named('simple')
        this.step('before')
        this.step('once')
      }
      async before() {}
      async once() {}
    }
    await under.setClock(3_700_000)
    await under.runDue()
    await under.setClock(0)
    expect(saying('error of a schedule')).toMatchObject([
      {
        level: 'error',
        facts: { schedule: 'broken', workerId: expect.any(String), err: { message: 'no idea what to start' } },
      },
    ])
    const newer = under.another({ workflows: [Longer], logger })
    const worker = await newer.startWorker({ poll: 5 })
    const [healed] = await waitFor(() => saying('workflow healed').length > 0 && saying('workflow healed'))
    expect(healed).toMatchObject({ level: 'info', facts: { workflowId: wf.id, workflow: 'simple' } })
    expect(healed?.facts).not.toHaveProperty('removed')
    await worker.stop()
    expect(lines.filter(line => !withIds(line))).toEqual([])
  })

  it('warn of nodes that a deploy has taken away from under a workflow', async () => {
    const wf = await under.geneva.start(Long, {}, { delay: '10 days' })
    class Shorter extends Workflow {
      static {
        this.named('long')
        this.step('a')
      }
      async a() {}
    }
    const newer = under.another({ workflows: [Shorter], logger })
    const worker = await newer.startWorker({ poll: 5 })
    const [healed] = await waitFor(() => saying('workflow healed').length > 0 && saying('workflow healed'))
    await worker.stop()
    expect(healed).toMatchObject({
      level: 'warn',
      facts: { workflowId: wf.id, workflow: 'long', removed: ['b', 'c'], reason: 'removed b, c' },
    })
    const told = []
    for await (const event of newer.events({ workflow: wf.id, types: ['workflow.healed'], follow: false }))
      told.push(event)
    expect(told).toMatchObject([{ removed: ['b', 'c'] }])
  })
})

describe('a logger that throws', () => {
  const [database] = databases
  if (database === undefined) return
  const fail = (): never => {
    throw new Error('the disk of the log is full')
  }
  const under = useGeneva(database, {
    workflows: [Simple, Order],
    logger: { debug: fail, info: fail, warn: fail, error: fail },
  })

  it('changes nothing that the engine does, and errors still reach onError', async () => {
    const simple = await under.geneva.start(Simple)
    const order = await under.geneva.start(Order)
    await under.runDue()
    expect((await simple.refresh()).state).toBe('finished')
    expect((await order.refresh()).state).toBe('dlq')
    expect(under.errors).toMatchObject([{ error: { message: 'declined' }, context: { workflowId: order.id } }])
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})

describe('work that no live worker has code for', () => {
  const served: { queue: string; handler: string }[] = []
  const notices = () => new UnservedNotices({ findUnserved: async () => served }, 0)

  it('is told of once it was seen twice, and then once a minute', async () => {
    served.splice(0, served.length, { queue: 'default', handler: 'gone' })
    const looking = notices()
    const told: number[] = []
    for (let second = 0; second <= 180; second += 5) {
      if ((await looking.look(second * 1000)).length > 0) told.push(second)
    }
    expect(told).toEqual([30, 90, 150])
  })

  it('is forgotten when somebody has done it', async () => {
    served.splice(0, served.length, { queue: 'default', handler: 'gone' })
    const looking = notices()
    await looking.look(15_000)
    expect(await looking.look(30_000)).toEqual(served)
    const [gone] = served.splice(0)
    await looking.look(45_000)
    if (gone) served.push(gone)
    expect(await looking.look(60_000)).toEqual([])
    expect(await looking.look(75_000)).toEqual(served)
  })
})

describe('without telemetry', () => {
  const [database] = databases
  if (database === undefined) return
  const under = useGeneva(database, { workflows: [Simple, Order] })

  it('none of its functions is called, and no event is put together', async () => {
    const spies = [Telemetry, OpenTelemetryTraces, LogLines, MetricMemory, Gauges, UnservedNotices].flatMap(
      ({ prototype }) =>
        Object.getOwnPropertyNames(prototype)
          .filter(name => typeof Object.getOwnPropertyDescriptor(prototype, name)?.value === 'function')
          .filter(name => name !== 'constructor')
          .map(name => vi.spyOn(prototype as unknown as Record<string, () => void>, name)),
    )
    const store = await under.geneva.openedStore()
    const observe = vi.spyOn(store, 'observe')
    const worker = await under.geneva.startWorker({ poll: 5 })
    const [simple, order] = [await under.geneva.start(Simple), await under.geneva.start(Order)]
    await waitFor(async () => (await simple.refresh()).state === 'finished' && (await order.refresh()).state === 'dlq')
    await worker.stop()
    expect(spies.length).toBeGreaterThan(10)
    for (const spy of [...spies, observe]) expect(spy).not.toHaveBeenCalled()
    vi.restoreAllMocks()
  })
})

describe('options that make no sense', () => {
  const make = (options: object) => () => new Geneva({ database: 'sqlite::memory:', ...options })

  it.each([
    [{ logger: console.log }, /logger.*no debug/],
    [{ logger: null }, /logger.*no debug/],
    [{ logger: { info() {} } }, /logger.*no debug/],
    [{ telemetry: 'yes' }, /telemetry.*object/],
    [{ telemetry: null }, /telemetry.*object/],
    [{ telemetry: { openTelemetry: {} } }, /@opentelemetry\/api/],
    [{ telemetry: { metrics: true, linkAfter: 'soon' } }, /linkAfter/],
  ])('are refused: %o', (options, message) => {
    expect(make(options)).toThrow(message)
  })
})
