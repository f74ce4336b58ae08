/**
 * What describes a graph at run time, node by node, and the options it takes. All of them are stored with the graph, so
 * none is code; functions belong to the jobs.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Duration } from '../primitives/duration.ts'
import type { Reconciled } from './compensation.ts'
import type { Decided } from './decision.ts'
import type { Form } from './define-form.ts'
import type { HumanOptions, JoinNotation } from './flow-options.ts'
import type { HeroId, HeroRef } from './hero.ts'
import type { Job } from './job.ts'
import type { Dependency, FanOut, NodeHandle } from './node-handle.ts'
import type { OutputReference, WithReferences } from './output-reference.ts'
import type { StorableRetry } from './retry-in-graph.ts'
import type { HeroOf, StartInput } from './start-types.ts'
import type { PolicyNotation } from './step-options.ts'
import type { WorkflowClass } from './workflow.ts'

/** `w` in `geneva.build(w => ...)`. */
export interface GraphBuilder extends GraphBranch {
  /** What all nodes take that say nothing else, and whose jobs do not. Before the first node. */
  defaults(options: GraphDefaultOptions): void
  /** A rollback after a failure stops here: what came before stays. Not in branches. */
  savePoint(name: string, options?: PlaceSettings): NodeHandle
}

/** What the function that describes a branch receives. Its first node follows the fork or the condition. */
export interface GraphBranch {
  /** Adds a node. Without `dependsOn` it follows what was added before it. */
  node<Args, Output>(name: string, options: NodeOptions<Args, Output>): NodeHandle<Output>
  /**
   * Adds a node for each item, all with the same dependencies; what is added next follows all of them. A fan-out over
   * nothing adds no node, and to depend on it is to depend on what it depended on.
   */
  fanOut<Item, Args, Output>(items: Iterable<Item>, options: FanOutOptions<Item, Args, Output>): FanOut<Output>
  /**
   * Runs one of two branches, as an expression answers: CEL, like `outputs.sum.total > 100`, or the template form
   * `{{ gt .total 100 }}`. What is added next follows whatever was taken.
   */
  condition(name: string, test: string, branches: GraphConditionBranches): NodeHandle<boolean>
  /** Runs branches side by side. What is added next waits for them as `join` says. */
  fork(name: string, branches: Readonly<Record<string, DescribeGraphBranch>>, options?: GraphForkOptions): NodeHandle
  /** Runs nodes side by side, each a branch of its own. What is added next waits for them as `join` says. */
  parallel(name: string, members: DescribeGraphBranch, options?: GraphForkOptions): NodeHandle
  /** Waits for what it names, each a branch, as `rule` says. */
  join(name: string, options: GraphJoinOptions): NodeHandle
  /**
   * Starts another workflow and waits for its end, for as long as it takes; or waits for one that exists. Its id and its
   * result are the output; any end but `finished` counts as a throw.
   */
  child<X extends WorkflowClass>(name: string, options: GraphChildOptions<X>): NodeHandle<EndedChild>
  child(name: string, options: GraphNamedChildOptions): NodeHandle<EndedChild>
  /** Asks people, and waits for as long as it takes. What they have decided is the output. */
  human<Data = unknown>(name: string, options?: GraphHumanOptions<Data>): NodeHandle<Decided<Data>>
  /** Waits for a message of that name. Its payload is the output. */
  waitFor<Payload = unknown>(name: string, options?: GraphWaitForOptions<Payload>): NodeHandle<Payload>
}

export type DescribeGraphBranch = (branch: GraphBranch) => unknown

export type NodeOptions<Args, Output> = NodeSettings &
  GraphCode<Args> & {
    readonly job: Job<Args, Output>
  } & (NoFields extends Args
    ? { readonly args?: WithReferences<NoInfer<Args>> }
    : { readonly args: WithReferences<NoInfer<Args>> })

export type FanOutOptions<Item, Args, Output> = NodeSettings &
  GraphCode<Args> & {
    readonly job: Job<Args, Output>
    /** Names the node of an item; no two may be the same. */
    readonly name: (item: Item, index: number) => string
  } & (NoFields extends Args
    ? { readonly args?: (item: Item, index: number) => WithReferences<NoInfer<Args>> }
    : { readonly args: (item: Item, index: number) => WithReferences<NoInfer<Args>> })

/** Extends every type that has no required field. */
type NoFields = Record<never, never>

export interface GraphDefaultOptions {
  readonly retry?: StorableRetry
  /** How long an attempt of a job may take. */
  readonly timeout?: Duration
  /** What happens when a node throws and is not retried. Not for nodes that are called once. */
  readonly onException?: PolicyNotation
  readonly queue?: string
  /** 0 to 100, higher goes first. */
  readonly priority?: number
}

/** How a node is undone, and whether its job may be called again. */
export interface GraphCode<Args> {
  /** The job that undoes the node when the workflow is rolled back. It gets the arguments of the node, and `job.undo`. */
  readonly compensate?: Job<NoInfer<Args>, any> | GraphCompensationOptions<NoInfer<Args>>
  /** False: the job is called once, ever. A call that was lost is settled by `reconcile`, else by a person. */
  readonly idempotent?: boolean
  /** The job that tells whether a lost call happened, as `{ happened, output }`. It gets the arguments of the node. */
  readonly reconcile?: Job<NoInfer<Args>, Reconciled>
}

export interface GraphCompensationOptions<Args> {
  readonly job: Job<Args, any>
  readonly retry?: StorableRetry
  readonly timeout?: Duration
  /** False: it is called once, whatever comes of it. */
  readonly idempotent?: boolean
  /** False: it is left out for an attempt that has failed. */
  readonly afterFailure?: boolean
}

/** Where a node stands. */
export interface PlaceSettings {
  /** Default: what was added before. `null`: nothing, the node is an entry point. */
  readonly dependsOn?: Dependency | readonly Dependency[] | null
  /** What must have ended besides that. */
  readonly alsoDependsOn?: Dependency | readonly Dependency[] | null
  /** For the application's own use: shown with the node, and given to its job. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

export interface GraphConditionBranches extends Omit<NodeSettings, 'retry' | 'timeout' | 'if' | 'skipIf'> {
  readonly then?: DescribeGraphBranch
  readonly else?: DescribeGraphBranch
  /** Values that the expression can ask for, references to outputs among them. */
  readonly args?: Readonly<Record<string, unknown>>
}

export interface GraphForkOptions extends PlaceSettings {
  /** When what follows goes on. False: at once, and nothing waits for the branches. Default: `all`. */
  readonly join?: JoinNotation | false
}

export interface GraphJoinOptions {
  /** What comes together, each a branch of its own; of a fan-out, each of its nodes. */
  readonly dependsOn: Dependency | readonly Dependency[]
  /** Default: `all`. */
  readonly rule?: JoinNotation
  readonly metadata?: Readonly<Record<string, unknown>>
}

export interface GraphHumanOptions<Data>
  extends Omit<NodeSettings, 'retry' | 'timeout'>,
    Pick<GraphCode<any>, 'compensate'>,
    Pick<HumanOptions<any>, 'prompt' | 'assignTo' | 'quorum' | 'deadline' | 'escalate'> {
  /** What the data of a decision must fit: what `defineForm` returned, since only its name is stored. */
  readonly form?: Form<StandardSchemaV1<any, Data>>
  /** What a rejection does: ends the workflow as `aborted`, rolls it back, or goes back to an earlier node. Default: `abort`. */
  readonly onReject?: 'abort' | 'rollback' | { readonly backTo: string | NodeHandle }
}

export interface GraphWaitForOptions<Payload>
  extends Omit<NodeSettings, 'retry' | 'timeout'>,
    Pick<GraphCode<any>, 'compensate'> {
  /** What the payload must fit: what `defineForm` returned, since only its name is stored. */
  readonly payload?: Form<StandardSchemaV1<any, Payload>>
  /** How long the node waits. Default: for ever. */
  readonly timeout?: Duration
  /** What happens when nothing came in time. Default: what `onException` says. */
  readonly onTimeout?: PolicyNotation
}

/** What the child node of a graph leaves behind. */
export interface EndedChild {
  readonly id: string
  /** The result of the workflow; `null` where it has none. */
  readonly result: any
}

/** The settings of a child node. Its `timeout` says how long it waits; then the workflow that it has started is canceled. */
export type GraphChildSettings = NodeSettings & Pick<GraphCode<any>, 'compensate'>

/** Of a class that this process has: what it is started with is checked by the compiler, and when the graph is built. */
export type GraphChildOptions<X extends WorkflowClass> = GraphChildSettings & {
  readonly workflow: X
} & (GraphChildStart<InstanceType<X>> | GraphExistingWorkflow)

/** Of a class by the name under which it is stored. */
export type GraphNamedChildOptions = GraphChildSettings & {
  readonly workflow: string
} & (
    | { readonly hero?: GraphHero<any> | null; readonly input?: object; readonly workflowId?: never }
    | GraphExistingWorkflow
  )

/** A workflow that runs already, or has ended, to be waited for instead of starting one. */
export interface GraphExistingWorkflow {
  readonly workflowId: string | OutputReference<string>
  readonly hero?: never
  readonly input?: never
}

/** A hero by reference. Its id, or all of it, may be the output of an earlier node. */
export type GraphHero<Hero> =
  | HeroRef<Hero>
  | OutputReference<{ readonly heroType: string; readonly id: HeroId }>
  | { readonly heroType: string; readonly id: OutputReference<HeroId> }

type GraphChildStart<W> = { readonly workflowId?: never } & GraphStartHero<HeroOf<W>> & GraphStartInput<StartInput<W>>

type GraphStartHero<Hero> = [NonNullable<Hero>] extends [never]
  ? { readonly hero?: null | undefined }
  : undefined extends Hero
    ? { readonly hero?: GraphHero<NonNullable<Hero>> | null }
    : { readonly hero: GraphHero<NonNullable<Hero>> | (null extends Hero ? null : never) }

type GraphStartInput<Input> = NoFields extends Input
  ? { readonly input?: WithReferences<NoInfer<Input>> }
  : { readonly input: WithReferences<NoInfer<Input>> }

/** What is left out is as the job says, or else the workflow. */
export interface NodeSettings {
  /** Default: what was added before. `null`: nothing, the node is an entry point. */
  readonly dependsOn?: Dependency | readonly Dependency[] | null
  /** What must have ended besides that. */
  readonly alsoDependsOn?: Dependency | readonly Dependency[] | null
  /** How long the node waits once its dependencies are satisfied. */
  readonly wait?: Duration
  /** Runs the node only when this expression is true, as in `condition`; asked when the node is about to run. */
  readonly if?: string
  /** Skips the node when this expression is true; asked when the node is about to run. */
  readonly skipIf?: string
  readonly queue?: string
  /** 0 to 100, higher goes first. */
  readonly priority?: number
  readonly retry?: StorableRetry
  /** How long an attempt may take. */
  readonly timeout?: Duration
  /** What happens when the job throws and is not retried. */
  readonly onException?: PolicyNotation
  /** For the application's own use: shown with the node, and given to its job. */
  readonly metadata?: Readonly<Record<string, unknown>>
}
