/**
 * Steps per second of many workflows of five steps that do nothing, from the first start to the last durable end, with
 * one worker in the same process. Each run has tables of its own; afterwards every step must be recorded once. Everybody repeats
 * it for two seconds, and the middle one counts.
 */

import type { Geneva } from '../../src/index.ts'
import { inFreshPlace } from '../databases.ts'
import { checkNothingLost, runMany, startEach, startSet, stepsOfFive, withEngine } from '../five-steps.ts'
import { limitCases } from '../limit-cases.ts'
import { measuredMs, middleRound } from '../middle-round.ts'
import { peerCases } from '../peer-cases.ts'
import { warmUp, warmUpMs } from '../warm-up.ts'
import type { Case, Size, Workload } from '../workload.ts'

const tiny = 40
/** As many as are started in the usual case, so that none of those has to be looked for. */
const workerOptions = { concurrency: 2_000 } as const
/** Of a round before the clock starts. */
const warmUpRound: Readonly<Record<Size, number>> = { full: 2_000, tiny: 10 }

function throughput(name: string, workflows: number, start: typeof startEach): Case {
  return {
    name,
    measure: (database, size) =>
      inFreshPlace(database, place =>
        withEngine(place, async bench => {
          const count = size === 'full' ? workflows : tiny
          await bench.geneva.startWorker(workerOptions)
          const warm = await warmUp(() => runMany(bench, warmUpRound[size], start), size)
          const { ms, rounds } = await middleRound(() => runMany(bench, count, start), size)
          await checkNothingLost(bench, warm * warmUpRound[size] + rounds * count)
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
  const warm = await warmUp(() => engine.runMany(warmUpRound[size]), size)
  const round = async () => {
    const begun = performance.now()
    await engine.runMany(counts[size])
    return performance.now() - begun
  }
  const { ms, rounds } = await middleRound(round, size)
  await check(warm * warmUpRound[size] + rounds * counts[size])
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
    full: { warmUp: warmUpRound.full, warmUpMs: warmUpMs.full, measuredMs: measuredMs.full, workflows: counts.full },
    tiny: { warmUp: warmUpRound.tiny, warmUpMs: warmUpMs.tiny, measuredMs: measuredMs.tiny, workflows: counts.tiny },
  }),
}
