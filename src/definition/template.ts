/**
 * Templates: graphs described once under a name, with arguments to fill in. A graph that was expanded from one keeps its
 * name and arguments as a note; it is stored expanded and does not change when the template does.
 */
import { DefinitionError, InvalidGraphError } from '../errors.ts'
import { encodeValue } from '../primitives/json-codec.ts'
import { buildGraph } from './build-graph.ts'
import type { BuiltGraph } from './built-graph.ts'
import type { GraphBuilder } from './graph-builder.ts'
import { defaultGraphLimits, type GraphLimits, GraphTally } from './graph-limits.ts'
import { mistakeInStoredName } from './node-name.ts'
import { inGraph } from './node-rules.ts'
import { isPlainObject } from './validate-input.ts'

const brand = Symbol.for('geneva-drive.template')

export interface Template<Args extends object = any> {
  readonly name: string
  readonly describe: (w: GraphBuilder, args: Args) => void
}

/** Declares a template. The name is stored with every graph that is expanded from it. */
export function defineTemplate<Args extends object = Record<string, never>>(
  name: string,
  describe: (w: GraphBuilder, args: Args) => void,
): Template<Args> {
  const mistake = mistakeInStoredName(name)
  if (mistake !== null) throw new DefinitionError(`defineTemplate: the name of a template ${mistake}.`)
  if (typeof describe !== 'function') {
    throw new DefinitionError(`defineTemplate(${JSON.stringify(name)}): it takes a name and a function (w, args).`)
  }
  return Object.freeze(Object.defineProperty({ name, describe }, brand, { value: true }))
}

export function isTemplate(value: unknown): value is Template {
  return typeof value === 'object' && value !== null && brand in value
}

/** Throws what `buildGraph` throws, and `InvalidGraphError` for arguments that cannot be stored. */
export function expandTemplate<Args extends object>(
  template: Template<Args>,
  args: Args,
  limits: GraphLimits = defaultGraphLimits,
): BuiltGraph {
  const what = `The arguments of template ${JSON.stringify(template.name)}`
  if (!isPlainObject(args)) throw new InvalidGraphError(`${what} must be an object.`)
  const text = inGraph(limits.bytes, () => encodeValue(args, { what, maxBytes: limits.bytes })) ?? '{}'
  const built = buildGraph(w => template.describe(w, args), limits)
  const bytes = built.bytes + Buffer.byteLength(text)
  new GraphTally(limits).add('bytes', bytes)
  return built.expandedFrom({ name: template.name, args: JSON.parse(text) }, bytes)
}
