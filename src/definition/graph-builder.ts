/**
 * What describes a graph at run time, node by node, and the options it takes. All of them are stored with the graph, so
 * none is code; functions belong to the jobs.
 */
import type { Duration } from '../primitives/duration.ts'
import type { Job } from './job.ts'
import type { Dependency, FanOut, NodeHandle } from './node-handle.ts'
import type { WithReferences } from './output-reference.ts'
import type { StorableRetry } from './retry-in-graph.ts'
import type { PolicyNotation } from './step-options.ts'

/** `w` in `geneva.build(w => ...)`. */
export interface GraphBuilder {
  /** Adds a node. Without `dependsOn` it follows what was added before it. */
  node<Args, Output>(name: string, options: NodeOptions<Args, Output>): NodeHandle<Output>
  /**
   * Adds a node for each item, all with the same dependencies; what is added next follows all of them. A fan-out over
   * nothing adds no node, and to depend on it is to depend on what it depended on.
   */
  fanOut<Item, Args, Output>(items: Iterable<Item>, options: FanOutOptions<Item, Args, Output>): FanOut<Output>
}

export type NodeOptions<Args, Output> = NodeSettings & {
  readonly job: Job<Args, Output>
} & (NoFields extends Args
    ? { readonly args?: WithReferences<NoInfer<Args>> }
    : { readonly args: WithReferences<NoInfer<Args>> })

export type FanOutOptions<Item, Args, Output> = NodeSettings & {
  readonly job: Job<Args, Output>
  /** Names the node of an item; no two may be the same. */
  readonly name: (item: Item, index: number) => string
} & (NoFields extends Args
    ? { readonly args?: (item: Item, index: number) => WithReferences<NoInfer<Args>> }
    : { readonly args: (item: Item, index: number) => WithReferences<NoInfer<Args>> })

/** Extends every type that has no required field. */
type NoFields = Record<never, never>

/** What is left out is as the job says, or else the workflow. */
export interface NodeSettings {
  /** Default: what was added before. `null`: nothing, the node is an entry point. */
  readonly dependsOn?: Dependency | readonly Dependency[] | null
  /** How long the node waits once its dependencies are satisfied. */
  readonly wait?: Duration
  readonly queue?: string
  /** 0 to 100, higher goes first. */
  readonly priority?: number
  readonly retry?: StorableRetry
  /** What happens when the job throws and is not retried. */
  readonly onException?: PolicyNotation
  /** For the application's own use: shown with the node, and given to its job. */
  readonly metadata?: Readonly<Record<string, unknown>>
}
