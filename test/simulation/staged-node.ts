/** Nodes of a simulated graph with everything filled in, for plays that are written by hand. */
import type { SimulatedNode } from './random-graph.ts'

export function stagedNode(
  name: string,
  parents: readonly string[] = [],
  more: Partial<Omit<SimulatedNode, 'name' | 'parents'>> = {},
): SimulatedNode {
  return {
    name,
    parents,
    kind: 'step',
    waits: false,
    retry: null,
    policy: { action: 'pause', limit: 1, then: 'pause' },
    conditional: false,
    script: [],
    items: [],
    concurrency: null,
    fanOut: null,
    ...more,
  }
}
