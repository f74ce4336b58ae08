/**
 * What a workflow class compiles to: plain, frozen data that the engine reads. Nothing here performs I/O or
 * looks at a clock, and nothing here changes once a class has been registered.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Graph, HumanWait, JoinRule, NodeKind } from './graph.ts'
import type { HeroType } from './hero.ts'
import type { ClassLimits } from './limit-options.ts'
import type { NodeRef } from './node-ref.ts'
import type { RetryPolicy } from './retry-notation.ts'

/** What may happen to a workflow when one of its steps throws. */
export type ExceptionAction = 'pause' | 'cancel' | 'skip' | 'reattempt' | 'rollback' | 'dlq'

/** An exception policy with every default filled in. */
export interface ExceptionPolicy {
  readonly action: ExceptionAction
  /** How long a reattempt waits. */
  readonly waitMs: number
  /** How many failures in a row a reattempt may follow; `null` is no limit. */
  readonly limit: number | null
  /** What happens when the limit is reached. */
  readonly then: Exclude<ExceptionAction, 'reattempt'>
}

export type ErrorClass = abstract new (...args: any[]) => unknown

/** A function of the error that picks a policy in the user's notation; nothing means `pause`. */
export type PolicyFunction = (error: any) => unknown

/** One rule: with `errorClass` it speaks for that class and its subclasses, without for every error. */
export interface ExceptionRule {
  readonly errorClass: ErrorClass | null
  readonly policy: ExceptionPolicy | PolicyFunction
}

/** A method name, a function of the workflow, or a constant. */
export type Test = string | boolean | ((workflow: any) => unknown)

/** Whether a step runs: `if` wants its test to be true, `skipIf` wants it to be false. */
export interface Condition {
  readonly test: Test
  readonly runsWhen: boolean
}

/** How a resumable step is interrupted and writes down its progress. */
export interface ResumableSettings {
  readonly yieldEvery: number | null
  readonly maxRuntimeMs: number | null
  readonly maxIterations: number | null
  /** `coalesced`: after every item, never more than one write under way, without waiting for it. */
  readonly checkpoint: 'coalesced' | 'each' | { readonly items: number | null; readonly timeMs: number | null }
}

/** The items of an `each` node, and how many may be under way at once. */
export interface EachSettings {
  readonly items: string | ((workflow: any) => unknown)
  readonly concurrency: number | null
}

/** The workflow that a `child` node starts. */
export interface ChildSettings {
  /** Asked when the node runs, because classes may refer to each other. */
  workflowClass(): unknown
  readonly start: (workflow: any) => unknown
  /** How long its end is waited for; `null`: for ever. */
  readonly timeoutMs: number | null
}

/** The method that undoes a node, and how it is called. */
export interface CompensationSettings {
  readonly method: string
  /** `null`: the class decides, else three attempts. */
  readonly retry: RetryPolicy | null
  readonly timeoutMs: number | null
  /** False: called once, whatever comes of it. */
  readonly idempotent: boolean
  /** Also undoes an attempt that has failed. */
  readonly afterFailure: boolean
  /** It runs in a transaction that is committed with its outcome. */
  readonly transactional: boolean
}

/** A node that waits for people or for a message. */
export interface WaitSettings {
  /** `null`: for ever. */
  readonly timeoutMs: number | null
  /** What happens when nothing came in time. Empty: its `onException`. */
  readonly onTimeout: readonly ExceptionRule[]
  /** What the data of a decision, or the payload of a signal, must fit. */
  readonly schema: StandardSchemaV1 | null
}

/** A chain of its own: the branch of a fork or a condition. Its first members follow the node that opens it. */
export interface BranchScope {
  readonly opener: string
  /** The name of a fork's branch; `then` or `else` for a condition. */
  readonly name: string
}

/** A node by its name, or by the reference that its verb returned. */
export type Dependency = string | NodeRef<any>

export interface NodeDefinition {
  readonly name: string
  readonly kind: Exclude<NodeKind, 'item'>
  /** The branch that it stands in; `null`: the chain of the class. */
  readonly scope: BranchScope | null
  /** A member of the chain follows the one before it; a task has only the dependencies that it names. */
  readonly inChain: boolean
  /** What it depends on instead of its place in the chain; `null`: its place decides. */
  readonly dependsOn: readonly Dependency[] | null
  /** What it depends on besides. */
  readonly alsoDependsOn: readonly Dependency[]
  /** Set exactly for `each` nodes. */
  readonly each: EachSettings | null
  /** Set exactly for `child` nodes. */
  readonly child: ChildSettings | null
  readonly metadata: Readonly<Record<string, unknown>> | null
  /** Set exactly for joins. `branches`: what each waits for; `null` for the join of a fork, whose branches say it. */
  readonly join: { readonly rule: JoinRule; readonly branches: readonly (readonly Dependency[])[] | null } | null
  /** Set exactly for human nodes. */
  readonly human: HumanWait | null
  /** Set exactly for human and signal nodes. */
  readonly waitsFor: WaitSettings | null
  readonly compensation: CompensationSettings | null
  /** False: its code is never called twice by the engine itself. */
  readonly idempotent: boolean
  /** The method that tells whether a lost call happened. */
  readonly reconcile: string | null
  /** Its code runs in a transaction that is committed with its outcome. */
  readonly transactional: boolean
  /** Set exactly for resumable steps. */
  readonly resumable: ResumableSettings | null
  /** The code: the name of a method, or an inline function of the workflow. `null`: it does nothing itself. */
  readonly body: string | ((workflow: any, argument?: any) => unknown) | null
  readonly waitMs: number
  readonly condition: Condition | null
  /** The step's own rules, first match wins. Empty: the class decides. */
  readonly onException: readonly ExceptionRule[]
  /** `null`: the class decides. */
  readonly retry: RetryPolicy | null
  /** How long an attempt may take. `null`: the class decides. */
  readonly timeoutMs: number | null
  /** `null`: the class's job options decide. */
  readonly queue: string | null
  readonly priority: number | null
}

export interface StepInfo {
  readonly name: string
  readonly attempt: number
  /** Set when the step is being undone. */
  readonly kind?: 'compensate'
}

export type BeforeHook = (workflow: any, step: StepInfo) => unknown
export type AfterHook = (workflow: any, step: StepInfo) => unknown
export type AroundHook = (workflow: any, step: StepInfo, next: () => Promise<unknown>) => unknown

export interface WorkflowDefinition {
  /** The stored name: `named(...)`, else the class name. */
  readonly type: string
  /** Former stored names, whose workflows this class also runs. */
  readonly formerTypes: readonly string[]
  readonly workflowClass: abstract new (...args: any[]) => unknown
  /** In the order of the chain, after all insertions, with the tasks where they were declared. */
  readonly nodes: readonly NodeDefinition[]
  readonly nodeIndex: ReadonlyMap<string, number>
  /** The nodes with every dependency resolved. */
  readonly graph: Graph
  /** SHA-256 over the graph's shape: names, kinds, dependencies. Equal shapes have equal signatures in every process. */
  readonly signature: string
  readonly heroTypes: readonly HeroType<any, any>[]
  readonly mayOutliveHero: boolean
  readonly inputSchema: StandardSchemaV1 | null
  readonly cancelIf: readonly Test[]
  /** The class's rules in the order in which they are tried: most specific error first, latest first. */
  readonly onException: readonly ExceptionRule[]
  /** For steps that say nothing themselves; `null`: they are not retried. */
  readonly retry: RetryPolicy | null
  /** For steps that say nothing themselves; `null`: they may take as long as they like. */
  readonly timeoutMs: number | null
  /** How long a rollback waits for code that still runs. */
  readonly stopGraceMs: number
  readonly queue: string
  readonly priority: number
  readonly limits: ClassLimits
  readonly allowMultiple: boolean
  /** The node whose output is the workflow's result; `null`: the last step that completed. */
  readonly resultNode: string | null
  readonly beforeEach: readonly BeforeHook[]
  readonly afterEach: readonly AfterHook[]
  readonly aroundEach: readonly AroundHook[]
}
