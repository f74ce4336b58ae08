/**
 * Whether nodes form a graph that can run: names that tell them apart, edges between nodes that exist, no cycle, and no
 * reference to an output that cannot be there yet. Takes time in proportion to nodes and edges.
 */
import { InvalidGraphError } from '../errors.ts'
import { type AncestorPair, unmetPair } from './ancestors.ts'
import type { FrozenNodes } from './frozen-graph.ts'
import { cycleIn, type GraphNode, orderOf } from './graph.ts'

/** By the id of a node: ids of the nodes whose outputs its arguments refer to. */
export type References = ReadonlyMap<string, ReadonlySet<string>>

/** Throws `InvalidGraphError`, naming the nodes. */
export function checkStructure(frozen: FrozenNodes, references: References): void {
  const nodes = Object.entries(frozen).map(([id, { name, depends_on }]): GraphNode => {
    return { id, name, kind: 'step', waitMs: 0, queue: '', priority: 0, dependsOn: depends_on }
  })
  checkNames(nodes, frozen)
  for (const node of nodes) checkEdges(node, frozen)
  const { order, left } = isInOrder(nodes) ? { order: nodes, left: [] } : orderOf(nodes)
  if (left.length > 0) {
    throw new InvalidGraphError(
      `Nodes of the graph wait for each other in a circle, each for the one before: ${shown(cycleIn(nodes) ?? [])}. Take out one of these dependencies.`,
    )
  }
  checkReferences(order, frozen, references)
}

/** Each stands behind all that it depends on, as it does where graphs are written down from the beginning: then there is no circle. */
function isInOrder(nodes: readonly GraphNode[]): boolean {
  const before = new Set<string>()
  for (const { id, dependsOn } of nodes) {
    for (const parent of dependsOn) if (!before.has(parent)) return false
    before.add(id)
  }
  return true
}

/** A node as errors name it: the name for people, the id where there is more than one to mean. */
export function nodeCalled(name: string, id?: string): string {
  return id === undefined || id === name ? `Node ${JSON.stringify(name)}` : `Node ${JSON.stringify(name)} (${id})`
}

function checkNames(nodes: readonly GraphNode[], frozen: FrozenNodes): void {
  const seen = new Map<string, string>()
  for (const { id, name } of nodes) {
    const twin = seen.get(name)
    if (twin !== undefined) {
      throw new InvalidGraphError(`The nodes ${twin} and ${id} are both named ${JSON.stringify(name)}. Rename one.`)
    }
    seen.set(name, id)
    if (id !== name && Object.hasOwn(frozen, name)) {
      throw new InvalidGraphError(`${nodeCalled(name, id)} has the id of another node as its name. Rename it.`)
    }
  }
}

function checkEdges({ id, name, dependsOn }: GraphNode, frozen: FrozenNodes): void {
  for (const parent of dependsOn) {
    if (parent === id) throw new InvalidGraphError(`${nodeCalled(name, id)} depends on itself.`)
    if (!Object.hasOwn(frozen, parent)) {
      throw new InvalidGraphError(
        `${nodeCalled(name, id)} depends on ${JSON.stringify(parent)}, but no node has that id.`,
      )
    }
  }
}

function checkReferences(order: readonly GraphNode[], frozen: FrozenNodes, references: References): void {
  if (references.size === 0) return
  const pairs: AncestorPair[] = []
  for (const [id, wanted] of references) {
    const parents = new Set(frozen[id]?.depends_on)
    for (const ancestor of wanted) {
      if (!Object.hasOwn(frozen, ancestor))
        throw unreadable(frozen, { node: id, ancestor }, 'there is no such node in the graph')
      if (!parents.has(ancestor)) pairs.push({ node: id, ancestor })
    }
  }
  const unmet = unmetPair(order, pairs)
  if (unmet) throw unreadable(frozen, unmet, 'it does not come after that node. Let it depend on it')
}

function unreadable(frozen: FrozenNodes, { node, ancestor }: AncestorPair, why: string): InvalidGraphError {
  const [reader, read] = [node, ancestor].map(id => JSON.stringify(frozen[id]?.name ?? id))
  return new InvalidGraphError(`Node ${reader} refers to the output of ${read}, but ${why}.`)
}

const shownAtMost = 12

function shown(cycle: readonly string[]): string {
  const names = cycle.map(name => JSON.stringify(name))
  if (names.length <= shownAtMost) return names.join(' → ')
  const left = names.length - shownAtMost
  return [...names.slice(0, shownAtMost - 1), `${left} more`, names.at(-1)].join(' → ')
}
