/**
 * How long one workflow of five steps takes on an idle system, from the call of `start` until its caller knows that it has
 * finished: with the worker in the same process, and with the worker in another one.
 */
import type { Geneva } from '../../src/index.ts'
import { inFreshPlace } from '../databases.ts'
import { FiveSteps, withEngine, workerOptions } from '../five-steps.ts'
import { limitCases } from '../limit-cases.ts'
import { peerCases } from '../peer-cases.ts'
import { besideWorkers } from '../worker-processes.ts'
import type { Case, Measurement, Size, Workload } from '../workload.ts'

interface Amounts {
  readonly warmUp: number
  readonly measured: number
}

const amounts: Readonly<Record<Size, Amounts>> = {
  full: { warmUp: 50, measured: 300 },
  tiny: { warmUp: 2, measured: 10 },
}

async function oneByOne(runOne: () => Promise<unknown>, size: Size): Promise<Measurement[]> {
  const { warmUp, measured } = amounts[size]
  const times: number[] = []
  for (let index = -warmUp; index < measured; index++) {
    const begun = performance.now()
    await runOne()
    if (index >= 0) times.push(performance.now() - begun)
  }
  return spread(times)
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
        return oneByOne(() => startAndWait(geneva), size)
      }),
    ),
}

const separateProcesses: Case = {
  name: 'separate processes',
  measure: (database, size) =>
    inFreshPlace(database, place =>
      withEngine(place, async ({ geneva }) => {
        const { result } = await besideWorkers(place, 1, () => oneByOne(() => startAndWait(geneva), size))
        return result
      }),
    ),
}

const limits = limitCases(sameProcess.name, async ({ engine, check }, size) => {
  const measured = await oneByOne(() => engine.runMany(1), size)
  await check(amounts[size].warmUp + amounts[size].measured)
  return measured
})

export const workload: Workload = {
  about: 'Milliseconds from start to end of one workflow of five steps at a time, on an idle system.',
  cases: [sameProcess, ...limits, separateProcesses],
  peers: peerCases('latency', sameProcess.name, {
    full: { warmUp: amounts.full.warmUp, workflows: amounts.full.measured },
    tiny: { warmUp: amounts.tiny.warmUp, workflows: amounts.tiny.measured },
  }),
}
