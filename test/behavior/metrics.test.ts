/** Metrics after runs of which every number is known, as a page for Prometheus and on OpenTelemetry. */
import { afterAll, describe, expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { endedWorkflowStates } from '../../src/store/records.ts'
import { RecordedTelemetry } from '../programs/harness/recorded-telemetry.ts'
import { databases, forEachDatabase } from '../support/databases.ts'
import { reachEveryEnd } from '../support/every-end.ts'
import { type ParsedPage, parsePrometheus } from '../support/parse-prometheus.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate } from '../support/wait-for.ts'

class Sale extends Workflow {
  static {
    this.named('sale')
    this.step('charge', { retry: { attempts: 2, backoff: 'fixed', delay: 0 } })
    this.each('mail', { items: () => ['a', 'b'] })
    this.step('ship', { wait: '1 hour' })
  }
  charge() {
    if (this.execution.attempt === 1) throw new TypeError('declined')
  }
  async mail(_to: string) {}
  async ship() {}
}

class Doomed extends Workflow {
  static {
    this.named('doomed "for ever"')
    this.step('fall', { onException: 'dlq' })
  }
  fall() {
    throw new RangeError('gone')
  }
}

class Faulty extends Workflow {
  static {
    this.named('faulty')
    this.step('stop')
  }
  stop() {
    throw new Error('stop')
  }
}

class Saga extends Workflow<null, { readonly until: 'finished' | 'failed' }> {
  static {
    this.named('saga')
    this.step('book', { compensate: 'unbook' })
    this.step('fly', { onException: 'rollback' })
    this.savePoint('landed')
  }
  async book() {}
  async unbook() {}
  fly() {
    if (this.input.until === 'failed') throw new Error('fog')
  }
}

class Trip extends Workflow {
  static {
    this.named('trip')
    const retry = { attempts: 2, backoff: 'fixed', delay: 0 } as const
    this.step('book', { compensate: { step: 'unbook', retry } })
    this.step('eat', { compensate: 'pay' })
    this.step('fly', { onException: 'rollback' })
  }
  async book() {}
  unbook() {
    throw new RangeError('no refund')
  }
  async eat() {}
  async pay() {}
  fly() {
    throw new Error('fog')
  }
}

class Empty extends Workflow {
  static {
    this.named('empty')
  }
}

let held = gate()
const begun: (() => void)[] = []
class Held extends Workflow {
  static {
    this.named('held')
    this.step('hold')
  }
  async hold() {
    begun.shift()?.()
    await held.passed
  }
}

const workflows = [Sale, Doomed, Faulty, Held, Saga, Trip, Empty]
const recorded = new RecordedTelemetry()
afterAll(() => recorded.end())

/** The value of a sample, or of all that have these labels. */
function totalOf({ samples }: ParsedPage, name: string, labels: Record<string, string> = {}): number {
  const wanted = Object.entries(labels)
  return samples
    .filter(each => each.name === name && wanted.every(([label, value]) => each.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)
}

forEachDatabase('metrics', database => {
  const under = useGeneva(database, { workflows, telemetry: { metrics: true, openTelemetry: recorded.api } })
  const page = async () => parsePrometheus(await under.geneva.metrics())

  it('count what has happened, and how long it took', async () => {
    await under.geneva.startMany(Sale, [{}, {}, {}])
    await under.geneva.start(Doomed)
    await under.geneva.start(Faulty)
    await under.runDue()
    await under.setClock(2 * 3_600_000)
    await under.runDue()
    await under.setClock(0)
    const seen = await page()
    const sale = { workflow: 'sale' }
    const charge = { ...sale, step: 'charge' }
    const doomed = { workflow: 'doomed "for ever"' }
    expect({
      started: totalOf(seen, 'geneva_workflows_started_total', sale),
      ended: totalOf(seen, 'geneva_workflows_ended_total', { ...sale, state: 'finished' }),
      notEnded: totalOf(seen, 'geneva_workflows_ended_total', doomed),
      begun: totalOf(seen, 'geneva_executions_started_total', charge),
      thrown: totalOf(seen, 'geneva_executions_ended_total', { ...charge, outcome: 'reattempted_by_exception' }),
      done: totalOf(seen, 'geneva_executions_ended_total', { ...charge, outcome: 'success' }),
      retried: totalOf(seen, 'geneva_executions_retried_total'),
      failed: totalOf(seen, 'geneva_executions_failed_total', { ...charge, error: 'TypeError' }),
      allFailed: totalOf(seen, 'geneva_executions_failed_total'),
      mail: totalOf(seen, 'geneva_executions_ended_total', { ...sale, step: 'mail', outcome: 'success' }),
      letters: totalOf(seen, 'geneva_dead_letters_opened_total', { ...doomed, step: 'fall', reason: 'policy' }),
      paused: totalOf(seen, 'geneva_workflows_paused_total', { workflow: 'faulty', cause: 'exception' }),
      dlq: totalOf(seen, 'geneva_workflows_paused_total', { ...doomed, cause: 'dead letter' }),
      waited: totalOf(seen, 'geneva_execution_wait_seconds_count', charge),
      ran: totalOf(seen, 'geneva_execution_duration_seconds_count', charge),
      lasted: totalOf(seen, 'geneva_workflow_duration_seconds_count', sale),
    }).toEqual({
      started: 3,
      ended: 3,
      notEnded: 0,
      begun: 6,
      thrown: 3,
      done: 3,
      retried: 3,
      failed: 3,
      allFailed: 5,
      // The node itself, and its two items.
      mail: 9,
      letters: 1,
      paused: 1,
      dlq: 1,
      waited: 6,
      ran: 6,
      lasted: 3,
    })
    // By the clock of the database: two hours from start to end, and an hour too late for the last step.
    const lasted = totalOf(seen, 'geneva_workflow_duration_seconds_sum', sale) / 3
    expect(Math.abs(lasted - 7200)).toBeLessThan(60)
    const late = totalOf(seen, 'geneva_execution_wait_seconds_sum', { ...sale, step: 'ship' }) / 3
    expect(Math.abs(late - 3600)).toBeLessThan(60)
    expect(totalOf(seen, 'geneva_execution_wait_seconds_bucket', { ...charge, le: '300' })).toBe(6)
  })

  it('count every end of a workflow, and how long it took until then', async () => {
    const start = (until: 'finished' | 'failed') => under.geneva.start(Saga, { input: { until } })
    await reachEveryEnd(start, () => under.runDue())
    const seen = await page()
    const counted = (name: string) => endedWorkflowStates.map(state => totalOf(seen, name, { workflow: 'saga', state }))
    expect(counted('geneva_workflows_ended_total')).toEqual(endedWorkflowStates.map(() => 1))
    expect(counted('geneva_workflow_duration_seconds_count')).toEqual(endedWorkflowStates.map(() => 1))
  })

  it('count a step once, though its compensation is given up, and compensations apart from steps', async () => {
    // Each time by an instance that has not looked yet.
    const failures = async () =>
      (await under.another().views.overview()).series.reduce((sum, { failed }) => sum + failed, 0)
    const before = await failures()
    const trip = await under.geneva.start(Trip)
    await under.runDue()
    expect((await trip.refresh()).state).toBe('failed')
    const seen = await page()
    const book = { workflow: 'trip', step: 'book' }
    const eat = { workflow: 'trip', step: 'eat' }
    expect({
      started: totalOf(seen, 'geneva_executions_started_total', book),
      ended: totalOf(seen, 'geneva_executions_ended_total', book),
      failed: totalOf(seen, 'geneva_executions_failed_total', book),
      ran: totalOf(seen, 'geneva_execution_duration_seconds_count', book),
      undoing: totalOf(seen, 'geneva_compensations_started_total', book),
      waited: totalOf(seen, 'geneva_compensation_wait_seconds_count', book),
      undone: totalOf(seen, 'geneva_compensations_ended_total', { ...eat, outcome: 'compensated' }),
      notUndone: totalOf(seen, 'geneva_compensations_ended_total', book),
      givenUp: totalOf(seen, 'geneva_compensations_ended_total', { ...book, outcome: 'compensation_failed' }),
      thrown: totalOf(seen, 'geneva_compensations_failed_total', { ...book, error: 'RangeError' }),
      retried: totalOf(seen, 'geneva_compensations_retried_total', book),
      took: totalOf(seen, 'geneva_compensation_duration_seconds_count', book),
    }).toEqual({
      started: 1,
      ended: 1,
      failed: 0,
      ran: 1,
      undoing: 2,
      waited: 2,
      undone: 1,
      notUndone: 2,
      givenUp: 1,
      thrown: 2,
      retried: 1,
      took: 2,
    })
    // The charts have the workflow, the step that threw, and both attempts at undoing the other.
    expect((await failures()) - before).toBe(4)
  })

  it('count once what ends at its start', async () => {
    const empty = await under.geneva.start(Empty)
    expect(empty.state).toBe('finished')
    const done = await under.geneva.start(Saga, { input: { until: 'finished' } })
    await under.runDue()
    const before = totalOf(await page(), 'geneva_workflows_ended_total', { workflow: 'saga', state: 'finished' })
    const again = await under.geneva.rerun(done.id, { from: 'landed' })
    expect(again.state).toBe('finished')
    const seen = await page()
    const ended = (workflow: string) => totalOf(seen, 'geneva_workflows_ended_total', { workflow, state: 'finished' })
    const lasted = (workflow: string) =>
      totalOf(seen, 'geneva_workflow_duration_seconds_count', { workflow, state: 'finished' })
    expect([ended('empty'), lasted('empty')]).toEqual([1, 1])
    expect([ended('saga'), lasted('saga')]).toEqual([before + 1, before + 1])
    expect((await under.geneva.doctor()).findings).toEqual([])
  })

  it('tell what waits, what runs, and what is connected', async () => {
    held = gate()
    await under.geneva.startMany(Held, [{}, {}, {}])
    const queue = { queue: 'default', handler: 'held' }
    expect(totalOf(await page(), 'geneva_queue_due', queue)).toBe(3)
    expect(totalOf(await page(), 'geneva_workers', { state: 'alive' })).toBe(0)
    expect(totalOf(await page(), 'geneva_executions_running')).toBe(0)
    const both = [gate(), gate()]
    begun.push(...both.map(each => () => each.open()))
    const worker = await under.geneva.startWorker({ poll: 5, concurrency: 2 })
    await Promise.all(both.map(each => each.passed))
    const busy = await page()
    expect(totalOf(busy, 'geneva_queue_due', queue)).toBe(1)
    expect(totalOf(busy, 'geneva_queue_age_seconds', queue)).toBeGreaterThan(0)
    expect(totalOf(busy, 'geneva_workers', { state: 'alive' })).toBe(1)
    expect(totalOf(busy, 'geneva_executions_running')).toBe(2)
    expect(totalOf(busy, 'geneva_pool_limit')).toBe(database.name === 'sqlite' ? 0 : 10)
    held.open()
    await under.runDue()
    await worker.stop()
    const idle = await page()
    // An empty queue is a value too.
    expect(
      idle.samples.filter(each => each.name === 'geneva_queue_due' && each.labels.handler === 'held'),
    ).toMatchObject([{ value: 0 }])
    expect(totalOf(idle, 'geneva_executions_running')).toBe(0)
  })
})

describe('metrics on OpenTelemetry', () => {
  const [database] = databases
  if (database === undefined) return
  class Parcel extends Sale {
    static {
      this.named('parcel')
    }
  }
  const under = useGeneva(database, { workflows: [Parcel], telemetry: { openTelemetry: recorded.api } })

  it('say the same', async () => {
    await under.geneva.startMany(Parcel, [{}, {}])
    const due = await recorded.metric('geneva.queue.due')
    expect(due.filter(({ labels }) => labels.handler === 'parcel')).toMatchObject([{ value: 2 }])
    await under.runDue()
    const of = async (name: string, labels: object) => {
      const found = (await recorded.metric(name)).filter(metric =>
        Object.entries(labels).every(([label, value]) => metric.labels[label] === value),
      )
      return found.reduce((sum, { value }) => sum + value, 0)
    }
    const charge = { workflow: 'parcel', step: 'charge' }
    expect(await of('geneva.executions.ended', { ...charge, outcome: 'success' })).toBe(2)
    expect(await of('geneva.executions.retried', charge)).toBe(2)
    expect(await of('geneva.execution.wait', charge)).toBe(4)
    expect(await of('geneva.execution.duration', charge)).toBe(4)
  })

  it('are what it was asked for: without `metrics` there is no page', async () => {
    await expect(under.geneva.metrics()).rejects.toThrow(/metrics: true/)
    await expect(under.another({ workflows: [Parcel] }).metrics()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('show what this process knows while the database is away', async () => {
    const geneva = under.another({ workflows: [Parcel], telemetry: { metrics: true } })
    await geneva.migrate()
    const worker = await geneva.startWorker()
    await worker.stop()
    await geneva.close()
    expect(parsePrometheus(await geneva.metrics()).samples).toEqual([
      { name: 'geneva_executions_running', labels: {}, value: 0 },
    ])
  })
})
