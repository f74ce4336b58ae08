/** What came of it all, and whether it is what should have come of it. */
import type { Sighting } from './sighting.ts'
import { spanText, styled } from './wording.ts'
import type { WorkerProcess } from './worker-process.ts'

export interface Ending {
  readonly sightings: readonly Sighting[]
  readonly workers: readonly WorkerProcess[]
  readonly simulatedMs: number
  readonly realMs: number
}

export function summary({ sightings, simulatedMs, realMs }: Ending): string[] {
  const executions = sightings.flatMap(sighting => sighting.executions)
  const count = (outcome: string) => executions.filter(execution => execution.outcome === outcome).length
  const finished = sightings.filter(sighting => sighting.state === 'finished').length
  const facts = [
    ['workflows finished', `${finished} of ${sightings.length}`],
    ['steps performed', `${count('success')}, and ${count('skipped_by_condition')} skipped`],
    [
      'attempts',
      `${executions.length}: ${count('reattempted_by_exception')} failed and were repeated, ` +
        `${count('paused_by_exception')} paused for a person`,
    ],
    ['crashes recovered', `${count('recovered')}`],
    ['simulated time', `${spanText(simulatedMs)}, in ${(realMs / 1000).toFixed(1)} s of real time`],
  ] as const
  return facts.map(([name, value]) => `${styled('bold', `${name}:`.padEnd(20))}${value}`)
}

/** Every way in which the run was not what the library promises; none if all is well. */
export function mistakes({ sightings, workers }: Ending): string[] {
  const runs = new Map<string, number>()
  for (const worker of workers) {
    for (const [id, count] of worker.runs) runs.set(id, (runs.get(id) ?? 0) + count)
  }
  const repeated = [...runs.values()].filter(count => count > 1).length
  const recovered = sightings.some(({ executions }) => executions.some(each => each.outcome === 'recovered'))
  return [
    ...sightings.filter(({ state }) => state !== 'finished').map(({ actor, state }) => `${actor.label} is ${state}.`),
    ...sightings.flatMap(wronglyPerformed),
    ...(repeated > 0 ? [`${repeated} attempts ran more than once.`] : []),
    ...(recovered ? [] : ['No step was recovered from the worker that was killed.']),
  ]
}

/** Each step must have been completed or skipped exactly once. */
function wronglyPerformed({ actor, executions }: Sighting): string[] {
  return actor.steps.flatMap(step => {
    const ends = executions.filter(each => each.step === step && ['completed', 'skipped'].includes(each.state)).length
    return ends === 1 ? [] : [`Step ${step} of ${actor.label} was performed ${ends} times.`]
  })
}
