/**
 * Steps per second of many workflows of five steps that do nothing, from the first start to the last durable end, with
 * one worker in the same process. Each run has tables of its own; afterwards every step must be recorded once.
 */

import type { Geneva } from '../../src/index.ts'
import { inFreshPlace } from '../databases.ts'
import { checkNothingLost, runMany, startEach, startSet, stepsOfFive, withEngine } from '../five-steps.ts'
import { limitCases } from '../limit-cases.ts'
import { peerCases } from '../peer-cases.ts'
import type { Case, Size, Workload } from '../workload.ts'

const tiny = 40
/** Twice what is under way of starts, so that reports on some begin while others are written. */
const workerOptions = { concurrency: 1000 } as const
/** Before the clock starts, so that code is compiled and connections are open. */
const warmUp: Readonly<Record<Size, number>> = { full: 2_000, tiny: 10 }

function throughput(name: string, workflows: number, start: typeof startEach): Case {
  return {
    name,
    measure: (database, size) =>
      inFreshPlace(database, place =>
        withEngine(place, async bench => {
          const count = size === 'full' ? workflows : tiny
          await bench.geneva.startWorker(workerOptions)
          await runMany(bench, warmUp[size], start)
          const ms = await runMany(bench, count, start)
          await checkNothingLost(bench, warmUp[size] + count)
          return [{ value: (count * stepsOfFive * 1000) / ms, unit: 'steps/s' }]
        }),
      ),
  }
}

const atOnce = 500

async function startInSets(geneva: Geneva, workflows: number): Promise<void> {
  for (let left = workflows; left > 0; left -= atOnce) await startSet(geneva, Math.min(left, atOnce))
}

const usual = '2,000 workflows'
const counts: Readonly<Record<Size, number>> = { full: 2_000, tiny }

const limits = limitCases(usual, async ({ engine, check }, size) => {
  await engine.runMany(warmUp[size])
  const begun = performance.now()
  await engine.runMany(counts[size])
  const ms = performance.now() - begun
  await check(warmUp[size] + counts[size])
  return [{ value: (counts[size] * stepsOfFive * 1000) / ms, unit: 'steps/s' }]
})

export const workload: Workload = {
  about: 'Steps per second of 2,000 and of 20,000 workflows of five steps that do nothing.',
  cases: [
    throughput(usual, counts.full, startEach),
    ...limits,
    throughput('2,000 workflows, startMany', 2_000, startInSets),
    throughput('20,000 workflows', 20_000, startEach),
  ],
  peers: peerCases('throughput', usual, {
    full: { warmUp: warmUp.full, workflows: counts.full },
    tiny: { warmUp: warmUp.tiny, workflows: counts.tiny },
  }),
}
