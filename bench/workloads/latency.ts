/**
 * How long one workflow of five steps takes on an idle system, from the call of `start` until its caller knows that it has
 * finished: with the worker in the same process, and with the worker in another one.
 */
import type { Geneva } from '../../src/index.ts'
import { inFreshPlace } from '../databases.ts'
import { FiveSteps, withEngine, workerOptions } from '../five-steps.ts'
import { limitCases } from '../limit-cases.ts'
import { peerCases } from '../peer-cases.ts'
import { warmUp, warmUpMs } from '../warm-up.ts'
import { besideWorkers } from '../worker-processes.ts'
import type { Case, Measurement, Size, Workload } from '../workload.ts'

const counts: Readonly<Record<Size, number>> = { full: 300, tiny: 10 }

/** Tells how many there were in all, too. */
async function oneByOne(runOne: () => Promise<unknown>, size: Size): Promise<{ spread: Measurement[]; count: number }> {
  const times: number[] = []
  const before = await warmUp(runOne, size)
  while (times.length < counts[size]) {
    const begun = performance.now()
    await runOne()
    times.push(performance.now() - begun)
  }
  return { spread: spread(times), count: before + times.length }
}

async function startAndWait(geneva: Geneva): Promise<void> {
  const workflow = await geneva.start(FiveSteps)
  await workflow.waitUntilFinished({ timeout: '1 min' })
}

/** The median and what one in a hundred exceeds. */
function spread(times: readonly number[]): Measurement[] {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return [
    { what: 'p50', value: at(0.5), unit: 'ms' },
    { what: 'p99', value: at(0.99), unit: 'ms' },
  ]
}

const sameProcess: Case = {
  name: 'same process',
  measure: (database, size) =>
    inFreshPlace(database, place =>
      withEngine(place, async ({ geneva }) => {
        await geneva.startWorker(workerOptions)
        return (await oneByOne(() => startAndWait(geneva), size)).spread
      }),
    ),
}

const separateProcesses: Case = {
  name: 'separate processes',
  measure: (database, size) =>
    inFreshPlace(database, place =>
      withEngine(place, async ({ geneva }) => {
        const { result } = await besideWorkers(place, 1, () => oneByOne(() => startAndWait(geneva), size))
        return result.spread
      }),
    ),
}

const limits = limitCases(sameProcess.name, async ({ engine, check }, size) => {
  const { spread, count } = await oneByOne(() => engine.runMany(1), size)
  await check(count)
  return spread
})

export const workload: Workload = {
  about: 'Milliseconds from start to end of one workflow of five steps at a time, on an idle system.',
  cases: [sameProcess, ...limits, separateProcesses],
  peers: peerCases('latency', sameProcess.name, {
    full: { warmUpMs: warmUpMs.full, workflows: counts.full },
    tiny: { warmUpMs: warmUpMs.tiny, workflows: counts.tiny },
  }),
}
