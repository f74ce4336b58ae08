/**
 * What a step asks of the database and of the two processors: statements, round trips, commits, rows, bytes of log, time. Once under
 * load, where many steps share a statement, and once for one workflow at a time, where nothing can be shared.
 */
import { openMeter, type Reading } from '../cost-meter.ts'
import { type BenchDatabase, inFreshPlace } from '../databases.ts'
import { type Bench, FiveSteps, runMany, stepsOfFive, withEngine, workerOptions } from '../five-steps.ts'
import type { Case, Measurement, Size, Workload } from '../workload.ts'

type Run = (bench: Bench, workflows: number) => Promise<unknown>

async function runAlone({ geneva }: Bench, workflows: number): Promise<void> {
  for (let index = 0; index < workflows; index++) {
    const workflow = await geneva.start(FiveSteps)
    await workflow.waitUntilFinished({ timeout: '1 min' })
  }
}

/** Warm code and open connections, before anything is counted. */
const warmUp: Readonly<Record<Size, number>> = { full: 200, tiny: 5 }

async function costs(database: BenchDatabase, size: Size, { run, workflows }: { run: Run; workflows: number }) {
  return inFreshPlace(database, async place => {
    const meter = await openMeter(place)
    const counted = { ...place, options: meter.options }
    try {
      // In an engine of its own, which is gone when the counting begins: rows are told to the server when it goes.
      await withEngine(counted, async bench => {
        await bench.geneva.startWorker(workerOptions)
        await run(bench, warmUp[size])
      })
      const settledBefore = await meter.readSettled()
      const [before, after] = await withEngine(counted, async bench => {
        await bench.geneva.startWorker(workerOptions)
        const start = await meter.read()
        await run(bench, workflows)
        return [start, await meter.read()] as const
      })
      const { rows, updates, hotUpdates } = difference(settledBefore, await meter.readSettled())
      return told({ ...difference(before, after), rows, updates, hotUpdates }, workflows)
    } finally {
      await meter.close()
    }
  })
}

function difference(before: Reading, after: Reading): Reading {
  const of = (key: keyof Reading) => after[key] - before[key]
  return {
    statements: of('statements'),
    roundTrips: of('roundTrips'),
    commits: of('commits'),
    rows: of('rows'),
    updates: of('updates'),
    hotUpdates: of('hotUpdates'),
    logBytes: of('logBytes'),
    serverCpuMs: of('serverCpuMs'),
    nodeCpuMs: of('nodeCpuMs'),
  }
}

function told(used: Reading, workflows: number): Measurement[] {
  const steps = workflows * stepsOfFive
  const all: Measurement[] = [
    { what: 'statements', value: used.statements / steps, unit: '/step' },
    { what: 'round trips', value: used.roundTrips / steps, unit: '/step' },
    { what: 'commits', value: used.commits / steps, unit: '/step' },
    { what: 'commits, whole workflow', value: used.commits / workflows, unit: '/workflow' },
    { what: 'rows written', value: used.rows / steps, unit: '/step' },
    { what: 'updates that are HOT', value: (used.hotUpdates * 100) / used.updates, unit: '%' },
    { what: 'log', value: used.logBytes / steps, unit: 'bytes/step' },
    { what: 'server CPU', value: (used.serverCpuMs * 1000) / steps, unit: 'µs/step' },
    { what: 'Node CPU', value: (used.nodeCpuMs * 1000) / steps, unit: 'µs/step' },
  ]
  return all.filter(({ value }) => !Number.isNaN(value))
}

function cost(name: string, run: Run, workflows: number): Case {
  return {
    name,
    measure: (database, size) => costs(database, size, { run, workflows: size === 'full' ? workflows : 20 }),
  }
}

export const workload: Workload = {
  about: 'Statements, round trips, commits, rows, bytes of log and processor time per step, under load and alone.',
  cases: [cost('under load', runMany, 2_000), cost('one at a time', runAlone, 200)],
}
