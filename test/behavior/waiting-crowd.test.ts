/**
 * Workflows that wait for people cost an idle worker nothing: it sends the same statements as without them. How many wait is
 * set by GENEVA_TEST_CROWD.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { definitionOf } from '../../src/definition/compile.ts'
import { JobRegistry } from '../../src/definition/job-registry.ts'
import { Registry } from '../../src/definition/registry.ts'
import { ScheduleRegistry } from '../../src/definition/schedule-registry.ts'
import { Engine } from '../../src/engine/engine.ts'
import { timerHandler, timerQueue } from '../../src/engine/plan.ts'
import { Ticks } from '../../src/engine/ticks.ts'
import { type Decision, Workflow } from '../../src/index.ts'
import { SqlStore } from '../../src/store/sql/sql-store.ts'
import { ErrorListener } from '../../src/worker/error-listener.ts'
import { Worker } from '../../src/worker/worker.ts'
import { workerSettings } from '../../src/worker/worker-options.ts'
import { forEachDatabase } from '../support/databases.ts'
import { planners } from '../support/planners.ts'
import { type Recording, recordingDatabase } from '../support/recording-database.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

const wished = process.env.GENEVA_TEST_CROWD
const crowd = Number(wished ?? 2000)
const rounds = 9

class Approval extends Workflow {
  static {
    this.human('approve', { deadline: '60 days', escalate: { after: '50 days', to: 'boss' } })
    this.step('file')
  }
  async approve(_: Decision) {}
  async file() {}
}

forEachDatabase('workflows that wait for people', database => {
  const under = useGeneva(database, { workflows: [Approval] })
  let recording: Recording
  let store: SqlStore

  beforeAll(async () => {
    recording = recordingDatabase(await planners[database.name].open(under.url))
    store = new SqlStore(recording.database, {})
    await store.migrate()
  })
  afterAll(() => store.close())

  /** Everything that a worker sends which finds nothing to do, from its beginning to its end. */
  async function idleRound(): Promise<{ texts: string[] }> {
    const engine = new Engine(store, new Registry([Approval]), new JobRegistry([], []))
    await engine.register()
    const ticks = new Ticks(engine, new ScheduleRegistry([]), 1000)
    const onError = new ErrorListener(error => errors.push(error))
    const settings = workerSettings(quickly)
    const limits = { maxInputBytes: 1000, maxOutputBytes: 1000 }
    const worker = new Worker({ engine, ticks, settings, onError, ...limits, retention: new Map() })
    recording.take()
    expect(await worker.drain()).toBe(0)
    return { texts: recording.take().map(statement => statement.parts.join('?')) }
  }
  const errors: unknown[] = []

  async function idleRounds() {
    const all = []
    for (let round = 0; round < rounds; round++) all.push(await idleRound())
    return {
      texts: all.at(-1)?.texts ?? [],
      ms: await middleOf(poll),
      planMs: await middleOf(() => store.queuesOf(types)),
    }
  }

  const types = [definitionOf(Approval).type]
  const workerId = 'somebody who polls'
  const sources = [
    { queue: 'default', handler: types[0] ?? '', generation: 1 },
    { queue: timerQueue, handler: timerHandler, generation: Number.MAX_SAFE_INTEGER },
  ]

  /** What a worker without work repeats, as long as it lives. */
  async function poll(): Promise<void> {
    await store.registerWorker({ id: workerId, host: 'test', pid: 1, leaseMs: 60_000, handlers: types })
    for (const source of sources) expect(await store.claim({ workerId, sources: [source], limit: 50 })).toEqual([])
    await store.heartbeat(workerId, 60_000)
    expect(await store.findAbandoned(types, 100)).toEqual([])
    await store.retireWorker(workerId)
  }

  async function middleOf(work: () => Promise<unknown>): Promise<number> {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      const since = performance.now()
      await work()
      times.push(performance.now() - since)
    }
    return times.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0
  }

  it('change neither what an idle worker asks nor how long that takes, a month long', {
    timeout: 60_000 + crowd * 10,
  }, async () => {
    // Moved from the beginning, so that the statements are written alike.
    store.setClockOffset(1)
    const alone = await idleRounds()
    expect(alone.texts.length).toBeGreaterThan(2)
    for (let begun = 0; begun < crowd; begun += 10_000) {
      const size = Math.min(10_000, crowd - begun)
      await under.geneva.startMany(
        Approval,
        Array.from({ length: size }, () => ({})),
      )
    }
    expect(await under.runDue()).toBe(crowd)
    const [last] = await store.listWorkflows({ limit: 1 })
    expect(await store.activeExecutions(last?.workflow.id ?? '')).toMatchObject([
      { kind: 'timer' },
      { state: 'waiting' },
    ])
    const beside = await idleRounds()
    expect(beside.texts).toEqual(alone.texts)
    store.setClockOffset(30 * 86_400_000)
    const monthLater = await idleRounds()
    if (wished) {
      const told = [alone, beside, monthLater].map(({ ms, planMs }) => `${ms.toFixed(1)} ms (${planMs.toFixed(1)})`)
      console.log(`${database.name}, a poll (a look at the queues): ${told.join(', ')}`)
    }
    expect(monthLater.texts).toEqual(alone.texts)
    // Generous: the machine may be busy with something else just then. A look at each of them would take far longer.
    expect(beside.ms).toBeLessThan(3 * alone.ms + 20)
    expect(errors).toEqual([])
  })
})
