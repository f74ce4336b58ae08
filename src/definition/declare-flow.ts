/**
 * The verbs that add structure: `fork`, `parallel`, `join`, `condition`, `savePoint`, and `node` to point at such a node.
 * Branches are described by functions, which run here and at once.
 */
import { DefinitionError } from '../errors.ts'
import { addNode, givenOptions } from './add-node.ts'
import { joinSuffix } from './bind-branches.ts'
import type { Branch } from './branch.ts'
import * as code from './declare-node.ts'
import { declareHuman, declareWaitFor } from './declare-wait.ts'
import { dependenciesIn } from './dependency-options.ts'
import { joinRule } from './join-rule.ts'
import { longestNames } from './node-name.ts'
import type { NodeRef } from './node-ref.ts'
import { behind, freeName, type Place } from './place.ts'
import type { BranchScope, NodeDefinition } from './workflow-definition.ts'

export function declareSavePoint(place: Place, name: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name)
  return addNode(place, { name: checked, kind: 'savePoint', body: null, inChain: true }, options)
}

/** Takes `(method, branches)` or `(name, test, branches)`. */
export function declareCondition(place: Place, name: unknown, given: readonly unknown[]): NodeRef<any> {
  const checked = freeName(place, name)
  const where = `${place.declarations.className}, condition ${checked}`
  const body = given.length > 1 ? given[0] : checked
  if (given.length > 2 || (given.length > 1 && typeof body !== 'function')) {
    throw new DefinitionError(`${where}: it takes (method, branches) or (name, test, branches).`)
  }
  // `then` is a word of this option, and the object is never awaited.
  const { then: taken, else: otherwise, ...rest } = givenOptions(given.at(-1), where)
  if (taken === undefined && otherwise === undefined) {
    throw new DefinitionError(`${where}: it has no branch. Give it \`then\`, \`else\` or both.`)
  }
  const node = { name: checked, kind: 'condition', body: body as NodeDefinition['body'], inChain: true } as const
  const ref = addNode(place, node, rest)
  for (const [branch, describe] of Object.entries({ then: taken, else: otherwise })) {
    if (describe !== undefined) describeBranch(place, { opener: checked, name: branch }, describe)
  }
  return ref
}

export function declareFork(place: Place, name: unknown, branches: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name, longestNames.fork)
  const where = `${place.declarations.className}, fork ${checked}`
  if (typeof branches !== 'object' || branches === null || Array.isArray(branches)) {
    throw new DefinitionError(`${where}: its branches are an object, like { goods: b => ..., papers: b => ... }.`)
  }
  const entries = Object.entries(branches)
  refuseOneBranch(entries.length, where)
  const { join, ...rest } = givenOptions(options, where)
  const ref = addNode(place, { name: checked, kind: 'fork', body: null, inChain: true }, rest)
  for (const [branch, describe] of entries) describeBranch(place, { opener: checked, name: branch }, describe)
  addJoinOf(place, checked, join, entries.length)
  return ref
}

/** Each direct member is a branch of its own. */
export function declareParallel(place: Place, name: unknown, describe: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name, longestNames.fork)
  const where = `${place.declarations.className}, parallel ${checked}`
  const { join, ...rest } = givenOptions(options, where)
  const ref = addNode(place, { name: checked, kind: 'fork', body: null, inChain: true }, rest)
  const { declarations } = place
  const members: Place = { declarations, scopeOf: member => Object.freeze({ opener: checked, name: member }) }
  describing(members, describe, where)
  const count = declarations.nodes.filter(({ definition }) => isMember(definition, checked)).length
  refuseOneBranch(count, where)
  addJoinOf(place, checked, join, count)
  return ref
}

export function declareJoin(place: Place, name: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name)
  const where = `${place.declarations.className}, join ${checked}`
  const { rule, ...rest } = givenOptions(options, where)
  const waitsFor = dependenciesIn(rest, 'dependsOn', where) ?? []
  if (waitsFor.length === 0) {
    throw new DefinitionError(`${where}: it must say what comes together: { dependsOn: [...] }.`)
  }
  if (rest.alsoDependsOn !== undefined) {
    throw new DefinitionError(`${where}: what a join waits for stands in \`dependsOn\`, all of it.`)
  }
  const branches = Object.freeze(waitsFor.map(dependency => Object.freeze([dependency])))
  const join = Object.freeze({ rule: joinRule(rule, branches.length, where), branches })
  return addNode(place, { name: checked, kind: 'join', body: null, inChain: true, join }, rest)
}

/** A node without a method, of this class or a parent, by its name. */
export function declaredNode({ declarations }: Place, name: unknown): NodeRef<any> {
  const found = declarations.nodes.find(({ definition }) => definition.name === name)
  if (found) return found.ref
  const names = declarations.nodes.map(({ definition }) => definition.name).join(', ') || 'none'
  throw new DefinitionError(
    `${declarations.className}: \`this.node(...)\` names ${JSON.stringify(name)}, which is not declared so far. Declared are: ${names}.`,
  )
}

function refuseOneBranch(count: number, where: string): void {
  if (count >= 2) return
  throw new DefinitionError(`${where}: it has ${count === 0 ? 'no branch' : 'one branch'}. A fork needs at least two.`)
}

/** It stands behind all branches, as the last part of the fork. */
function addJoinOf(place: Place, fork: string, given: unknown, branches: number): void {
  if (given === false) return
  const { declarations } = place
  const rule = joinRule(given, branches, `${declarations.className}, fork ${fork}`)
  const join = Object.freeze({ rule, branches: null })
  const node = { name: fork + joinSuffix, kind: 'join', body: null, inChain: false, join } as const
  addNode(place, node, {}, behind(declarations, fork))
}

function isMember({ scope }: NodeDefinition, opener: string): boolean {
  return scope?.opener === opener
}

function describeBranch({ declarations }: Place, scope: BranchScope, describe: unknown): void {
  const where = `${declarations.className}, branch ${scope.name} of ${scope.opener}`
  const frozen = Object.freeze(scope)
  describing({ declarations, scopeOf: () => frozen }, describe, where)
  const members = declarations.nodes.filter(({ definition }) => isMember(definition, scope.opener))
  if (members.some(({ definition }) => definition.scope?.name === scope.name)) return
  throw new DefinitionError(
    `${where}: it is empty. Call the verbs of what the function receives: \`b => b.step(...)\`.`,
  )
}

/** Runs the function that describes a branch. What it received takes nothing more afterwards. */
function describing(place: Place, describe: unknown, where: string): void {
  if (typeof describe !== 'function') {
    throw new DefinitionError(`${where}: it must be a function, like b => b.step(...).`)
  }
  let open = true
  const checked: Place = {
    ...place,
    scopeOf: node => {
      if (open) return place.scopeOf(node)
      throw new DefinitionError(`${where}: it has been described, and takes no more steps.`)
    },
  }
  const returned: unknown = describe(branchAt(checked, where))
  open = false
  if (typeof (returned as PromiseLike<unknown> | undefined)?.then === 'function') {
    Promise.resolve(returned).catch(() => undefined)
    throw new DefinitionError(`${where}: its function returned a promise. Branches are described at once.`)
  }
}

function branchAt(place: Place, where: string): Branch<any> & { savePoint(): never } {
  const verbs = {
    step: (name: unknown, options?: unknown) => code.declareStep(place, name, options),
    transactionalStep: (name: unknown, options?: unknown) => code.declareTransactionalStep(place, name, options),
    resumableStep: (name: unknown, options?: unknown) => code.declareResumableStep(place, name, options),
    task: (name: unknown, options?: unknown) => code.declareTask(place, name, options),
    each: (name: unknown, options?: unknown) => code.declareEach(place, name, options),
    job: (name: unknown, options?: unknown) => code.declareJob(place, name, options),
    eachJob: (name: unknown, options?: unknown) => code.declareEachJob(place, name, options),
    child: (name: unknown, options?: unknown) => code.declareChild(place, name, options),
    human: (name: unknown, options?: unknown) => declareHuman(place, name, options),
    waitFor: (name: unknown, options?: unknown) => declareWaitFor(place, name, options),
    inline: (...given: unknown[]) => code.declareInline(place, given),
    condition: (name: unknown, ...given: unknown[]) => declareCondition(place, name, given),
    fork: (name: unknown, branches: unknown, options?: unknown) => declareFork(place, name, branches, options),
    parallel: (name: unknown, members: unknown, options?: unknown) => declareParallel(place, name, members, options),
    join: (name: unknown, options: unknown) => declareJoin(place, name, options),
    node: (name: unknown) => declaredNode(place, name),
    savePoint(): never {
      throw new DefinitionError(
        `${where}: a save point cannot stand in a branch, because a rollback stops for the whole workflow. Put it before or behind.`,
      )
    },
  }
  return Object.freeze(verbs) as unknown as Branch<any> & { savePoint(): never }
}
