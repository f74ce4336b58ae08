/**
 * What several worker processes do to each other, beside a starter in a process of its own: steps per second with 1, 2, 4
 * and 8, claims that came back with nothing while there was work, and errors. Eight of them beside a long line, because they take a
 * short one in so few claims that the last look of each weighs too much; and for a long time, because deadlocks are rare.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Geneva } from '../../src/index.ts'
import { type BenchDatabase, inFreshPlace } from '../databases.ts'
import {
  type Bench,
  checkNothingLost,
  lastWorkflow,
  startSet,
  stepsOfFive,
  untilFinished,
  withEngine,
} from '../five-steps.ts'
import { deadlockCount } from '../server-deadlocks.ts'
import { besideWorkers, type WorkerReport } from '../worker-processes.ts'
import type { Case, Measurement, Workload } from '../workload.ts'

/** Looking costs the server something; the work takes seconds. */
const lookMs = 50
const look = { everyMs: lookMs } as const
/**
 * For each process: one that has just begun is half as fast, and still slower after a thousand. Of what is measured each of eight has an eighth to do,
 * so that it must be warm before.
 */
const warmUpEach = 5_000
/** Faster than they can be worked off, so that there is always something to claim. */
const atOnce = 500

function processes(count: number): Case {
  return {
    name: `${count} process${count === 1 ? '' : 'es'}`,
    async measure(database, size) {
      const workflows = size === 'full' ? 10_000 : 50
      const warmUp = size === 'full' ? warmUpEach * count : 10
      return together(database, size === 'full' ? count : Math.min(count, 2), async bench => {
        await startInSets(bench.geneva, warmUp)
        await untilFinished(bench, warmUp, look)
        const after = await lastWorkflow(bench)
        const begun = performance.now()
        await startInSets(bench.geneva, workflows)
        const startedAt = performance.timeOrigin + performance.now()
        await untilFinished(bench, workflows, { ...look, after })
        const ms = performance.now() - begun
        await checkNothingLost(bench, warmUp + workflows)
        // From then on there is work until the last claim.
        return { perSecond: (workflows * stepsOfFive * 1000) / ms, hadWork: at => at >= startedAt }
      })
    },
  }
}

async function startInSets(geneva: Geneva, workflows: number): Promise<void> {
  for (let left = workflows; left > 0; left -= atOnce) await startSet(geneva, Math.min(left, atOnce))
}

interface Worked {
  readonly perSecond: number
  /** Whether something stood in line then, as far as is known: milliseconds since 1970. */
  hadWork(at: number): boolean
}

async function together(
  database: BenchDatabase,
  count: number,
  work: (bench: Bench) => Promise<Worked>,
  before: (bench: Bench) => Promise<void> = async () => {},
) {
  return inFreshPlace(database, place =>
    withEngine(place, async (bench): Promise<Measurement[]> => {
      await before(bench)
      const deadlocks = await deadlockCount(place.kind, bench.plain)
      const { result, reports } = await besideWorkers(place, count, () => work(bench))
      const errors = reports.flatMap(report => report.errors)
      if (errors.length > 0) process.stderr.write(`${[...new Set(errors)].join('\n')}\n`)
      return [
        { value: result.perSecond, unit: 'steps/s' },
        { what: 'claims in vain', value: inVain(reports, result), unit: '%' },
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

/**
 * Of the claims while there was work, those that found none: others had locked it. There was work until the last claim that found
 * some began: what came back empty beside that one may have come when it had locked the last of it.
 */
function inVain(reports: readonly WorkerReport[], { hadWork }: Worked): number {
  const claims = reports.flatMap(report => report.claims)
  const last = claims.reduce((latest, { at, found, ms }) => (found > 0 ? Math.max(latest, at - ms) : latest), 0)
  const meanwhile = claims.filter(({ at }) => at <= last && hadWork(at))
  if (meanwhile.length === 0) return 0
  return (meanwhile.filter(({ found }) => found === 0).length * 100) / meanwhile.length
}

/** It stands there before anybody comes, and is ten times what all of them can hold. */
const aLongLine: Case = {
  name: 'a long line',
  measure(database, size) {
    const workflows = size === 'full' ? 40_000 : 50
    const work = async (bench: Bench) => {
      const begun = performance.now()
      await untilFinished(bench, workflows, look)
      const ms = performance.now() - begun
      await checkNothingLost(bench, workflows)
      return { perSecond: (workflows * stepsOfFive * 1000) / ms, hadWork: () => true }
    }
    return together(database, size === 'full' ? 8 : 1, work, ({ geneva }) => startInSets(geneva, workflows))
  },
}

/** More than all of them can hold, as far as the starter keeps up beside them. */
const backlog = 8_000

/** Keeps so many under way, as long as it is told. */
const aLongTime: Case = {
  name: 'a long time',
  async measure(database, size, { seconds }) {
    const forMs = (size === 'full' ? seconds : 1) * 1000
    const most = size === 'full' ? backlog : 20
    return together(database, size === 'full' ? 8 : 1, async bench => {
      const begun = performance.now()
      const line = new Line()
      let started = 0
      while (performance.now() - begun < forMs) {
        const room = most - (await line.look(bench))
        if (room >= most / 4) {
          const some = Math.min(room, atOnce)
          await startSet(bench.geneva, some)
          started += some
        } else await delay(lookMs)
      }
      while ((await line.look(bench)) > 0) await delay(lookMs)
      const ms = performance.now() - begun
      await checkNothingLost(bench, started)
      return { perSecond: (started * stepsOfFive * 1000) / ms, hadWork: at => line.stoodAt(at) }
    })
  },
}

/** What stood in line, look by look. */
class Line {
  readonly #looks: { readonly at: number; readonly standing: number }[] = []

  /** How many are under way in all. */
  async look({ plain }: Bench): Promise<number> {
    const [row] = await plain.query(
      `select count(*) as active, sum(case when sort_key is null then 0 else 1 end) as standing
        from geneva_drive_active_executions where kind <> 'timer'`,
    )
    this.#looks.push({ at: performance.timeOrigin + performance.now(), standing: Number(row?.standing ?? 0) })
    return Number(row?.active)
  }

  /** Something stood there at the look before and at the one after. */
  stoodAt(at: number): boolean {
    const next = this.#looks.findIndex(look => look.at > at)
    return next > 0 && this.#looks.slice(next - 1, next + 1).every(({ standing }) => standing > 0)
  }
}

export const workload: Workload = {
  about: 'Steps per second of 1, 2, 4 and 8 worker processes, claims in vain, and deadlocks.',
  cases: [...[1, 2, 4, 8].map(processes), aLongLine, aLongTime],
}
