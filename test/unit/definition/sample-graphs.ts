/** Jobs and views of graphs for tests: what depends on what, by name. */
import { buildGraph } from '../../../src/definition/build-graph.ts'
import type { BuiltGraph } from '../../../src/definition/built-graph.ts'
import type { FrozenGraph, FrozenNode, FrozenNodes, GraphDefaults } from '../../../src/definition/frozen-graph.ts'
import type { GraphBuilder } from '../../../src/definition/graph-builder.ts'
import { defineJob } from '../../../src/definition/job.ts'

export const frozenAt = '2024-01-15T10:30:00.000Z'

export const sweep = defineJob('sweep', async () => 'swept')
export const add = defineJob('add', async (args: { a: number; b?: number }) => args.a + (args.b ?? 0))
export const total = defineJob('total', async (args: { of: number[] }) => ({ total: args.of.length }))
export const keep = defineJob('keep', async (args: { value: unknown }) => JSON.stringify(args))

export const defaults: GraphDefaults = {
  type: null,
  queue: 'default',
  priority: 0,
  jobOptions: job => (job === 'total' ? { queue: 'sums', priority: 7 } : null),
}

/** The names that each node depends on, by its name. */
export function edgesOf({ nodes }: { readonly nodes: FrozenNodes }): Record<string, string[]> {
  const nameOf = (id: string) => nodes[id]?.name ?? id
  return Object.fromEntries(Object.values(nodes).map(node => [node.name, node.depends_on.map(nameOf)]))
}

export function nodeNamed({ nodes }: { readonly nodes: FrozenNodes }, name: string): FrozenNode {
  const found = Object.values(nodes).find(node => node.name === name)
  if (!found) throw new Error(`There is no node ${name}.`)
  return found
}

/** A graph as JSON text, as it would be exported. */
export function exported(describe: (w: GraphBuilder) => void): string {
  return JSON.stringify(buildGraph(describe).freeze(frozenAt))
}

/** The graph of two nodes, `first` and `second`, with something done to it by hand. */
export function edited(edit: (graph: any, first: any, second: any) => void): unknown {
  const graph = JSON.parse(
    exported(w => {
      w.node('first', { job: sweep })
      w.node('second', { job: add, args: { a: 1 } })
    }),
  ) as FrozenGraph
  edit(graph, nodeNamed(graph, 'first'), nodeNamed(graph, 'second'))
  return graph
}

export function thrownBy(action: () => unknown): any {
  try {
    action()
  } catch (error) {
    return error
  }
  throw new Error('Nothing was thrown.')
}

export function idOf(graph: BuiltGraph, name: string): string {
  return Object.entries(graph.nodes).find(([, node]) => node.name === name)?.[0] ?? ''
}
