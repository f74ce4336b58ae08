/**
 * What several worker processes do to each other, beside a starter in a process of its own: steps per second with 1, 2, 4
 * and 8, claims that came back with nothing while there was work, and errors. And four of them for a long time, because
 * deadlocks are rare.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type BenchDatabase, inFreshPlace } from '../databases.ts'
import { type Bench, checkNothingLost, startSet, stepsOfFive, untilFinished, withEngine } from '../five-steps.ts'
import { deadlockCount } from '../server-deadlocks.ts'
import { besideWorkers, type WorkerReport } from '../worker-processes.ts'
import type { Case, Measurement, Workload } from '../workload.ts'

/** Looking costs the server something; the work takes seconds. */
const lookMs = 50
/** For each process: one that has just begun is half as fast, and with eight of them each has little to do. */
const warmUpEach = 1_000
/** Faster than they can be worked off, so that there is always something to claim. */
const atOnce = 500

function processes(count: number): Case {
  return {
    name: `${count} process${count === 1 ? '' : 'es'}`,
    async measure(database, size) {
      const workflows = size === 'full' ? 10_000 : 50
      const warmUp = size === 'full' ? warmUpEach * count : 10
      return together(database, size === 'full' ? count : Math.min(count, 2), async bench => {
        await startSet(bench.geneva, warmUp)
        await untilFinished(bench, warmUp, lookMs)
        const begun = performance.now()
        for (let left = workflows; left > 0; left -= atOnce) await startSet(bench.geneva, Math.min(left, atOnce))
        const startedAt = performance.timeOrigin + performance.now()
        await untilFinished(bench, warmUp + workflows, lookMs)
        const ms = performance.now() - begun
        await checkNothingLost(bench, warmUp + workflows)
        return { perSecond: (workflows * stepsOfFive * 1000) / ms, startedAt }
      })
    },
  }
}

interface Worked {
  readonly perSecond: number
  /** When the last one had been started: from then on there is work until the last claim. */
  readonly startedAt: number
}

async function together(database: BenchDatabase, count: number, work: (bench: Bench) => Promise<Worked>) {
  return inFreshPlace(database, place =>
    withEngine(place, async (bench): Promise<Measurement[]> => {
      const deadlocks = await deadlockCount(place.kind, bench.plain)
      const { result, reports } = await besideWorkers(place, count, () => work(bench))
      const errors = reports.flatMap(report => report.errors)
      if (errors.length > 0) process.stderr.write(`${[...new Set(errors)].join('\n')}\n`)
      return [
        { value: result.perSecond, unit: 'steps/s' },
        { what: 'claims in vain', value: inVain(reports, result.startedAt), unit: '%' },
        { what: 'errors told', value: errors.length, unit: 'errors' },
        {
          what: 'deadlocks broken by the server',
          value: (await deadlockCount(place.kind, bench.plain)) - deadlocks,
          unit: 'deadlocks',
        },
      ]
    }),
  )
}

/** Of the claims while there was work, those that found none: others had locked it. */
function inVain(reports: readonly WorkerReport[], startedAt: number): number {
  const claims = reports.flatMap(report => report.claims)
  const last = Math.max(...claims.filter(({ found }) => found > 0).map(({ at }) => at))
  const meanwhile = claims.filter(({ at }) => at >= startedAt && at <= last)
  if (meanwhile.length === 0) return 0
  return (meanwhile.filter(({ found }) => found === 0).length * 100) / meanwhile.length
}

const backlog = 2_000

/** Keeps so many under way, as long as it is told. */
const aLongTime: Case = {
  name: 'a long time',
  async measure(database, size, { seconds }) {
    const forMs = (size === 'full' ? seconds : 1) * 1000
    const most = size === 'full' ? backlog : 20
    return together(database, size === 'full' ? 4 : 1, async bench => {
      const begun = performance.now()
      let started = 0
      while (performance.now() - begun < forMs) {
        const room = most - (await activeCount(bench))
        if (room >= most / 2) {
          await startSet(bench.geneva, room)
          started += room
        } else await delay(lookMs)
      }
      while ((await activeCount(bench)) > 0) await delay(lookMs)
      const ms = performance.now() - begun
      await checkNothingLost(bench, started)
      const endedAt = performance.timeOrigin + performance.now()
      return { perSecond: (started * stepsOfFive * 1000) / ms, startedAt: endedAt }
    })
  },
}

async function activeCount({ plain }: Bench): Promise<number> {
  const [row] = await plain.query(`select count(*) as count from geneva_drive_active_executions where kind <> 'timer'`)
  return Number(row?.count)
}

export const workload: Workload = {
  about: 'Steps per second of 1, 2, 4 and 8 worker processes, claims in vain, and deadlocks.',
  cases: [...[1, 2, 4, 8].map(processes), aLongTime],
}
