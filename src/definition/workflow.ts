/**
 * The base class of all workflows. Its static side is the table of contents that a class writes in its static block;
 * its instance side is what a step can read and do. Every name on either side is a name users cannot have.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Duration } from '../primitives/duration.ts'
import { attachmentOf } from './attached-context.ts'
import type { ConditionBranches, DescribeBranch } from './branch.ts'
import { asRootClass } from './declarations.ts'
import * as flow from './declare-flow.ts'
import * as code from './declare-node.ts'
import * as rules from './declare-rules.ts'
import { declareHuman, declareWaitFor } from './declare-wait.ts'
import { emit } from './emit.ts'
import { type ReadableStep, type StepOutput, stepOf } from './find-step.ts'
import type {
  CodeOptions,
  Compensate,
  DecisionData,
  ForkOptions,
  HumanOptions,
  JoinOptions,
  SignalPayload,
  StructureOptions,
  UncheckedCode,
  UncheckedCompensation,
  WaitForOptions,
} from './flow-options.ts'
import type { HeroType } from './hero.ts'
import type { EachJobOptions, JobStepOptions } from './job-step-options.ts'
import type { NodeRef } from './node-ref.ts'
import { chainOf } from './place.ts'
import type { CustomEventName, CustomEventPayload } from './register.ts'
import type { DeclaredInput, GivenInput, HeroOf, ParsedInput, typeParameters } from './start-types.ts'
import { postpone, type ReattemptOptions, type RestartOptions, reattempt, restart, steer } from './steer.ts'
import type { ExecutionInfo } from './step-context.ts'
import type { ItemOf, Names, OutputOf } from './step-names.ts'
import type {
  AroundStepHook,
  ChildOptions,
  DefaultOptions,
  EachOptions,
  ExceptionNotation,
  JobOptions,
  ResumableStepOptions,
  StepHook,
  StepOptions,
  WorkflowTest,
} from './step-options.ts'
import type { StorableResult } from './storable.ts'
import type { TaskOptionsFor } from './task-options.ts'

export type AnyWorkflow = Workflow<any, any>
export type WorkflowClass<W extends AnyWorkflow = AnyWorkflow> = abstract new () => W

/** A class that can be started: not abstract, with a constructor that needs nothing. */
export type ConcreteClass<W extends AnyWorkflow = AnyWorkflow> = new () => W

/** The instance type of the class that a verb is called on. */
type I<C> = C extends abstract new () => infer W ? W : never

/** A schema that yields the input the class was declared with. */
type SchemaFor<W> =
  DeclaredInput<W> extends StandardSchemaV1 ? DeclaredInput<W> : StandardSchemaV1<any, DeclaredInput<W>>

/**
 * A process in steps that survives crashes and deploys. `Hero` is the record it is about; `Input` is an object type
 * or the type of a schema. One execution has one instance, frozen: state is the hero, the input and the outputs.
 */
export abstract class Workflow<Hero = null, Input extends object = Record<string, never>> {
  declare readonly [typeParameters]: { readonly hero: Hero; readonly input: Input }

  static {
    asRootClass(this)
  }

  /** Declares a method as the next step, or puts it where `beforeStep` or `afterStep` says. */
  static step<C extends WorkflowClass, const K extends Names<I<C>>['step'], const U extends Names<I<C>>['undo']>(
    this: C,
    name: K,
    options?: StepOptions<I<C>> & CodeOptions<I<C>> & Compensate<I<C>, K, U>,
  ): NodeRef<OutputOf<I<C>, K>> {
    return code.declareStep(chainOf(this), name, options)
  }

  /** Declares a method that receives a transaction: what it writes there is committed together with its outcome, exactly once. */
  static transactionalStep<
    C extends WorkflowClass,
    const K extends Names<I<C>>['transactional'],
    const U extends Names<I<C>>['undo'],
  >(this: C, name: K, options?: StepOptions<I<C>> & Compensate<I<C>, K, U>): NodeRef<OutputOf<I<C>, K>> {
    return code.declareTransactionalStep(chainOf(this), name, options)
  }

  /** Declares a method that iterates: it can stop between any two items and go on there, in another process or after a crash. */
  static resumableStep<
    C extends WorkflowClass,
    const K extends Names<I<C>>['resumable'],
    const U extends Names<I<C>>['undo'],
  >(this: C, name: K, options?: ResumableStepOptions<I<C>> & Compensate<I<C>, K, U>): NodeRef<OutputOf<I<C>, K>> {
    return code.declareResumableStep(chainOf(this), name, options)
  }

  /** Declares a method that runs when everything it depends on has ended, beside the chain. Without dependencies it is an entry point. */
  static task<
    C extends WorkflowClass,
    const K extends Names<I<C>>['step'] | Names<I<C>>['transactional'] | Names<I<C>>['resumable'],
    const U extends Names<I<C>>['undo'],
  >(this: C, name: K, options?: TaskOptionsFor<I<C>, K> & Compensate<I<C>, K, U>): NodeRef<OutputOf<I<C>, K>> {
    return code.declareTask(chainOf(this), name, options)
  }

  /** Declares a method that runs once for each item, side by side. The items are asked for when the node is reached. */
  static each<C extends WorkflowClass, const K extends Names<I<C>>['item'], const U extends Names<I<C>>['undo']>(
    this: C,
    name: K,
    options: EachOptions<I<C>, ItemOf<I<C>, K>> & Compensate<I<C>, K, U>,
  ): NodeRef<OutputOf<I<C>, K>> {
    return code.declareEach(chainOf(this), name, options)
  }

  /** Declares a step whose code is a job, with arguments as a value or as a function of the workflow. */
  static job<C extends WorkflowClass, Args extends object, Output>(
    this: C,
    name: string,
    options: JobStepOptions<I<C>, Args, Output> & UncheckedCode<I<C>>,
  ): NodeRef<Output> {
    return code.declareJob(chainOf(this), name, options)
  }

  /** Declares a job that runs once for each item, which is its arguments. The items are asked for when the node is reached. */
  static eachJob<C extends WorkflowClass, Args extends object, Output>(
    this: C,
    name: string,
    options: EachJobOptions<I<C>, Args, Output> & UncheckedCompensation<I<C>>,
  ): NodeRef<Output[]> {
    return code.declareEachJob(chainOf(this), name, options)
  }

  /** Starts another workflow and waits for its end; the method runs when that has finished. Any other end counts as a throw. */
  static child<
    C extends WorkflowClass,
    const K extends Names<I<C>>['child'],
    X extends WorkflowClass,
    const U extends Names<I<C>>['undo'],
  >(this: C, name: K, options: ChildOptions<I<C>, X> & Compensate<I<C>, K, U>): NodeRef<OutputOf<I<C>, K>> {
    return code.declareChild(chainOf(this), name, options)
  }

  /** Declares a step whose code stands in the static block. Without a name it is called `step_1`, `step_2` and so on. */
  static inline<C extends WorkflowClass, R>(
    this: C,
    body: ((workflow: I<C>) => R) & StorableResult<R>,
  ): NodeRef<Awaited<R>>
  static inline<C extends WorkflowClass, R>(
    this: C,
    nameOrOptions: string | (StepOptions<I<C>> & UncheckedCode<I<C>>),
    body: ((workflow: I<C>) => R) & StorableResult<R>,
  ): NodeRef<Awaited<R>>
  static inline<C extends WorkflowClass, R>(
    this: C,
    name: string,
    options: StepOptions<I<C>> & UncheckedCode<I<C>>,
    body: ((workflow: I<C>) => R) & StorableResult<R>,
  ): NodeRef<Awaited<R>>
  static inline(this: WorkflowClass, ...given: unknown[]): NodeRef<any> {
    return code.declareInline(chainOf(this), given)
  }

  /** Asks people, and waits for as long as it takes; the method runs when they have agreed. */
  static human<C extends WorkflowClass, const K extends Names<I<C>>['human'], const U extends Names<I<C>>['undo']>(
    this: C,
    name: K,
    options?: HumanOptions<I<C>, DecisionData<I<C>, K>> & Compensate<I<C>, K, U>,
  ): NodeRef<OutputOf<I<C>, K>> {
    return declareHuman(chainOf(this), name, options)
  }

  /** Waits for a message of the method's name; the method runs when it has come. One that was sent before counts. */
  static waitFor<C extends WorkflowClass, const K extends Names<I<C>>['signal'], const U extends Names<I<C>>['undo']>(
    this: C,
    name: K,
    options?: WaitForOptions<I<C>, SignalPayload<I<C>, K>> & Compensate<I<C>, K, U>,
  ): NodeRef<OutputOf<I<C>, K>> {
    return declareWaitFor(chainOf(this), name, options)
  }

  /** A rollback after a failure stops here: what came before stays. A cancel goes back to the start. */
  static savePoint<C extends WorkflowClass>(this: C, name: string, options?: StructureOptions<I<C>>): NodeRef {
    return flow.declareSavePoint(chainOf(this), name, options)
  }

  /** Runs one of two branches, as a method or a function answers. The next step runs after whatever was taken. */
  static condition<C extends WorkflowClass, const K extends Names<I<C>>['test']>(
    this: C,
    name: K,
    branches: ConditionBranches<I<C>>,
  ): NodeRef<boolean>
  static condition<C extends WorkflowClass>(
    this: C,
    name: string,
    test: WorkflowTest<I<C>>,
    branches: ConditionBranches<I<C>>,
  ): NodeRef<boolean>
  static condition(this: WorkflowClass, name: string, ...given: unknown[]): NodeRef<boolean> {
    return flow.declareCondition(chainOf(this), name, given)
  }

  /** Runs branches side by side, each a chain of its own. The next step waits for them as `join` says. */
  static fork<C extends WorkflowClass>(
    this: C,
    name: string,
    branches: Readonly<Record<string, DescribeBranch<I<C>>>>,
    options?: ForkOptions<I<C>>,
  ): NodeRef {
    return flow.declareFork(chainOf(this), name, branches, options)
  }

  /** Runs nodes side by side, each a branch of its own. The next step waits for them as `join` says. */
  static parallel<C extends WorkflowClass>(
    this: C,
    name: string,
    members: DescribeBranch<I<C>>,
    options?: ForkOptions<I<C>>,
  ): NodeRef {
    return flow.declareParallel(chainOf(this), name, members, options)
  }

  /** Waits for what it names, each a branch, as `rule` says. */
  static join<C extends WorkflowClass>(this: C, name: string, options: JoinOptions<I<C>>): NodeRef {
    return flow.declareJoin(chainOf(this), name, options)
  }

  /** A node without a method, of this class or a parent, to depend on. */
  static node(this: WorkflowClass, name: string): NodeRef {
    return flow.declaredNode(chainOf(this), name)
  }

  /** Says which types of hero the class is about. In a subclass this replaces what the parent said. */
  static heroes<C extends WorkflowClass>(this: C, ...types: HeroType<NonNullable<HeroOf<I<C>>>, any>[]): void {
    rules.declareHeroes(this, types)
  }

  /** Lets workflows go on, with `hero` being `null`, when their hero is gone. */
  static mayOutliveHero(this: WorkflowClass, allowed = true): void {
    rules.declareFlag(this, 'mayOutliveHero', allowed)
  }

  /** Checks the input by a schema (zod, valibot, arktype, ...) before anything is started. */
  static input<C extends WorkflowClass>(this: C, schema: SchemaFor<I<C>>): void {
    rules.declareInput(this, schema)
  }

  /** Cancels the workflow when the answer is yes; asked before each step. */
  static cancelIf<C extends WorkflowClass>(this: C, test: Names<I<C>>['test'] | boolean | WorkflowTest<I<C>>): void {
    rules.declareCancelIf(this, test)
  }

  /** What happens when a step throws that does not say so itself. The most specific error wins, then the latest rule. */
  static onException(this: WorkflowClass, policy: ExceptionNotation): void {
    rules.declareOnException(this, policy)
  }

  /** Queue and priority of all steps that have none of their own, and limits for the class or for each key. */
  static jobOptions<C extends WorkflowClass>(this: C, options: JobOptions<I<C>>): void {
    rules.declareJobOptions(this, options)
  }

  /** What counts for every step that says nothing itself. */
  static defaults(this: WorkflowClass, options: DefaultOptions): void {
    rules.declareDefaults(this, options)
  }

  /** Allows several active workflows of this class for one hero. */
  static allowMultiple(this: WorkflowClass, allowed = true): void {
    rules.declareFlag(this, 'allowMultiple', allowed)
  }

  /** The name stored with each workflow, instead of the class name; workflows with a former name still load. Not inherited. */
  static named(this: WorkflowClass, type: string, ...formerTypes: string[]): void {
    rules.declareNamed(this, type, formerTypes)
  }

  /** Former names of steps, each with its present one: running workflows go on under the new name. */
  static renamed<C extends WorkflowClass>(this: C, names: Readonly<Record<string, Names<I<C>>['node']>>): void {
    rules.declareRenamed(this, names)
  }

  /** The step whose output is the result of the workflow. Default: the last step that completed. */
  static result<C extends WorkflowClass>(this: C, step: Names<I<C>>['node'] | NodeRef): void {
    rules.declareResult(this, step)
  }

  /** Runs before the body of each step; a throw counts as the step's own. */
  static beforeEach<C extends WorkflowClass>(this: C, hook: StepHook<I<C>>): void {
    rules.declareHook(this, 'beforeEach', hook)
  }

  /** Runs after the body of each step that did not throw; a throw counts as the step's own. */
  static afterEach<C extends WorkflowClass>(this: C, hook: StepHook<I<C>>): void {
    rules.declareHook(this, 'afterEach', hook)
  }

  /** Runs around the body of each step, which runs when `next` is called. The hook declared first is the outermost. */
  static aroundEach<C extends WorkflowClass>(this: C, hook: AroundStepHook<I<C>>): void {
    rules.declareHook(this, 'aroundEach', hook)
  }

  /** The record this workflow is about, loaded for this execution. */
  get hero(): Hero {
    return attachmentOf(this, 'hero').context.hero() as Hero
  }

  /** What the workflow was started with. It never changes. */
  get input(): ParsedInput<Input> {
    return attachmentOf(this, 'input').context.input as ParsedInput<Input>
  }

  get id(): string {
    return attachmentOf(this, 'id').context.workflowId
  }

  /** This attempt at this step, with the idempotency key for calls to other services. */
  get execution(): ExecutionInfo {
    return attachmentOf(this, 'execution').context.execution
  }

  /** Aborted when the step should stop: it was canceled from outside, or the worker is shutting down. */
  get signal(): AbortSignal {
    return attachmentOf(this, 'signal').context.signal
  }

  /** Reads what another step returned: `await this.output(this.charge)`. Throws `OutputMissingError` when it has no output. */
  output<Step extends ReadableStep>(step: Step): Promise<StepOutput<Step>>
  /** Reads what another step returned, or gives the fallback when it has no output. */
  output<Step extends ReadableStep, Fallback>(step: Step, fallback: Fallback): Promise<StepOutput<Step> | Fallback>
  async output(step: unknown, ...fallback: unknown[]): Promise<unknown> {
    const { context } = attachmentOf(this, 'output')
    return context.output(stepOf(this, step), fallback.length > 0 ? { value: fallback[0] } : null)
  }

  /**
   * Tells the world that something has happened: `this.emit('order.shipped', { orderId })`. Written in the transaction that
   * records how this step ended; what a step emits before it throws is forgotten with that attempt.
   */
  emit<const K extends CustomEventName>(type: K, payload: CustomEventPayload<K>): void {
    emit(attachmentOf(this, 'emit').context, type, payload)
  }

  /** Ends the workflow as `canceled`. */
  cancel(reason?: string): never {
    return steer(attachmentOf(this, 'cancel').context, 'cancel', { reason })
  }

  /** Stops here until somebody resumes the workflow, which runs this step again. */
  pause(reason?: string): never {
    return steer(attachmentOf(this, 'pause').context, 'pause', { reason })
  }

  /** Ends this step as `skipped` and goes on with the next one. */
  skip(reason?: string): never {
    return steer(attachmentOf(this, 'skip').context, 'skip', { reason })
  }

  /** Ends the workflow as `finished`, leaving out the steps that are left. */
  finish(result?: unknown): never {
    return steer(attachmentOf(this, 'finish').context, 'finish', { result })
  }

  /** Ends the workflow as `finished` and continues it as a new one: same class, same hero, another input. */
  restart(input: GivenInput<Input>, options?: RestartOptions): never {
    return restart(attachmentOf(this, 'restart').context, input, options)
  }

  /** Runs this step again, at once or after a while. A resumable step goes on where it is, unless it is rewound. */
  reattempt(options?: ReattemptOptions): never {
    return reattempt(attachmentOf(this, 'reattempt').context, options)
  }

  /** Not now: the same attempt begins anew after so long. A hook that calls it keeps a step from running until then. */
  postpone(wait: Duration, reason?: string): never {
    return postpone(attachmentOf(this, 'postpone').context, wait, reason)
  }
}
