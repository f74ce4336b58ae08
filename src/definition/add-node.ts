/** Adds one node to what a class declares, with its options checked. Mistakes are raised at once, naming class and step. */
import { DefinitionError } from '../errors.ts'
import { codeSettings } from './compensation-settings.ts'
import { childSettings, dependenciesIn, eachSettings, metadataIn } from './dependency-options.ts'
import { inOrderOfTrial, normalizeRules } from './exception-policy.ts'
import type { NodeRef } from './node-ref.ts'
import {
  definedDuration,
  definedPriority,
  definedQueue,
  definedTest,
  definedTimeout,
  refuseUnknownKeys,
} from './option-checks.ts'
import { type Place, positionIn } from './place.ts'
import { resumableSettings } from './resumable-settings.ts'
import { normalizeRetry } from './retry-policy.ts'
import type { Condition, ExceptionRule, NodeDefinition } from './workflow-definition.ts'

/** The options of a step before they are checked; the compiler has seen better, plain JavaScript has not. */
export type RawOptions = Readonly<Record<string, unknown>>

/** What the verb says itself. */
export interface NewNode extends Pick<NodeDefinition, 'name' | 'kind' | 'body' | 'inChain'> {
  /** What its job says, where the node says nothing itself. */
  readonly inherited?: readonly ExceptionRule[]
  readonly join?: NodeDefinition['join']
  readonly human?: NodeDefinition['human']
  readonly waitsFor?: NodeDefinition['waitsFor']
  readonly transactional?: boolean
}

/** What only a member of the chain can say. */
const chainOptions = ['alsoDependsOn', 'beforeStep', 'afterStep']
const structure = ['dependsOn', 'metadata', ...chainOptions]
const running = ['wait', 'onException', 'retry', 'timeout', 'queue', 'priority']
const step = [...running, 'if', 'skipIf', ...structure]
const optionsFor: Readonly<Record<NodeDefinition['kind'], readonly string[]>> = {
  step: [...step, 'compensate', 'idempotent', 'reconcile'],
  resumable: [...step, 'compensate', 'yieldEvery', 'maxRuntime', 'maxIterations', 'checkpoint'],
  each: [...step, 'compensate', 'items', 'concurrency'],
  child: [...step, 'compensate', 'workflow', 'start'],
  // How long they wait is said by other options, which their verbs have taken by now.
  human: [...step.filter(option => option !== 'timeout'), 'compensate'],
  signal: [...step.filter(option => option !== 'timeout'), 'compensate'],
  condition: [...running, ...structure],
  fork: structure,
  join: structure,
  savePoint: structure,
}

/** Puts it where its options say, unless an index is given. */
export function addNode(
  place: Place,
  { inherited = [], ...node }: NewNode,
  given: unknown,
  index?: number,
): NodeRef<any> {
  const { declarations } = place
  const { name, kind } = node
  const where = `${declarations.className}, step ${name}`
  const known = optionsFor[kind].filter(option => node.inChain || !chainOptions.includes(option))
  const options = optionsIn(given, known, where)
  const { wait, onException, retry, timeout, queue, priority } = options
  const own = onException === undefined ? null : inOrderOfTrial(normalizeRules(onException, where))
  const scope = place.scopeOf(name)
  const definition: NodeDefinition = Object.freeze({
    join: null,
    human: null,
    waitsFor: null,
    transactional: false,
    ...node,
    scope,
    dependsOn: dependenciesIn(options, 'dependsOn', where),
    alsoDependsOn: dependenciesIn(options, 'alsoDependsOn', where) ?? [],
    each: kind === 'each' ? eachSettings(options, where) : null,
    child: kind === 'child' ? childSettings(options, where) : null,
    metadata: metadataIn(options.metadata, where),
    ...codeSettings(options, own ?? [], { where, transactional: node.transactional ?? false }),
    resumable: kind === 'resumable' ? resumableSettings(options, where) : null,
    waitMs: wait === undefined ? 0 : definedDuration(wait, 'the wait', where),
    condition: conditionIn(options, where),
    onException: Object.freeze(own ?? inherited),
    retry: retry === undefined ? null : normalizeRetry(retry, where),
    // That of a child says how long it is waited for.
    timeoutMs: timeout === undefined || kind === 'child' ? null : definedTimeout(timeout, where),
    queue: queue === undefined ? null : definedQueue(queue, where),
    priority: priority === undefined ? null : definedPriority(priority, where),
  })
  const ref = Object.freeze({ name }) as NodeRef<any>
  declarations.nodes.splice(index ?? positionIn(declarations, scope, options, where), 0, { definition, ref })
  return ref
}

/** The options as an object of which nothing is known yet. */
export function givenOptions(given: unknown, where: string): RawOptions {
  if (given === undefined) return {}
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as RawOptions
  throw new DefinitionError(
    `${where}: the options must be an object. A step with its code in place is declared with \`inline\`.`,
  )
}

function optionsIn(given: unknown, known: readonly string[], where: string): RawOptions {
  const options = givenOptions(given, where)
  refuseUnknownKeys(options, known, where)
  return options
}

function conditionIn(options: RawOptions, where: string): Condition | null {
  const { if: runIf, skipIf } = options
  if (runIf !== undefined && skipIf !== undefined) {
    throw new DefinitionError(`${where}: it has both \`if\` and \`skipIf\`. Use one.`)
  }
  if (runIf !== undefined) return Object.freeze({ test: definedTest(runIf, 'if', where), runsWhen: true })
  if (skipIf !== undefined) return Object.freeze({ test: definedTest(skipIf, 'skipIf', where), runsWhen: false })
  return null
}
