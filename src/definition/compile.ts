/**
 * From declarations to a `WorkflowDefinition`. This is where a class is registered: what could not be seen in its
 * static block is checked here, and from here on it takes no more declarations.
 */
import { DefinitionError } from '../errors.ts'
import { type Declarations, type DeclaringClass, declarationsOf } from './declarations.ts'
import { inOrderOfTrial } from './exception-policy.ts'
import { mistakeInStoredName, workflowMembers } from './node-name.ts'
import { graphFrom, signatureOf } from './resolve-dependencies.ts'
import type { Test, WorkflowDefinition } from './workflow-definition.ts'

/** The definition of a class; the same object each time. Throws `DefinitionError` for a class that cannot run. */
export function definitionOf(workflowClass: DeclaringClass): WorkflowDefinition {
  const declarations = declarationsOf(workflowClass)
  if (declarations.compiled) return declarations.compiled
  if (ownPrototypes(workflowClass).length === 0) {
    throw new DefinitionError('Workflow itself cannot be registered. Register classes that extend it.')
  }
  checkConstructor(workflowClass, declarations)
  checkMembers(workflowClass, declarations)
  checkMethods(workflowClass, declarations)
  checkResult(declarations)
  const definition = compile(workflowClass, declarations)
  declarations.compiled = definition
  declarations.sealed ??= 'it has been registered'
  return definition
}

function compile(workflowClass: DeclaringClass, declarations: Declarations): WorkflowDefinition {
  const nodes = Object.freeze(declarations.nodes.map(node => node.definition))
  const type = storedType(workflowClass, declarations)
  const graph = graphFrom(declarations, type)
  checkRenamed(declarations)
  return Object.freeze({
    type,
    formerTypes: declarations.formerTypes,
    workflowClass,
    nodes,
    nodeIndex: new Map(nodes.map((node, index) => [node.name, index])),
    graph,
    signature: signatureOf(graph),
    heroTypes: declarations.heroTypes,
    mayOutliveHero: declarations.mayOutliveHero,
    inputSchema: declarations.inputSchema,
    cancelIf: Object.freeze([...declarations.cancelIf]),
    onException: Object.freeze(inOrderOfTrial(declarations.onException)),
    retry: declarations.retry,
    timeoutMs: declarations.timeoutMs,
    stopGraceMs: declarations.stopGraceMs,
    queue: declarations.queue,
    priority: declarations.priority,
    limits: declarations.limits,
    allowMultiple: declarations.allowMultiple,
    resultNode: declarations.resultNode,
    beforeEach: Object.freeze([...declarations.beforeEach]),
    afterEach: Object.freeze([...declarations.afterEach]),
    aroundEach: Object.freeze([...declarations.aroundEach]),
  })
}

function storedType(workflowClass: DeclaringClass, declarations: Declarations): string {
  const type = declarations.type ?? workflowClass.name
  const mistake = mistakeInStoredName(type)
  if (mistake === null) return type
  throw new DefinitionError(
    `${declarations.className}: its stored name ${mistake}. Give the class a name, or call \`this.named('...')\` in its static block.`,
  )
}

function checkConstructor(workflowClass: DeclaringClass, { className }: Declarations): void {
  if (workflowClass.length === 0) return
  throw new DefinitionError(
    `${className}: its constructor asks for arguments, but an instance is made for each step without any.`,
  )
}

/** The classes between this one and `Workflow` must not redefine what the engine relies on. */
function checkMembers(workflowClass: DeclaringClass, { className }: Declarations): void {
  for (const prototype of ownPrototypes(workflowClass)) {
    const hidden = Object.getOwnPropertyNames(prototype).find(name => workflowMembers.has(name))
    if (hidden) throw new DefinitionError(`${className}: its member ${hidden} hides Workflow's own. Rename it.`)
  }
}

function checkMethods(workflowClass: DeclaringClass, declarations: Declarations): void {
  const { className } = declarations
  for (const { definition } of declarations.nodes) {
    if (typeof definition.body === 'string' && !hasMethod(workflowClass, definition.body)) {
      throw new DefinitionError(
        `${className}, step ${definition.name}: there is no such method. Write it as a method, not as a field with an arrow function.`,
      )
    }
    const items = definition.each?.items
    if (typeof items === 'string' && !hasMethod(workflowClass, items)) {
      throw new DefinitionError(
        `${className}, each ${definition.name}: its items name the method ${JSON.stringify(items)}, which does not exist.`,
      )
    }
    if (definition.condition)
      checkTest(workflowClass, definition.condition.test, `${className}, step ${definition.name}`)
  }
  checkUndoing(workflowClass, declarations)
  for (const test of declarations.cancelIf) checkTest(workflowClass, test, `${className}, cancelIf`)
}

/** What undoes a step never runs forward: a method that is both would be called in either direction. */
function checkUndoing(workflowClass: DeclaringClass, { className, nodes }: Declarations): void {
  const steps = new Map(nodes.map(({ definition }) => [definition.body, definition.name]))
  for (const { definition } of nodes) {
    const { name, compensation, reconcile } = definition
    const where = `${className}, step ${name}`
    for (const [option, method] of [
      ['compensate', compensation?.method],
      ['reconcile', reconcile],
    ]) {
      if (!method || hasMethod(workflowClass, method)) continue
      throw new DefinitionError(
        `${where}: its ${option} names the method ${JSON.stringify(method)}, which does not exist.`,
      )
    }
    const step = compensation ? steps.get(compensation.method) : undefined
    if (step !== undefined) {
      throw new DefinitionError(
        `${where}: its compensation ${compensation?.method} is the method of step ${step} as well. What undoes a step never runs forward: write another method.`,
      )
    }
  }
}

function checkTest(workflowClass: DeclaringClass, test: Test, where: string): void {
  if (typeof test !== 'string' || hasMethod(workflowClass, test)) return
  throw new DefinitionError(`${where}: its condition names the method ${JSON.stringify(test)}, which does not exist.`)
}

/** A name that is still in use cannot be a former one, and a map to nowhere helps nobody. */
function checkRenamed({ className, renamed, nodes }: Declarations): void {
  const names = new Set(nodes.map(node => node.definition.name))
  for (const [from, to] of renamed) {
    if (names.has(from))
      throw new DefinitionError(`${className}: ${from} is a former name in \`this.renamed(...)\`, yet a step has it.`)
    if (!names.has(to))
      throw new DefinitionError(`${className}: \`this.renamed(...)\` maps ${from} to ${to}, which is not declared.`)
  }
}

function checkResult({ className, resultNode, nodes }: Declarations): void {
  if (resultNode === null || nodes.some(node => node.definition.name === resultNode)) return
  throw new DefinitionError(
    `${className}: its result is that of step ${JSON.stringify(resultNode)}, which is not declared.`,
  )
}

/** Looks at descriptors, since reading a getter on a prototype would run it without an instance. */
function hasMethod(workflowClass: DeclaringClass, name: string): boolean {
  for (const prototype of ownPrototypes(workflowClass)) {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name)
    if (descriptor) return typeof descriptor.value === 'function'
  }
  return false
}

/** The prototypes of the class and its parents, without `Workflow`'s. */
function ownPrototypes(workflowClass: DeclaringClass): object[] {
  const prototypes: object[] = []
  for (let current = workflowClass; current.prototype; current = Object.getPrototypeOf(current)) {
    prototypes.push(current.prototype)
  }
  return prototypes.slice(0, -1)
}
