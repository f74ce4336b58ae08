/**
 * From declarations to a graph: binds the chain after all insertions, resolves names and references, and refuses what
 * cannot run. "The one before" is resolved here and never stored.
 */
import { createHash } from 'node:crypto'
import { DefinitionError } from '../errors.ts'
import type { Declarations, DeclaredNode } from './declarations.ts'
import { cycleIn, Graph, type GraphNode } from './graph.ts'
import type { Dependency, NodeDefinition } from './workflow-definition.ts'

export function graphFrom(declarations: Declarations, type: string): Graph {
  let previous: string | null = null
  const nodes: GraphNode[] = []
  for (const declared of declarations.nodes) {
    nodes.push(graphNode(declarations, declared.definition, dependenciesOf(declarations, declared, previous)))
    if (declared.definition.inChain) previous = declared.definition.name
  }
  const cycle = cycleIn(nodes)
  if (cycle !== null) {
    throw new DefinitionError(
      `${declarations.className}: its steps wait for each other in a circle: ${cycle.join(' → ')}. Take one of the dependencies away.`,
    )
  }
  const { queue, priority, renamed, deadlineMs, onDeadline } = declarations
  return new Graph({
    type,
    queue,
    priority,
    nodes,
    ...(renamed.size > 0 ? { renamed: Object.fromEntries(renamed) } : {}),
    ...(deadlineMs === null ? {} : { deadlineMs }),
    ...(onDeadline === 'cancel' ? {} : { onDeadline }),
  })
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
  ])
  // A map of former names changes how a workflow heals, so code with one is other code.
  const named = renamed.size === 0 ? shape : [shape, [...renamed].toSorted()]
  return createHash('sha256').update(JSON.stringify(named)).digest('hex')
}

function dependenciesOf(declarations: Declarations, { definition }: DeclaredNode, previous: string | null): string[] {
  const { dependsOn, alsoDependsOn, inChain } = definition
  const fromChain = inChain && dependsOn === null && previous !== null ? [previous] : []
  const named = [...(dependsOn ?? []), ...alsoDependsOn].map(dependency =>
    resolve(declarations, definition, dependency),
  )
  return [...new Set([...fromChain, ...named])]
}

/** A reference must be one of this class or its parents: another class may have a node of the same name. */
function resolve(declarations: Declarations, node: NodeDefinition, dependency: Dependency): string {
  const where = `${declarations.className}, step ${node.name}`
  const found = declarations.nodes.find(({ definition, ref }) =>
    typeof dependency === 'string' ? definition.name === dependency : ref === dependency,
  )
  if (!found) {
    const names = declarations.nodes.map(({ definition }) => definition.name).join(', ')
    const shown = typeof dependency === 'string' ? JSON.stringify(dependency) : 'a step of another class'
    throw new DefinitionError(`${where}: it depends on ${shown}, which is not declared. Declared are: ${names}.`)
  }
  if (found.definition.name === node.name) throw new DefinitionError(`${where}: it depends on itself.`)
  return found.definition.name
}

function graphNode(declarations: Declarations, node: NodeDefinition, dependsOn: readonly string[]): GraphNode {
  const { name, kind, waitMs, each, metadata } = node
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
  }
}
