/** Turns what has changed between two looks into sentences. */
import type { Execution } from '../../src/index.ts'
import type { Scene } from './progress-table.ts'
import type { Sighting } from './sighting.ts'
import { dateText, spanText, styled } from './wording.ts'

export class Story {
  readonly #seen = new Map<string, string>()

  /** A line for every execution and every workflow that is no longer what it was. */
  news(scene: Scene): string[] {
    return scene.sightings.flatMap(sighting => [
      ...sighting.executions.flatMap(execution => {
        if (!this.#changed(execution.id, execution.state)) return []
        const text = sentence(execution, scene)
        return text === null ? [] : [this.#line(scene.now, sighting, text)]
      }),
      ...(this.#changed(sighting.actor.label, sighting.state) && sighting.state === 'finished'
        ? [this.#line(scene.now, sighting, styled('green', 'finished'))]
        : []),
    ])
  }

  #changed(id: string, state: string): boolean {
    if (this.#seen.get(id) === state) return false
    this.#seen.set(id, state)
    return true
  }

  #line(now: Date, { actor }: Sighting, text: string): string {
    return `${styled('dim', dateText(now))}  ${actor.label.padEnd(13)} ${text}`
  }
}

function sentence(execution: Execution, { now, workerOf }: Scene): string | null {
  const { step, attempt, state } = execution
  const nth = attempt > 1 ? `, attempt ${attempt}` : ''
  const worker = workerOf(execution.id)
  const where = worker === null ? '' : styled('dim', ` in ${worker}`)
  switch (state) {
    case 'completed':
      return `${styled('green', `✓ ${step}`)}${nth}${where}`
    case 'skipped':
      return `– ${step} is skipped by its condition`
    case 'failed':
      return `${styled('red', `✗ ${step}`)}${nth}: ${whyFailed(execution)}`
    case 'scheduled': {
      const ms = execution.scheduledFor.getTime() - now.getTime()
      return ms < 1000 ? null : styled('yellow', `⏳ ${step}${nth} in ${spanText(ms)}`)
    }
    default:
      return null
  }
}

function whyFailed({ outcome, error }: Execution): string {
  if (outcome === 'recovered') return 'its worker died, another one retries'
  if (outcome === 'paused_by_exception') return `${error?.message}, so it is paused`
  return `${error?.message}`
}
