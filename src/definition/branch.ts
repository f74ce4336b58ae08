/** The verbs of a branch: those of the static block, except `savePoint`, since a rollback could not stop inside a branch. */
import type {
  CodeOptions,
  Compensate,
  DecisionData,
  ForkOptions,
  HumanOptions,
  JoinOptions,
  SignalPayload,
  UncheckedCode,
  UncheckedCompensation,
  WaitForOptions,
} from './flow-options.ts'
import type { EachJobOptions, JobStepOptions } from './job-step-options.ts'
import type { NodeRef } from './node-ref.ts'
import type { ItemOf, Names, OutputOf } from './step-names.ts'
import type { ChildOptions, EachOptions, ResumableStepOptions, StepOptions, WorkflowTest } from './step-options.ts'
import type { StorableResult } from './storable.ts'
import type { TaskOptionsFor } from './task-options.ts'

/**
 * What the function that describes a branch receives. The verbs mean what they mean in the static block, where they are
 * described: the first member follows the fork or the condition, each further one the member before it.
 */
export interface Branch<W> {
  step<const K extends Names<W>['step'], const U extends Names<W>['undo']>(
    name: K,
    options?: StepOptions<W> & CodeOptions<W> & Compensate<W, K, U>,
  ): NodeRef<OutputOf<W, K>>
  transactionalStep<const K extends Names<W>['transactional'], const U extends Names<W>['undo']>(
    name: K,
    options?: StepOptions<W> & Compensate<W, K, U>,
  ): NodeRef<OutputOf<W, K>>
  resumableStep<const K extends Names<W>['resumable'], const U extends Names<W>['undo']>(
    name: K,
    options?: ResumableStepOptions<W> & Compensate<W, K, U>,
  ): NodeRef<OutputOf<W, K>>
  task<
    const K extends Names<W>['step'] | Names<W>['transactional'] | Names<W>['resumable'],
    const U extends Names<W>['undo'],
  >(name: K, options?: TaskOptionsFor<W, K> & Compensate<W, K, U>): NodeRef<OutputOf<W, K>>
  each<const K extends Names<W>['item'], const U extends Names<W>['undo']>(
    name: K,
    options: EachOptions<W, ItemOf<W, K>> & Compensate<W, K, U>,
  ): NodeRef<OutputOf<W, K>>
  job<Args extends object, Output>(
    name: string,
    options: JobStepOptions<W, Args, Output> & UncheckedCode<W>,
  ): NodeRef<Output>
  eachJob<Args extends object, Output>(
    name: string,
    options: EachJobOptions<W, Args, Output> & UncheckedCompensation<W>,
  ): NodeRef<Output[]>
  child<const K extends Names<W>['child'], X extends abstract new () => unknown, const U extends Names<W>['undo']>(
    name: K,
    options: ChildOptions<W, X> & Compensate<W, K, U>,
  ): NodeRef<OutputOf<W, K>>
  human<const K extends Names<W>['human'], const U extends Names<W>['undo']>(
    name: K,
    options?: HumanOptions<W, DecisionData<W, K>> & Compensate<W, K, U>,
  ): NodeRef<OutputOf<W, K>>
  waitFor<const K extends Names<W>['signal'], const U extends Names<W>['undo']>(
    name: K,
    options?: WaitForOptions<W, SignalPayload<W, K>> & Compensate<W, K, U>,
  ): NodeRef<OutputOf<W, K>>
  inline<R>(body: ((workflow: W) => R) & StorableResult<R>): NodeRef<Awaited<R>>
  inline<R>(
    nameOrOptions: string | (StepOptions<W> & UncheckedCode<W>),
    body: ((workflow: W) => R) & StorableResult<R>,
  ): NodeRef<Awaited<R>>
  inline<R>(
    name: string,
    options: StepOptions<W> & UncheckedCode<W>,
    body: ((workflow: W) => R) & StorableResult<R>,
  ): NodeRef<Awaited<R>>
  condition<const K extends Names<W>['test']>(name: K, branches: ConditionBranches<W>): NodeRef<boolean>
  condition(name: string, test: WorkflowTest<W>, branches: ConditionBranches<W>): NodeRef<boolean>
  fork(name: string, branches: Readonly<Record<string, DescribeBranch<W>>>, options?: ForkOptions<W>): NodeRef
  parallel(name: string, members: DescribeBranch<W>, options?: ForkOptions<W>): NodeRef
  join(name: string, options: JoinOptions<W>): NodeRef
  node(name: string): NodeRef
}

/** Describes a branch by its verbs, at once. */
export type DescribeBranch<W> = (branch: Branch<W>) => unknown

/** What runs when the answer is yes, what when it is no; one of them may be left out. */
export interface ConditionBranches<W> extends Omit<StepOptions<W>, 'if' | 'skipIf'> {
  readonly then?: DescribeBranch<W>
  readonly else?: DescribeBranch<W>
}
