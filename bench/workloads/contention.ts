/**
 * What several worker processes do to each other, beside a starter in a process of its own: steps per second with 1, 2, 4
 * and 8, claims that came back with nothing though there was work when they began, errors, and deadlocks. Such claims are judged beside a
 * long line that stands before anybody begins: where work comes in sets, the first who looks may take all of one. And eight work for a long
 * time, because deadlocks are rare.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Claim } from '../claim-count.ts'
import { type BenchDatabase, inFreshPlace } from '../databases.ts'
import {
  type Bench,
  checkNothingLost,
  lastWorkflow,
  startSet,
  stepsOfFive,
  untilFinished,
  withEngine,
  workerOptions,
} from '../five-steps.ts'
import { deadlockCount } from '../server-deadlocks.ts'
import { begunAt, StandingLine } from '../standing-line.ts'
import { type Workforce, withWorkers } from '../worker-processes.ts'
import type { Case, Measurement, Size, Workload } from '../workload.ts'

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

/** Where work is done: the starter's side. */
interface Scene extends Bench {
  readonly line: StandingLine
  /** Lets the workers begin, all at once. */
  begin(): Promise<void>
}

interface Worked {
  readonly perSecond: number
  /** Claims that began earlier are not counted: milliseconds since 1970. */
  readonly from?: number
}

function processes(count: number): Case {
  return {
    name: `${count} process${count === 1 ? '' : 'es'}`,
    async measure(database, size) {
      const workflows = size === 'full' ? 10_000 : 50
      const some = fewer(count, size)
      const warmUp = size === 'full' ? warmUpEach * some : 10
      return together(database, { count: some, options: workerOptions }, async scene => {
        await scene.begin()
        await startInSets(scene, warmUp)
        await untilFinished(scene, warmUp, look)
        const after = await lastWorkflow(scene)
        const begun = performance.now()
        await startInSets(scene, workflows)
        await untilFinished(scene, workflows, { ...look, after })
        const ms = performance.now() - begun
        await checkNothingLost(scene, warmUp + workflows)
        return { perSecond: (workflows * stepsOfFive * 1000) / ms, from: performance.timeOrigin + begun }
      })
    },
  }
}

/**
 * It stands there before anybody begins, all at once. With the usual options, by which a worker has room for 50, it is taken in
 * 800 claims or more.
 */
function aLongLine(count: number): Case {
  return {
    name: `a long line, ${count} processes`,
    async measure(database, size) {
      const workflows = size === 'full' ? 40_000 : 120
      return together(database, { count: fewer(count, size), options: {} }, async scene => {
        await startInSets(scene, workflows)
        const begun = performance.now()
        await scene.begin()
        await untilFinished(scene, workflows, look)
        const ms = performance.now() - begun
        await checkNothingLost(scene, workflows)
        return { perSecond: (workflows * stepsOfFive * 1000) / ms }
      })
    },
  }
}

/** More than all of them can hold, as far as the starter keeps up beside them. */
const backlog = 8_000

/** Keeps so many under way, as long as it is told. */
const aLongTime: Case = {
  name: 'a long time',
  async measure(database, size, { seconds }) {
    const forMs = (size === 'full' ? seconds : 1) * 1000
    const most = size === 'full' ? backlog : 20
    return together(database, { count: size === 'full' ? 8 : 1, options: workerOptions }, async scene => {
      await scene.begin()
      const begun = performance.now()
      let started = 0
      while (performance.now() - begun < forMs) {
        const room = most - (await underWay(scene))
        if (room >= most / 4) {
          const some = Math.min(room, atOnce)
          await startInSets(scene, some)
          started += some
        } else await delay(lookMs)
      }
      while ((await underWay(scene)) > 0) await delay(lookMs)
      const ms = performance.now() - begun
      await checkNothingLost(scene, started)
      return { perSecond: (started * stepsOfFive * 1000) / ms }
    })
  },
}

function fewer(count: number, size: Size): number {
  return size === 'full' ? count : Math.min(count, 2)
}

async function startInSets({ geneva, line }: Scene, workflows: number): Promise<void> {
  for (let left = workflows; left > 0; left -= atOnce) {
    const some = Math.min(left, atOnce)
    await startSet(geneva, some)
    line.put(some)
  }
}

async function underWay({ plain }: Bench): Promise<number> {
  const [row] = await plain.query(`select count(*) as active from geneva_drive_active_executions where kind <> 'timer'`)
  return Number(row?.active)
}

async function together(database: BenchDatabase, workforce: Workforce, work: (scene: Scene) => Promise<Worked>) {
  return inFreshPlace(database, place =>
    withEngine(place, async (bench): Promise<Measurement[]> => {
      const line = new StandingLine()
      const deadlocks = await deadlockCount(place.kind, bench.plain)
      const { result, reports } = await withWorkers(place, workforce, begin => work({ ...bench, line, begin }))
      const errors = reports.flatMap(report => report.errors)
      if (errors.length > 0) process.stderr.write(`${[...new Set(errors)].join('\n')}\n`)
      const { perSecond, from = 0 } = result
      const claims = line.claimsMeanwhile(reports.flatMap(report => report.claims))
      const broken = await deadlockCount(place.kind, bench.plain)
      return [
        { value: perSecond, unit: 'steps/s' },
        ...tellClaims(claims.filter(claim => begunAt(claim) >= from)),
        { what: 'errors told', value: errors.length, unit: 'errors' },
        ...(broken === null || deadlocks === null
          ? []
          : [{ what: 'deadlocks broken by the server', value: broken - deadlocks, unit: 'deadlocks' }]),
      ]
    }),
  )
}

/** Of fewer a single one is more than 2 %, where the bar is 5 %. */
const fewestClaims = 50

/** Of claims that began while something stood in line: how many they were and, if they were enough to tell, which part of them found none. */
export function tellClaims(claims: readonly Claim[]): Measurement[] {
  const vain = claims.filter(({ found }) => found === 0).length
  return [
    { what: 'claims while work stood in line', value: claims.length, unit: 'claims' },
    ...(claims.length < fewestClaims
      ? []
      : [{ what: 'claims in vain', value: (vain * 100) / claims.length, unit: '%' }]),
  ]
}

export const workload: Workload = {
  about: 'Steps per second of 1, 2, 4 and 8 worker processes, claims in vain, and deadlocks.',
  cases: [...[1, 2, 4, 8].map(processes), ...[2, 4, 8].map(aLongLine), aLongTime],
}
