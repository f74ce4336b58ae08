/**
 * From declarations to a graph, and to the signature that tells graphs apart. Refuses what cannot run: circles, and ways
 * back that would leave something behind.
 */
import { createHash } from 'node:crypto'
import { DefinitionError } from '../errors.ts'
import { mistakeInBackTo } from './back-to.ts'
import { type Bound, bindBranches, type FlowNode, joinSuffix } from './bind-branches.ts'
import { type Declarations, defaultStopGraceMs } from './declarations.ts'
import { cycleIn, Graph, type GraphCompensation, type GraphNode } from './graph.ts'
import type { CompensationSettings, Dependency, NodeDefinition } from './workflow-definition.ts'

export function graphFrom(declarations: Declarations, type: string): Graph {
  const refuse = ({ name, kind }: FlowNode, mistake: string) =>
    new DefinitionError(`${declarations.className}, ${kind} ${name}: ${mistake}`)
  const bound = bindBranches(flowNodes(declarations), refuse)
  const nodes = declarations.nodes.map(({ definition }) =>
    graphNode(declarations, definition, bound.get(definition.name) ?? { dependsOn: [] }),
  )
  const cycle = cycleIn(nodes)
  if (cycle !== null) {
    throw new DefinitionError(
      `${declarations.className}: its steps wait for each other in a circle: ${cycle.join(' → ')}. Take one of the dependencies away.`,
    )
  }
  const { queue, priority, deadlineMs, onDeadline, stopGraceMs, onMissingStep } = declarations
  const renamed = renamedIn(declarations)
  const graph = new Graph({
    type,
    queue,
    priority,
    nodes,
    ...(renamed === null ? {} : { renamed }),
    ...(deadlineMs === null ? {} : { deadlineMs }),
    ...(onDeadline === 'cancel' ? {} : { onDeadline }),
    ...(stopGraceMs === defaultStopGraceMs ? {} : { stopGraceMs }),
    ...(onMissingStep === 'pause' ? {} : { onMissingStep }),
  })
  const mistake = mistakeInBackTo(graph)
  if (mistake !== null) throw new DefinitionError(`${declarations.className}, ${mistake}`)
  return graph
}

/** The nodes of each chain and branch with what they name, or the member before: bound after all insertions. */
function flowNodes(declarations: Declarations): FlowNode[] {
  const previous = new Map<string, string>()
  return declarations.nodes.map(({ definition }) => {
    const { name, kind, scope, inChain, dependsOn, alsoDependsOn, join } = definition
    const chain = scope === null ? '' : JSON.stringify([scope.opener, scope.name])
    const before = previous.get(chain)
    const fromChain = inChain && dependsOn === null && before !== undefined ? [before] : []
    const named = [...(dependsOn ?? []), ...alsoDependsOn].map(each => resolve(declarations, definition, each))
    if (inChain) previous.set(chain, name)
    const joins = join !== null && join.branches === null ? name.slice(0, -joinSuffix.length) : null
    return {
      id: name,
      name,
      kind,
      scope,
      named: [...new Set([...fromChain, ...named])],
      rule: join?.rule ?? null,
      joins,
    }
  })
}

/** A reference must be one of this class or its parents: another class may have a node of the same name. */
function resolve({ className, nodes }: Declarations, node: NodeDefinition, dependency: Dependency): string {
  const where = `${className}, step ${node.name}`
  const found = nodes.find(({ definition, ref }) =>
    typeof dependency === 'string' ? definition.name === dependency : ref === dependency,
  )
  if (!found) {
    const names = nodes.map(({ definition }) => definition.name).join(', ')
    const shown = typeof dependency === 'string' ? JSON.stringify(dependency) : 'a step of another class'
    throw new DefinitionError(`${where}: it depends on ${shown}, which is not declared. Declared are: ${names}.`)
  }
  if (found.definition.name === node.name) throw new DefinitionError(`${where}: it depends on itself.`)
  return found.definition.name
}

/** The join of a fork goes by the name of the fork. */
function renamedIn({ renamed, nodes }: Declarations): Record<string, string> | null {
  if (renamed.size === 0) return null
  const joins = new Set(nodes.map(({ definition }) => definition.name).filter(name => name.endsWith(joinSuffix)))
  const ofJoins = [...renamed]
    .filter(([, to]) => joins.has(to + joinSuffix))
    .map(([from, to]) => [from + joinSuffix, to + joinSuffix] as const)
  return Object.fromEntries([...renamed, ...ofJoins])
}

/** Names, kinds and dependencies; not the order in which nodes without a dependency between them were declared. */
export function signatureOf({ nodes, renamed }: Graph): string {
  const sorted = nodes.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const shape = sorted.map(node => [
    node.id,
    node.kind,
    node.job ?? null,
    node.concurrency ?? null,
    node.dependsOn.toSorted(),
    ...furtherShape(node),
  ])
  // A map of former names changes how a workflow heals, so code with one is other code.
  const named = renamed.size === 0 ? shape : [shape, [...renamed].toSorted()]
  return createHash('sha256').update(JSON.stringify(named)).digest('hex')
}

/** Only where there is any, so that graphs without it keep the signatures that they had before it existed. */
function furtherShape({ guard, join, test, compensation, human, once }: GraphNode): unknown[] {
  const further = {
    ...(guard && { guard: [guard.condition, guard.when] }),
    ...(join && { join: [join.rule, join.branches.map(branch => branch.toSorted()).toSorted()] }),
    ...(test !== undefined && { test }),
    ...(compensation && { compensation }),
    ...(human && { human }),
    ...(once && { once: once.reconciles }),
  }
  return Object.keys(further).length === 0 ? [] : [further]
}

function compensationOf({ method, afterFailure, idempotent }: CompensationSettings): GraphCompensation {
  return { name: method, afterFailure, ...(idempotent ? {} : { once: true }) }
}

function graphNode(declarations: Declarations, node: NodeDefinition, bound: Bound): GraphNode {
  const { name, kind, waitMs, each, metadata, compensation, human, waitsFor, child } = node
  const waitTimeoutMs = (waitsFor ?? child)?.timeoutMs ?? null
  const { dependsOn, guard, join } = bound
  return {
    id: name,
    name,
    kind,
    waitMs,
    queue: node.queue ?? declarations.queue,
    priority: node.priority ?? declarations.priority,
    dependsOn,
    ...(each?.concurrency ? { concurrency: each.concurrency } : {}),
    ...(metadata ? { metadata } : {}),
    ...(guard ? { guard } : {}),
    ...(join ? { join } : {}),
    ...(compensation ? { compensation: compensationOf(compensation) } : {}),
    ...(human ? { human } : {}),
    ...(waitTimeoutMs === null ? {} : { waitTimeoutMs }),
    ...(node.idempotent ? {} : { once: { reconciles: node.reconcile !== null } }),
  }
}
