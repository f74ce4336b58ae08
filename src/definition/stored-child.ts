/**
 * Child nodes of stored graphs: the name of the class that is started, and what it is started with, which may hold
 * references to outputs. Checked when a graph is built or read, and once more when the node is due.
 */
import { InvalidGraphError, isGenevaError } from '../errors.ts'
import { definitionOf } from './compile.ts'
import type { DeclaringClass } from './declarations.ts'
import { heroRefFrom, isHeroRef } from './hero.ts'
import { identifyHero } from './identify-hero.ts'
import { mistakeInStoredName } from './node-name.ts'
import { refuseUnknownKeys } from './option-checks.ts'
import { OutputReference } from './output-reference.ts'
import { isPlainObject, toInputIssue } from './validate-input.ts'
import type { WorkflowDefinition } from './workflow-definition.ts'

/** What a child is started with, or the workflow that is waited for instead; references in it until they are filled in. */
export interface ChildArgs {
  readonly hero?: unknown
  readonly input?: unknown
  readonly workflowId?: unknown
}

const childArgs = ['hero', 'input', 'workflowId']

/** A class by its stored name, or by itself: then more can be checked at once. */
export interface NamedClass {
  readonly type: string
  readonly definition: WorkflowDefinition | null
}

/** Throws `InvalidGraphError` and `DefinitionError`. */
export function classNamed(workflow: unknown, where: string): NamedClass {
  if (typeof workflow === 'function') {
    const definition = definitionOf(workflow as unknown as DeclaringClass)
    return { type: definition.type, definition }
  }
  const mistake = mistakeInStoredName(workflow)
  if (mistake === null) return { type: workflow as string, definition: null }
  throw new InvalidGraphError(
    `${where}: \`workflow\` must be a workflow class, or the name under which it is stored, which ${mistake}.`,
  )
}

/** Throws `InvalidGraphError` for what no child can be started with. */
export function checkChildArgs(args: unknown, where: string): ChildArgs {
  if (!isPlainObject(args)) {
    throw new InvalidGraphError(`${where}: a child is started with { hero, input }, or waits for { workflowId }.`)
  }
  refuseUnknownKeys(args as object, childArgs, `${where}: what it is started with`)
  const { hero, input, workflowId } = args as ChildArgs
  if (workflowId !== undefined) {
    if (hero !== undefined || input !== undefined) {
      throw new InvalidGraphError(`${where}: it waits for a workflow that exists, so it has no \`hero\` or \`input\`.`)
    }
    if (typeof workflowId !== 'string' && !(workflowId instanceof OutputReference)) {
      throw new InvalidGraphError(`${where}: \`workflowId\` must be a text, or the output of a node.`)
    }
  }
  if (!isHeroLike(hero)) {
    throw new InvalidGraphError(
      `${where}: it takes its hero as a reference, like \`Orders.ref(id)\`, or as { heroType, id } with outputs in it.`,
    )
  }
  return args as ChildArgs
}

function isHeroLike(hero: unknown): boolean {
  if (hero === undefined || hero === null || hero instanceof OutputReference || isHeroRef(hero)) return true
  if (!isPlainObject(hero)) return false
  const { heroType, id } = hero as { heroType?: unknown; id?: unknown }
  return typeof heroType === 'string' && (id instanceof OutputReference || isHeroId(id))
}

function isHeroId(id: unknown): boolean {
  return typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint'
}

/** A first look, where the class and all that it is started with are there. The node checks again when it is due. */
export function checkChildStart({ hero, input, workflowId }: ChildArgs, definition: WorkflowDefinition, where: string) {
  if (workflowId !== undefined) return
  try {
    identifyHero(definition, heroFrom(hero))
  } catch (error) {
    if (isGenevaError(error, 'HERO_TYPE')) throw new InvalidGraphError(`${where}: ${error.message}`)
    throw error
  }
  const result = definition.inputSchema?.['~standard'].validate(input ?? {})
  if (result instanceof Promise) result.catch(() => undefined)
  else if (result?.issues) {
    const list = result.issues.map(toInputIssue).map(({ path, message }) => (path ? `${path}: ${message}` : message))
    throw new InvalidGraphError(`${where}: its input is not what ${definition.type} takes: ${list.join('; ')}.`)
  } else if (input !== undefined && definition.inputSchema === null && !isPlainObject(input)) {
    throw new InvalidGraphError(`${where}: the input for ${definition.type} must be a plain object.`)
  }
}

/** What was stored, with its hero as a reference again. Throws `HeroTypeError`. */
export function heroFrom(hero: unknown): unknown {
  return hero === undefined || hero === null ? hero : heroRefFrom(hero)
}
