/** Reads the options that say how a node hangs together with others. Mistakes are raised at once, naming class and step. */
import { DefinitionError } from '../errors.ts'
import { encodeValue } from '../primitives/json-codec.ts'
import { waitOf } from './wait-settings.ts'
import type { ChildSettings, Dependency, EachSettings } from './workflow-definition.ts'

type RawOptions = Readonly<Record<string, unknown>>

const maxMetadataBytes = 10_000

/** `null` where nothing was said. Names may be declared later, so whether they exist is seen when the class is registered. */
export function dependenciesIn(
  options: RawOptions,
  option: 'dependsOn' | 'alsoDependsOn',
  where: string,
): readonly Dependency[] | null {
  const given = options[option]
  if (given === undefined) return null
  // An entry point: it depends on nothing.
  if (given === null) return []
  const all = (Array.isArray(given) ? given : [given]) as readonly unknown[]
  for (const dependency of all) {
    const isRef = typeof dependency === 'object' && dependency !== null && 'name' in dependency
    if (!isRef && (typeof dependency !== 'string' || dependency === '')) {
      throw new DefinitionError(
        `${where}: \`${option}\` takes the name of a step, what a verb returned, or an array of those.`,
      )
    }
  }
  return Object.freeze([...(all as Dependency[])])
}

export function eachSettings({ items, concurrency }: RawOptions, where: string): EachSettings {
  if (typeof items !== 'function' && (typeof items !== 'string' || items === '')) {
    throw new DefinitionError(
      `${where}: \`items\` must be a function of the workflow, or the name of a method, that returns an array.`,
    )
  }
  if (
    concurrency !== undefined &&
    !(typeof concurrency === 'number' && Number.isSafeInteger(concurrency) && concurrency > 0)
  ) {
    throw new DefinitionError(`${where}: \`concurrency\` must be a whole number above 0, not ${String(concurrency)}.`)
  }
  return Object.freeze({
    items: items as EachSettings['items'],
    concurrency: concurrency === undefined ? null : (concurrency as number),
  })
}

export function childSettings({ workflow, start, timeout }: RawOptions, where: string): ChildSettings {
  if (typeof workflow !== 'function') {
    throw new DefinitionError(
      `${where}: \`workflow\` must be a workflow class, or a function that returns one. Was it imported in a circle? Write \`() => Later\`.`,
    )
  }
  if (typeof start !== 'function') {
    throw new DefinitionError(`${where}: \`start\` must be a function that returns { hero, input } or { workflowId }.`)
  }
  // A class has a prototype; an arrow function has none.
  const isClass = typeof workflow.prototype === 'object' && workflow.prototype !== null
  return Object.freeze({
    workflowClass: isClass ? () => workflow : (workflow as () => unknown),
    start: start as ChildSettings['start'],
    timeoutMs: timeout === undefined ? null : waitOf(timeout, 'timeout', where),
  })
}

/** Plain data for people and tools; the engine does not look at it. */
export function metadataIn(metadata: unknown, where: string): Readonly<Record<string, unknown>> | null {
  if (metadata === undefined) return null
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
    throw new DefinitionError(`${where}: \`metadata\` must be an object of plain values.`)
  }
  const text = encodeValue(metadata, { what: `${where}: the metadata`, maxBytes: maxMetadataBytes })
  return Object.freeze(JSON.parse(text ?? '{}') as Record<string, unknown>)
}
