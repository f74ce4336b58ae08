/** Spans: a start and every attempt, in whatever process, belong together; and no tracer can harm the engine. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { type Child, defineSchedule, type OpenTelemetryApi, Workflow } from '../../src/index.ts'
import { RecordedTelemetry, type SeenSpan } from '../programs/harness/recorded-telemetry.ts'
import { Relay } from '../programs/harness/traced-workflows.ts'
import { databases, forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { spawnProgram } from '../support/spawn-program.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Parent extends Workflow {
  static {
    this.named('parent')
    this.child('relay', { workflow: Relay, start: () => ({}) })
  }
  async relay(_child: Child<Relay>) {}
}

class Broken extends Workflow {
  static {
    this.named('broken')
    this.step('thrower', { onException: 'skip' })
    this.step('skipper')
    this.each('mail', { items: () => [1, 2] })
  }
  thrower() {
    throw new RangeError('out of it')
  }
  skipper() {
    this.skip()
  }
  async mail(_address: number) {}
}

class Loop extends Workflow<null, { turn: number }> {
  static {
    this.named('loop')
    this.step('turn')
  }
  turn() {
    if (this.input.turn < 2) this.restart({ turn: this.input.turn + 1 })
  }
}

const workflows = [Relay, Parent, Broken, Loop]
const recorded = new RecordedTelemetry()
const telemetry = { openTelemetry: recorded.api }
afterAll(() => recorded.end())
beforeEach(() => recorded.forgetSpans())

function spansOf(workflowId: string): SeenSpan[] {
  return recorded.spans().filter(({ attributes }) => attributes['geneva.workflow.id'] === workflowId)
}

/** As a request that comes in would. */
async function inRequest<T>(work: () => Promise<T>): Promise<{ result: T; request: SeenSpan }> {
  const tracer = recorded.api.trace.getTracer('application')
  const result = await tracer.startActiveSpan('request', async span => {
    try {
      return await work()
    } finally {
      span.end()
    }
  })
  const request = recorded.spans().find(({ name }) => name === 'request')
  if (request === undefined) throw new Error('There is no span of the request.')
  return { result, request }
}

forEachDatabase('a trace', database => {
  const under = useGeneva(database, { workflows, telemetry })

  it('goes from the caller through the start to every attempt, and steps see their span as active', async () => {
    const { result: wf, request } = await inRequest(() => under.geneva.start(Relay))
    await under.runDue()
    const [start, ...attempts] = spansOf(wf.id)
    expect(start).toMatchObject({ name: 'start relay', kind: 'producer', parentId: request.spanId })
    expect(attempts.map(({ name, kind, attributes }) => [name, kind, attributes['geneva.outcome']])).toEqual([
      ['relay first', 'consumer', 'success'],
      ['relay second', 'consumer', 'reattempted_by_exception'],
      ['relay second', 'consumer', 'success'],
    ])
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({ traceId: request.traceId, parentId: start?.spanId, links: [] })
    }
    const inside = recorded.spans().filter(({ name }) => name.startsWith('inside'))
    expect(inside.map(({ name, parentId }) => [name, parentId])).toEqual([
      ['inside first', attempts[0]?.spanId],
      ['inside second', attempts[1]?.spanId],
      ['inside second', attempts[2]?.spanId],
    ])
  })

  it('names what an attempt is about, and keeps what it threw', async () => {
    const wf = await under.geneva.start(Relay)
    await under.runDue()
    const history = (await wf.history()).filter(({ outcome }) => outcome !== null)
    const attempts = spansOf(wf.id).filter(({ kind }) => kind === 'consumer')
    expect(attempts.map(({ attributes }) => attributes['geneva.execution.id'])).toEqual(history.map(({ id }) => id))
    expect(attempts[1]).toMatchObject({
      attributes: {
        'geneva.workflow.type': 'relay',
        'geneva.step': 'second',
        'geneva.attempt': 1,
        'geneva.queue': 'default',
        'geneva.worker.id': expect.stringMatching(/^[0-9a-f]{32}$/),
      },
      error: 'not yet',
      exceptions: ['not yet'],
    })
    expect(attempts[2]).toMatchObject({ attributes: { 'geneva.attempt': 2 }, error: null, exceptions: [] })
  })

  it('ends with a long wait: what comes later begins its own, with a link to the start', async () => {
    const wf = await under.geneva.start(Relay)
    await under.runDue()
    await under.setClock(49 * 3_600_000)
    await under.runDue()
    await under.setClock(0)
    expect((await wf.refresh()).state).toBe('finished')
    const [start] = spansOf(wf.id)
    const late = spansOf(wf.id).at(-1)
    expect(late).toMatchObject({ name: 'relay last', parentId: null, links: [start?.spanId] })
    expect(late?.traceId).not.toBe(start?.traceId)
  })

  it('reaches the children that a step starts', async () => {
    const { result: wf, request } = await inRequest(() => under.geneva.start(Parent))
    await under.runDue()
    const child = recorded.spans().find(({ name }) => name === 'start relay')
    const asking = spansOf(wf.id).find(({ name }) => name === 'parent relay')
    expect(child).toMatchObject({ kind: 'producer', parentId: asking?.spanId, traceId: request.traceId })
    const steps = spansOf(String(child?.attributes['geneva.workflow.id'])).filter(({ kind }) => kind === 'consumer')
    expect(steps.map(({ traceId }) => traceId)).toEqual(Array(3).fill(request.traceId))
  })

  it('is linked to, not gone on with, by a workflow that another one goes on as', async () => {
    await under.geneva.start(Loop, { input: { turn: 1 } })
    await under.runDue()
    const [start, first, second] = recorded.spans()
    expect(start).toMatchObject({ name: 'start loop', kind: 'producer' })
    expect(first).toMatchObject({ name: 'loop turn', parentId: start?.spanId, links: [] })
    expect(second).toMatchObject({ name: 'loop turn', parentId: null, links: [start?.spanId] })
  })

  it('has one span for many starts, and one name for all items of a node', async () => {
    await under.geneva.startMany(Broken, [{}, {}])
    await under.runDue()
    const [start, ...more] = recorded.spans().filter(({ kind }) => kind === 'producer')
    expect(more).toEqual([])
    expect(start?.attributes).toMatchObject({ 'geneva.workflow.count': 2 })
    const [first = ''] = (start?.attributes['geneva.workflow.ids'] ?? []) as string[]
    const outcomes = spansOf(first).map(({ name, attributes }) => `${name} ${attributes['geneva.outcome']}`)
    expect(outcomes.toSorted()).toEqual([
      'broken mail items',
      'broken mail success',
      'broken mail success',
      'broken skipper skipped_by_flow_control',
      'broken thrower skipped_by_exception',
    ])
  })

  it('that a start has failed in says so', async () => {
    await expect(under.geneva.start(Relay, {}, { tags: [''] })).rejects.toThrow()
    expect(recorded.spans()).toMatchObject([{ name: 'start relay', error: expect.stringContaining('tag') }])
  })

  it('is not stored where nobody traces', async () => {
    const quiet = under.another({ workflows })
    const { result: untraced } = await inRequest(() => quiet.start(Relay))
    const { id } = await under.geneva.start(Relay)
    const plain = await connectPlainly(database.name, under.url)
    const stored = await plain.query('select id, trace_parent from geneva_drive_workflows')
    await plain.close()
    const [start] = spansOf(id)
    const traceOf = new Map(stored.map(row => [String(row.id), row.trace_parent]))
    expect(traceOf.get(id)).toBe(`00-${start?.traceId}-${start?.spanId}-01`)
    expect(traceOf.get(untraced.id)).toBeNull()
    await under.geneva.runDue()
  })
})

describe.each(databases)('two processes on $name', database => {
  const under = useGeneva(database, { workflows, telemetry })

  it('share one trace', { timeout: 60_000 }, async () => {
    const { result: wf, request } = await inRequest(() => under.geneva.start(Relay))
    const program = spawnProgram('traced-worker', [under.url])
    const { pid, spans } = await program.nextMessage<{ pid: number; spans: SeenSpan[] }>(() => true, 30_000)
    expect(pid).not.toBe(process.pid)
    const [start] = spansOf(wf.id)
    const attempts = spans.filter(({ attributes }) => attributes['geneva.workflow.id'] === wf.id)
    expect(attempts.map(({ name }) => name)).toEqual(['relay first', 'relay second', 'relay second'])
    for (const span of spans) expect(span.traceId).toBe(request.traceId)
    for (const attempt of attempts) expect(attempt.parentId).toBe(start?.spanId)
    await program.exited
  })
})

describe('a schedule', () => {
  const [database] = databases
  if (database === undefined) return
  const often = defineSchedule('often', { every: '1h', workflow: Relay, start: () => ({}) })
  const under = useGeneva(database, { workflows: [Relay], schedules: [often], telemetry })

  it('begins a trace with each tick that it has started', async () => {
    await under.setClock(3_700_000)
    // Whatever is active when a worker is started has nothing to do with what it runs.
    await inRequest(() => under.runDue())
    const starts = recorded.spans().filter(({ kind }) => kind === 'producer')
    expect(starts).toMatchObject([{ name: 'start relay', parentId: null }])
    const attempts = recorded.spans().filter(({ kind }) => kind === 'consumer')
    expect(attempts.map(({ parentId }) => parentId)).toEqual(Array(3).fill(starts[0]?.spanId))
    await under.setClock(0)
  })
})

describe('a tracer that throws', () => {
  const [database] = databases
  if (database === undefined) return
  const fail = (): never => {
    throw new Error('telemetry is broken')
  }
  const { api } = recorded
  const half = {
    spanContext: fail,
    setAttributes: fail,
    addEvent: fail,
    recordException: fail,
    setStatus: fail,
    end: fail,
  }
  const meter = {
    ...api.metrics.getMeter('half'),
    createCounter: () => ({ add: fail }),
    createHistogram: () => ({ record: fail }),
  }
  const broken: Record<string, OpenTelemetryApi> = {
    'when a span begins': { ...api, trace: { ...traceOf(api), getTracer: () => ({ startSpan: fail }) } },
    'in every span': { ...api, trace: { ...traceOf(api), getTracer: () => ({ startSpan: () => half }) } },
    'before the step is called': { ...api, context: { active: () => api.ROOT_CONTEXT, with: fail } },
    'after the step was called': {
      ...api,
      context: {
        active: () => api.ROOT_CONTEXT,
        with: (_, work) => {
          work()
          return fail()
        },
      },
    },
    'in every measurement': {
      ...api,
      metrics: {
        getMeter: () => ({
          ...meter,
          createObservableGauge: () => ({}),
          addBatchObservableCallback: fail,
          removeBatchObservableCallback: fail,
        }),
      },
    },
  }

  describe.each(Object.entries(broken))('%s', (_, openTelemetry) => {
    const under = useGeneva(database, { workflows, telemetry: { openTelemetry } })

    it('changes nothing that the engine does', async () => {
      const wf = await under.geneva.start(Broken)
      await under.runDue()
      expect((await wf.history()).map(({ step, outcome }) => `${step} ${outcome}`)).toEqual([
        'thrower skipped_by_exception',
        'skipper skipped_by_flow_control',
        'mail success',
        'mail/0 success',
        'mail/1 success',
      ])
      expect((await under.geneva.doctor()).findings).toEqual([])
    })
  })
})

function traceOf({ trace, ROOT_CONTEXT }: typeof recorded.api): OpenTelemetryApi['trace'] {
  return {
    getTracer: name => trace.getTracer(name),
    setSpan: (context, span) => trace.setSpan(context ?? ROOT_CONTEXT, span),
    setSpanContext: (context, place) => trace.setSpanContext(context, place),
  }
}
