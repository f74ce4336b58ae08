/** What users write in the static block: the options of steps, exception policies, job options and hooks. */
import type { Duration } from '../primitives/duration.ts'
import type { ChildStart } from './child.ts'
import type { DeadlineAction, MissingStepAction } from './graph.ts'
import type { KeyLimitOptions, LimitOptions } from './limit-options.ts'
import type { NodeRef } from './node-ref.ts'
import type { RetryNotation } from './retry-notation.ts'
import type { Names } from './step-names.ts'
import type { ErrorClass, ExceptionAction, StepInfo } from './workflow-definition.ts'

export type Awaitable<T> = T | Promise<T>

/** A function of the workflow that answers yes or no. */
export type WorkflowTest<W> = (workflow: W) => Awaitable<boolean>

export interface ReattemptPolicy {
  readonly policy: 'reattempt'
  /** How long to wait before the next attempt. Default: not at all. */
  readonly wait?: Duration
  /** How many failures in a row may be followed by another attempt; those that `retry` answers do not count. Default: no limit. */
  readonly limit?: number
  /** What happens when the limit is reached. Default: `pause`. */
  readonly then?: Exclude<ExceptionAction, 'reattempt'>
}

/** What happens when a step throws. */
export type PolicyNotation =
  | ExceptionAction
  | ReattemptPolicy
  | { readonly policy: Exclude<ExceptionAction, 'reattempt'> }

/** Picks a policy for an error. Returning nothing means `pause`, and so does throwing. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function without `return` is void to the compiler.
export type PolicyPicker<E = unknown> = (error: E) => Awaitable<PolicyNotation | undefined | void>

/** A policy, a function that picks one, or pairs of an error class and either. The most specific class wins. */
export type ExceptionNotation = PolicyNotation | PolicyPicker | readonly ErrorClassPolicy[]

export type ErrorClassPolicy = readonly [errorClass: ErrorClass, policy: PolicyNotation | PolicyPicker<any>]

/** What a node may depend on: names, or what verbs have returned. `null` or an empty array: it is an entry point. */
export type DependencyOption<W> = Names<W>['node'] | NodeRef | readonly (Names<W>['node'] | NodeRef)[] | null

/** Unions of names stand here in full, not behind an alias, because then messages list the names. */
export interface TaskOptions<W> {
  /** How long the step waits after the one before it. */
  readonly wait?: Duration
  /** Runs the step only when true; asked when the step is about to run. */
  readonly if?: Names<W>['test'] | boolean | WorkflowTest<W>
  /** Skips the step when true; asked when the step is about to run. */
  readonly skipIf?: Names<W>['test'] | boolean | WorkflowTest<W>
  /** What happens when the step throws. Default: what the class says, else `pause`. */
  readonly onException?: ExceptionNotation
  /** How often and after which waits the step is called again when it throws, before `onException` acts. Default: what the class says, else not at all. */
  readonly retry?: RetryNotation
  /** How long an attempt may take. Then its signal is aborted, the attempt has failed, and what it still does is ignored. */
  readonly timeout?: Duration
  /** What must have ended before the step runs, instead of the step before it. */
  readonly dependsOn?: DependencyOption<W>
  /** Default: the queue of the class. */
  readonly queue?: string
  /** 0 to 100, higher goes first. Default: the priority of the class. */
  readonly priority?: number
  /** Plain values for people and tools, kept with the graph. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

export interface StepOptions<W> extends TaskOptions<W> {
  /** What must have ended besides the step before it. */
  readonly alsoDependsOn?: DependencyOption<W>
  /** Puts the step right before another one instead of at the end. */
  readonly beforeStep?: Names<W>['node'] | NodeRef
  /** Puts the step right after another one instead of at the end. */
  readonly afterStep?: Names<W>['node'] | NodeRef
}

/** A workflow that a `child` node starts and waits for. */
export interface ChildOptions<W, X extends abstract new () => unknown> extends Omit<StepOptions<W>, 'timeout'> {
  /** Its class; as a function, where it is declared later or imported in a circle. */
  readonly workflow: X | (() => X)
  /** What it is started with, or `{ workflowId }` to wait for one that exists. */
  readonly start: ChildStart<W, X extends abstract new () => infer Instance ? Instance : never>
  /** How long the node waits; then it fails as `timed_out`, and the workflow that it has started is canceled. Default: for ever. */
  readonly timeout?: Duration
}

/** The items of an `each` node: a method's name or a function, asked when the node is reached. */
export interface EachOptions<W, Item> extends StepOptions<W> {
  readonly items: (workflow: W) => Awaitable<readonly Item[]>
  /** How many items may be under way at once. Default: all. */
  readonly concurrency?: number
}

/** When a resumable step writes down how far it has come. */
export type CheckpointOption =
  /** After every item, waiting until it is durable. */
  | 'each'
  /** After so many items, or after so much time, whichever comes first. */
  | { readonly items?: number; readonly time?: Duration }

/** What makes a step resumable, for tasks as well. */
export interface IterationOptions {
  /** Gives way to other work after so many items, and goes on later. */
  readonly yieldEvery?: number
  /** Gives way to other work after so much time, and goes on later. */
  readonly maxRuntime?: Duration
  /** More items than this in its whole life are a failure: something loops. */
  readonly maxIterations?: number
  /** Default: after every item, without waiting; what comes while one is being written goes into the next. */
  readonly checkpoint?: CheckpointOption
}

export interface ResumableStepOptions<W> extends StepOptions<W>, IterationOptions {}

export interface ResumableTaskOptions<W> extends TaskOptions<W>, IterationOptions {
  /** The method receives an `Iteration`. */
  readonly resumable: true
}

export interface TransactionalTaskOptions<W> extends TaskOptions<W> {
  /** The method receives a `Transaction`, and what it writes there is committed with the outcome. */
  readonly transaction: true
}

export interface DefaultOptions {
  /** How often and after which waits steps are called again when they throw, before `onException` acts. */
  readonly retry?: RetryNotation
  /** How long an attempt at a step may take. */
  readonly timeout?: Duration
  /** How long a rollback waits for code that still runs, before it goes on without it. Default: 30 seconds. */
  readonly stopGrace?: Duration
  /** How long a workflow may take as a whole, from when its first step may run. */
  readonly deadline?: Duration
  /** What happens to a workflow that has not ended by then. Default: `cancel`. */
  readonly onDeadline?: DeadlineAction
  /** What happens to a workflow that stands at a step which a deploy has taken away. Default: `pause`, it fails there. */
  readonly onMissingStep?: MissingStepAction
}

export interface JobOptions<W = any> extends LimitOptions {
  /** Default: `default`. */
  readonly queue?: string
  /** 0 to 100, higher goes first. Default: 0. */
  readonly priority?: number
  /** Limits for each tenant, account or hero by itself, besides those of the class as a whole. */
  readonly perKey?: KeyLimitOptions<W>
}

export type StepHook<W> = (workflow: W, step: StepInfo) => unknown
export type AroundStepHook<W> = (workflow: W, step: StepInfo, next: () => Promise<unknown>) => unknown
