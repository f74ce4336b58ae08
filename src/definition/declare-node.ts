/** The verbs that add a node: `step`, `resumableStep`, `task`, `each`, `child`, `job` and `inline`. Mistakes are raised at once, naming class and step. */
import { DefinitionError } from '../errors.ts'
import { type Declarations, type DeclaringClass, openDeclarations } from './declarations.ts'
import { childSettings, dependenciesIn, eachSettings, metadataIn } from './dependency-options.ts'
import { inOrderOfTrial, normalizeRules } from './exception-policy.ts'
import { defaultsOf, jobBody, jobOptionsIn } from './job-node.ts'
import { mistakeInNodeName } from './node-name.ts'
import type { NodeRef } from './node-ref.ts'
import {
  definedDuration,
  definedPriority,
  definedQueue,
  definedTest,
  definedTimeout,
  refuseUnknownKeys,
} from './option-checks.ts'
import { resumableSettings } from './resumable-settings.ts'
import { normalizeRetry } from './retry-policy.ts'
import type { Condition, ExceptionRule, NodeDefinition } from './workflow-definition.ts'

/** The options of a step before they are checked; the compiler has seen better, plain JavaScript has not. */
type RawOptions = Readonly<Record<string, unknown>>

const taskOptions = [
  'wait',
  'if',
  'skipIf',
  'onException',
  'retry',
  'timeout',
  'dependsOn',
  'queue',
  'priority',
  'metadata',
]
const stepOptions = [...taskOptions, 'alsoDependsOn', 'beforeStep', 'afterStep']
const iterationOptions = ['yieldEvery', 'maxRuntime', 'maxIterations', 'checkpoint']
/** What only a member of the chain can say. */
const chainOptions = ['alsoDependsOn', 'beforeStep', 'afterStep']
const optionsFor = {
  step: stepOptions,
  resumable: [...stepOptions, ...iterationOptions],
  each: [...stepOptions, 'items', 'concurrency'],
  child: [...stepOptions, 'workflow', 'start'],
}

export function declareStep(workflowClass: DeclaringClass, name: unknown, options: unknown): NodeRef<any> {
  const declarations = openDeclarations(workflowClass)
  const checked = freeName(declarations, name)
  return addNode(declarations, { name: checked, kind: 'step', body: checked, inChain: true }, options)
}

/** A task that is `resumable` iterates like a resumable step. */
export function declareTask(workflowClass: DeclaringClass, name: unknown, options: unknown): NodeRef<any> {
  const declarations = openDeclarations(workflowClass)
  const checked = freeName(declarations, name)
  const { resumable = false, ...rest } = (options ?? {}) as { resumable?: unknown }
  if (typeof resumable !== 'boolean') {
    throw new DefinitionError(`${declarations.className}, task ${checked}: \`resumable\` must be true or false.`)
  }
  const kind = resumable ? 'resumable' : 'step'
  return addNode(declarations, { name: checked, kind, body: checked, inChain: false }, rest)
}

/** One execution for each item that is there when the node is reached. */
export function declareEach(workflowClass: DeclaringClass, name: unknown, options: unknown): NodeRef<any> {
  const declarations = openDeclarations(workflowClass)
  const checked = freeName(declarations, name)
  return addNode(declarations, { name: checked, kind: 'each', body: checked, inChain: true }, options)
}

export function declareChild(workflowClass: DeclaringClass, name: unknown, options: unknown): NodeRef<any> {
  const declarations = openDeclarations(workflowClass)
  const checked = freeName(declarations, name)
  return addNode(declarations, { name: checked, kind: 'child', body: checked, inChain: true }, options)
}

/** A step whose code is a job, with arguments that the workflow gives. */
export function declareJob(workflowClass: DeclaringClass, name: unknown, options: unknown): NodeRef<any> {
  const declarations = openDeclarations(workflowClass)
  const checked = freeName(declarations, name)
  const where = `${declarations.className}, job ${checked}`
  const { job, args, ...rest } = jobOptionsIn(options, where)
  const body = jobBody(job, { name: checked, metadata: rest.metadata }, args)
  const node = { name: checked, kind: 'step', body, inChain: true, inherited: job.onException } as const
  return addNode(declarations, node, { ...defaultsOf(job), ...rest })
}

/** One execution of a job for each item, which is its arguments. */
export function declareEachJob(workflowClass: DeclaringClass, name: unknown, options: unknown): NodeRef<any> {
  const declarations = openDeclarations(workflowClass)
  const checked = freeName(declarations, name)
  const where = `${declarations.className}, each ${checked}`
  const { job, ...rest } = jobOptionsIn(options, where)
  const body = jobBody(job, { name: checked, metadata: rest.metadata }, (_: unknown, item: unknown) => item)
  const node = { name: checked, kind: 'each', body, inChain: true, inherited: job.onException } as const
  return addNode(declarations, node, { ...defaultsOf(job), ...rest })
}

export function declareResumableStep(workflowClass: DeclaringClass, name: unknown, options: unknown): NodeRef<any> {
  const declarations = openDeclarations(workflowClass)
  const checked = freeName(declarations, name)
  return addNode(declarations, { name: checked, kind: 'resumable', body: checked, inChain: true }, options)
}

/** Takes `(body)`, `(name or options, body)` or `(name, options, body)`. */
export function declareInline(workflowClass: DeclaringClass, given: readonly unknown[]): NodeRef<any> {
  const declarations = openDeclarations(workflowClass)
  const body = given.at(-1)
  const first = given.length > 1 ? given[0] : undefined
  const named = given.length === 3 || typeof first === 'string'
  const options = given.length === 3 ? given[1] : named ? undefined : first
  const name = named ? freeName(declarations, first) : `step_${declarations.anonymousSteps + 1}`
  if (typeof body !== 'function' || given.length > 3) {
    throw new DefinitionError(
      `${declarations.className}, step ${name}: inline takes (body), (name, body) or (name, options, body).`,
    )
  }
  const ref = addNode(
    declarations,
    { name, kind: 'step', body: body as NodeDefinition['body'], inChain: true },
    options,
  )
  if (!named) declarations.anonymousSteps++
  return ref
}

function addNode(
  declarations: Declarations,
  {
    inherited = [],
    ...node
  }: Pick<NodeDefinition, 'name' | 'kind' | 'body' | 'inChain'> & {
    /** What its job says, where the node says nothing itself. */
    readonly inherited?: readonly ExceptionRule[]
  },
  given: unknown,
): NodeRef<any> {
  const { name } = node
  const where = `${declarations.className}, step ${name}`
  const known = optionsFor[node.kind].filter(option => node.inChain || !chainOptions.includes(option))
  const options = optionsIn(given, known, where)
  const { wait, onException, retry, timeout, queue, priority } = options
  const definition: NodeDefinition = Object.freeze({
    ...node,
    dependsOn: dependenciesIn(options, 'dependsOn', where),
    alsoDependsOn: dependenciesIn(options, 'alsoDependsOn', where) ?? [],
    each: node.kind === 'each' ? eachSettings(options, where) : null,
    child: node.kind === 'child' ? childSettings(options, where) : null,
    metadata: metadataIn(options.metadata, where),
    resumable: node.kind === 'resumable' ? resumableSettings(options, where) : null,
    waitMs: wait === undefined ? 0 : definedDuration(wait, 'the wait', where),
    condition: conditionIn(options, where),
    onException: Object.freeze(
      onException === undefined ? inherited : inOrderOfTrial(normalizeRules(onException, where)),
    ),
    retry: retry === undefined ? null : normalizeRetry(retry, where),
    timeoutMs: timeout === undefined ? null : definedTimeout(timeout, where),
    queue: queue === undefined ? null : definedQueue(queue, where),
    priority: priority === undefined ? null : definedPriority(priority, where),
  })
  const ref = Object.freeze({ name }) as NodeRef<any>
  declarations.nodes.splice(positionIn(declarations, options, where), 0, { definition, ref })
  return ref
}

function optionsIn(given: unknown, known: readonly string[], where: string): RawOptions {
  if (given === undefined) return {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new DefinitionError(
      `${where}: the options must be an object. A step with its code in place is declared with \`inline\`.`,
    )
  }
  refuseUnknownKeys(given, known, where)
  return given as RawOptions
}

function freeName(declarations: Declarations, name: unknown): string {
  const mistake = mistakeInNodeName(name)
  if (mistake !== null) {
    const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 60)) : `(${typeof name})`
    throw new DefinitionError(`${declarations.className}, step ${shown}: ${mistake}. Choose another name.`)
  }
  if (declarations.nodes.some(node => node.definition.name === name)) {
    throw new DefinitionError(
      `${declarations.className}, step ${name}: there is a step of that name already, here or in a parent class. Override the method to change what an inherited step does.`,
    )
  }
  return name as string
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

function positionIn(declarations: Declarations, options: RawOptions, where: string): number {
  const { beforeStep, afterStep } = options
  if (beforeStep !== undefined && afterStep !== undefined) {
    throw new DefinitionError(`${where}: it has both \`beforeStep\` and \`afterStep\`. Use one.`)
  }
  if (beforeStep !== undefined) return indexOfNode(declarations, beforeStep, `${where}: beforeStep`)
  if (afterStep !== undefined) return indexOfNode(declarations, afterStep, `${where}: afterStep`) + 1
  return declarations.nodes.length
}

/** A reference must be one of this class or its parents: another class may have a node of the same name. */
function indexOfNode(declarations: Declarations, target: unknown, where: string): number {
  const byName = typeof target === 'string'
  const index = declarations.nodes.findIndex(node => (byName ? node.definition.name === target : node.ref === target))
  if (index >= 0 && declarations.nodes[index]?.definition.inChain) return index
  if (index >= 0) {
    throw new DefinitionError(
      `${where} names ${JSON.stringify(declarations.nodes[index]?.definition.name)}, a task, which has no place in the chain.`,
    )
  }
  const names = declarations.nodes.map(node => node.definition.name).join(', ') || 'none'
  const shown = byName ? JSON.stringify(target) : 'a step of another class'
  throw new DefinitionError(`${where} names ${shown}, which is not declared so far. Declared are: ${names}.`)
}
