/** The verbs that say something about the whole class. Mistakes are raised at once, naming the class. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { DefinitionError } from '../errors.ts'
import { type DeclaringClass, openDeclarations, sayOnce } from './declarations.ts'
import { normalizeRules } from './exception-policy.ts'
import { deadlineActions } from './graph.ts'
import type { HeroType } from './hero.ts'
import { definedLimits } from './limit-options.ts'
import { mistakeInStoredName } from './node-name.ts'
import {
  definedDeadline,
  definedDuration,
  definedPriority,
  definedQueue,
  definedTest,
  definedTimeout,
  definedWord,
  refuseUnknownKeys,
} from './option-checks.ts'
import { normalizeRetry } from './retry-policy.ts'

export function declareHeroes(workflowClass: DeclaringClass, heroTypes: readonly HeroType<any, any>[]): void {
  const declarations = openDeclarations(workflowClass)
  const where = declarations.className
  sayOnce(declarations, 'heroes')
  const seen = new Set<string>()
  for (const heroType of heroTypes) {
    if (typeof heroType?.load !== 'function' || typeof heroType.type !== 'string') {
      throw new DefinitionError(
        `${where}: \`this.heroes(...)\` takes what defineHero returned. Was it imported in a circle?`,
      )
    }
    if (seen.has(heroType.type)) throw new DefinitionError(`${where}: the hero type ${heroType.type} is given twice.`)
    if (heroTypes.length > 1 && !heroType.recognizes) {
      throw new DefinitionError(
        `${where}: with several hero types, each must tell its records from others. Give \`is\` to defineHero('${heroType.type}', ...).`,
      )
    }
    seen.add(heroType.type)
  }
  declarations.heroTypes = Object.freeze([...heroTypes])
}

export function declareFlag(
  workflowClass: DeclaringClass,
  flag: 'mayOutliveHero' | 'allowMultiple',
  value: unknown,
): void {
  const declarations = openDeclarations(workflowClass)
  if (typeof value !== 'boolean')
    throw new DefinitionError(`${declarations.className}: \`this.${flag}(...)\` takes true, false or nothing.`)
  declarations[flag] = value
}

export function declareInput(workflowClass: DeclaringClass, schema: unknown): void {
  const declarations = openDeclarations(workflowClass)
  sayOnce(declarations, 'input')
  if (!isStandardSchema(schema)) {
    throw new DefinitionError(
      `${declarations.className}: \`this.input(...)\` takes a Standard Schema, as zod, valibot and arktype make them.`,
    )
  }
  declarations.inputSchema = schema
}

export function declareCancelIf(workflowClass: DeclaringClass, test: unknown): void {
  const declarations = openDeclarations(workflowClass)
  declarations.cancelIf.push(definedTest(test, 'cancelIf', declarations.className))
}

export function declareOnException(workflowClass: DeclaringClass, notation: unknown): void {
  const declarations = openDeclarations(workflowClass)
  declarations.onException.push(...normalizeRules(notation, `${declarations.className}, onException`))
}

export function declareJobOptions(workflowClass: DeclaringClass, options: unknown): void {
  const declarations = openDeclarations(workflowClass)
  const where = `${declarations.className}, jobOptions`
  if (typeof options !== 'object' || options === null)
    throw new DefinitionError(`${where}: the options must be an object.`)
  refuseUnknownKeys(options, ['queue', 'priority', 'concurrency', 'rate', 'perKey'], where)
  const { queue, priority, concurrency, rate, perKey } = options as Record<string, unknown>
  if (queue !== undefined) declarations.queue = definedQueue(queue, where)
  if (priority !== undefined) declarations.priority = definedPriority(priority, where)
  declarations.limits = definedLimits(declarations.limits, { concurrency, rate, perKey }, where)
}

/** What counts for every step that says nothing itself. */
export function declareDefaults(workflowClass: DeclaringClass, options: unknown): void {
  const declarations = openDeclarations(workflowClass)
  const where = `${declarations.className}, defaults`
  if (typeof options !== 'object' || options === null)
    throw new DefinitionError(`${where}: the options must be an object.`)
  refuseUnknownKeys(options, ['retry', 'timeout', 'stopGrace', 'deadline', 'onDeadline', 'onMissingStep'], where)
  const { retry, timeout, stopGrace, deadline, onDeadline, onMissingStep } = options as Record<string, unknown>
  if (stopGrace !== undefined) declarations.stopGraceMs = definedDuration(stopGrace, 'the stopGrace', where)
  if (timeout !== undefined) declarations.timeoutMs = definedTimeout(timeout, where)
  if (retry !== undefined) declarations.retry = normalizeRetry(retry, where)
  if (deadline !== undefined) declarations.deadlineMs = definedDeadline(deadline, where)
  if (onDeadline !== undefined)
    declarations.onDeadline = definedWord(onDeadline, deadlineActions, `${where}: onDeadline`)
  if (onMissingStep !== undefined)
    declarations.onMissingStep = definedWord(onMissingStep, ['pause', 'skip'], `${where}: onMissingStep`)
}

export function declareNamed(workflowClass: DeclaringClass, type: unknown, formerTypes: readonly unknown[]): void {
  const declarations = openDeclarations(workflowClass)
  sayOnce(declarations, 'named')
  const names = [type, ...formerTypes]
  for (const name of names) {
    const mistake = mistakeInStoredName(name)
    if (mistake !== null)
      throw new DefinitionError(`${declarations.className}: a name given to \`this.named(...)\` ${mistake}.`)
  }
  if (new Set(names).size < names.length) {
    throw new DefinitionError(`${declarations.className}: \`this.named(...)\` has the same name twice.`)
  }
  declarations.type = type as string
  declarations.formerTypes = Object.freeze([...(formerTypes as string[])])
}

/** Former names of steps, whose rows this code goes on with under the present ones. Several calls add up. */
export function declareRenamed(workflowClass: DeclaringClass, names: unknown): void {
  const declarations = openDeclarations(workflowClass)
  const where = `${declarations.className}, renamed`
  if (typeof names !== 'object' || names === null || Array.isArray(names)) {
    throw new DefinitionError(`${where}: it takes an object, like { oldName: 'newName' }.`)
  }
  const renamed = new Map(declarations.renamed)
  for (const [from, to] of Object.entries(names)) {
    const mistake = typeof to === 'string' ? mistakeInStoredName(from) : 'maps to something that is no name'
    if (mistake !== null) throw new DefinitionError(`${where}: ${JSON.stringify(from)} ${mistake}.`)
    renamed.set(from, to)
  }
  declarations.renamed = renamed
}

/** The step may be declared later, also by a subclass, so whether it exists is looked at when the class is registered. */
export function declareResult(workflowClass: DeclaringClass, step: unknown): void {
  const declarations = openDeclarations(workflowClass)
  sayOnce(declarations, 'result')
  const ref = declarations.nodes.find(node => node.ref === step)
  const name = ref ? ref.definition.name : step
  if (typeof name !== 'string')
    throw new DefinitionError(`${declarations.className}: \`this.result(...)\` takes the name of a step.`)
  declarations.resultNode = name
}

export function declareHook(
  workflowClass: DeclaringClass,
  verb: 'beforeEach' | 'afterEach' | 'aroundEach',
  hook: unknown,
): void {
  const declarations = openDeclarations(workflowClass)
  if (typeof hook !== 'function')
    throw new DefinitionError(`${declarations.className}: \`this.${verb}(...)\` takes a function.`)
  declarations[verb].push(hook as () => unknown)
}

/** Some libraries make their schemas callable, so a function will do. */
export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return false
  const standard = (value as Partial<StandardSchemaV1>)['~standard']
  return standard?.version === 1 && typeof standard.validate === 'function'
}
