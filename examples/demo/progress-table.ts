/** The live table: one line per workflow with its steps, the date that matters to it, and the worker that runs it. */
import { latestOf, type Sighting } from './sighting.ts'
import { dateText, marked, styled } from './wording.ts'

const columns = { steps: 15, now: 48, date: 52, worker: 71 }

/** Columns are set by the terminal itself: how wide it draws a symbol is its own affair. */
function at(column: number, text: string): string {
  return text === '' ? '' : `\x1b[${column}G${text}`
}

export interface Scene {
  readonly now: Date
  readonly sightings: readonly Sighting[]
  readonly workerOf: (executionId: string) => string | null
}

export function progressTable(scene: Scene): string[] {
  return ['', styled('bold', heading(scene.now)), ...scene.sightings.map(sighting => row(sighting, scene))]
}

function heading(now: Date): string {
  return `workflow${at(columns.steps, 'steps')}${at(columns.now, `now ${dateText(now)}`)}${at(columns.worker, 'worker')}`
}

function row(sighting: Sighting, { now, workerOf }: Scene): string {
  const { actor, state } = sighting
  const steps = actor.steps.map(step => marked(step, latestOf(sighting, step))).join('  ')
  const current = sighting.executions.at(-1)
  const runs = current?.state === 'in_progress' ? workerOf(current.id) : null
  return actor.label + at(columns.steps, steps) + at(columns.date, when()) + at(columns.worker, runs ?? '')

  function when(): string {
    if (state === 'finished') return styled('green', 'finished')
    if (state === 'paused') return styled('red', 'paused')
    if (current?.state === 'scheduled' && current.scheduledFor > now) return dateText(current.scheduledFor)
    return ''
  }
}
