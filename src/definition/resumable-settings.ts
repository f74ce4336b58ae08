/** Reads the options that only resumable steps have. Mistakes are raised at once, naming class and step. */
import { DefinitionError } from '../errors.ts'
import { definedDuration, refuseUnknownKeys } from './option-checks.ts'
import type { ResumableSettings } from './workflow-definition.ts'

export function resumableSettings(options: Readonly<Record<string, unknown>>, where: string): ResumableSettings {
  const { yieldEvery, maxRuntime, maxIterations, checkpoint } = options
  return Object.freeze({
    yieldEvery: countIn(yieldEvery, 'yieldEvery', where),
    maxRuntimeMs: maxRuntime === undefined ? null : definedDuration(maxRuntime, 'maxRuntime', where),
    maxIterations: countIn(maxIterations, 'maxIterations', where),
    checkpoint: checkpointIn(checkpoint, where),
  })
}

function countIn(value: unknown, name: string, where: string): number | null {
  if (value === undefined) return null
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw new DefinitionError(`${where}: \`${name}\` must be a whole number above 0, not ${String(value)}.`)
}

function checkpointIn(value: unknown, where: string): ResumableSettings['checkpoint'] {
  if (value === undefined) return 'coalesced'
  if (value === 'each') return 'each'
  if (typeof value !== 'object' || value === null) {
    throw new DefinitionError(
      `${where}: \`checkpoint\` must be 'each' or an object like { items: 100 } or { time: '1s' }.`,
    )
  }
  refuseUnknownKeys(value, ['items', 'time'], `${where}, checkpoint`)
  const { items, time } = value as { items?: unknown; time?: unknown }
  if (items === undefined && time === undefined) {
    throw new DefinitionError(`${where}: \`checkpoint\` needs \`items\` or \`time\`.`)
  }
  return Object.freeze({
    items: countIn(items, 'items', `${where}, checkpoint`),
    timeMs: time === undefined ? null : definedDuration(time, 'the time', `${where}, checkpoint`),
  })
}
