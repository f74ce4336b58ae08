/**
 * The names a workflow class offers to its verbs, computed from its methods. Each class is looked at once (`Names`),
 * whatever the number of steps, and reasons are given as literal types, which editors show in messages and lists.
 */

import type { Reconciled, Undoing } from './compensation.ts'
import type { Decision } from './decision.ts'
import type { Iteration } from './iteration.ts'
import type { WorkflowMember } from './node-name.ts'
import type { Signal } from './signal.ts'
import type { Unstorable } from './storable.ts'
import type { Transaction } from './transaction.ts'

/** Public members of the user's own class. */
type OwnKey<W> = Exclude<keyof W, WorkflowMember> & string

/** Which verb a method belongs to, told by what it receives. */
type Kind<Method> = Method extends () => any
  ? 'step'
  : Method extends (first: infer First, ...rest: any[]) => any
    ? First extends Iteration<any>
      ? 'resumable'
      : Is<First, Child<any>> extends true
        ? 'child'
        : Is<First, Decision<any>> extends true
          ? 'human'
          : Is<First, Signal<any>> extends true
            ? 'signal'
            : Is<First, Undoing<any, any>> extends true
              ? 'undo'
              : Is<First, Transaction> extends true
                ? 'transactional'
                : 'item'
    : never

/** Not by what it has, which an item could have as well: by being nothing else. */
type Is<T, Wanted> = T extends Wanted ? (Wanted extends T ? true : false) : false

type Named<W, Wanted> = {
  [K in OwnKey<W>]: [Kind<W[K]>] extends [never] ? never : Kind<W[K]> extends Wanted ? K : never
}

type Storing<W, Wanted> = {
  [K in OwnKey<W>]: [Kind<W[K]>] extends [never]
    ? never
    : Kind<W[K]> extends Wanted
      ? [Unstorable<MethodResult<W[K]>>] extends [never]
        ? K
        : `${K} returns a value that cannot be stored`
      : never
}

/** What looks like the method of a message and is not: the reason, in place of its name. */
type NearlyTold<W> = {
  [K in OwnKey<W>]: W[K] extends (first: infer First, ...rest: any[]) => any
    ? [Kind<W[K]>, First] extends ['item', { payload: any }]
      ? `${K} must receive a Signal: ${K}({ payload }: Signal<...>)`
      : never
    : never
}

type Asking<W> = {
  [K in OwnKey<W>]: W[K] extends () => boolean | Promise<boolean> ? K : never
}

type Settling<W> = {
  [K in OwnKey<W>]: W[K] extends () => Reconciled | Promise<Reconciled> ? K : never
}

/** An interface and not an alias, because then messages list the names themselves. */
export interface Names<W> {
  /** Methods that can be declared with `step`. */
  readonly step: Storing<W, 'step'>[OwnKey<W>]
  /** Methods that can be declared with `transactionalStep`: they receive a `Transaction`. */
  readonly transactional: Storing<W, 'transactional'>[OwnKey<W>]
  /** Methods that can be declared with `resumableStep`. */
  readonly resumable: Storing<W, 'resumable'>[OwnKey<W>]
  /** Methods that can be declared with `each`: they receive one item. */
  readonly item: Storing<W, 'item'>[OwnKey<W>]
  /** Methods that can be declared with `child`. */
  readonly child: Storing<W, 'child'>[OwnKey<W>]
  /** Methods that can be declared with `human`. */
  readonly human: Storing<W, 'human'>[OwnKey<W>]
  /** Methods that can be declared with `waitFor`: they receive a `Signal`. */
  readonly signal: Storing<W, 'signal'>[OwnKey<W>] | NearlyTold<W>[OwnKey<W>]
  /** Methods that can undo a node: they receive a `Compensation`, or nothing. */
  readonly undo: Named<W, 'undo' | 'step'>[OwnKey<W>]
  /** Methods that can tell whether a lost call happened. */
  readonly reconcile: Settling<W>[OwnKey<W>]
  /** Methods that can be pointed at as nodes. */
  readonly node: Named<W, 'step' | 'transactional' | 'resumable' | 'item' | 'child' | 'human' | 'signal'>[OwnKey<W>]
  /** Methods that answer yes or no. */
  readonly test: Asking<W>[OwnKey<W>]
}

/** The steps that can be told something: any name where there is no class, as in a graph that was built at run time. */
export type ToldName<W, Kind extends 'human' | 'signal'> = 0 extends 1 & W ? string : Names<W>[Kind]

/** The methods of a workflow class that can be steps. */
export type StepName<W> = Names<W>['node']

type MethodResult<Method> = Method extends (...args: any[]) => infer R ? Awaited<R> : never

/** What a node leaves behind: what its method returned, or for an `each` node all that it returned, in order. */
export type OutputOf<W, K> = K extends keyof W ? MethodOutput<W[K]> : never

/** What a node with this method leaves behind. */
export type MethodOutput<Method> = Method extends (...args: any[]) => infer R
  ? Kind<Method> extends 'item'
    ? Awaited<R>[]
    : Awaited<R>
  : never

/** What a method that is declared with `each` receives. */
export type ItemOf<W, K> = K extends keyof W
  ? W[K] extends (item: infer Item, ...rest: any[]) => any
    ? Item
    : never
  : never

/**
 * What a compensation receives: `Compensation<OrderWorkflow['charge']>`, or the type of an output, with that of the item where
 * there is one.
 */
export type Compensation<Of = unknown, Item = ItemIn<Of>> = Undoing<
  Of extends (...args: any[]) => infer R ? Awaited<R> : Of,
  Item
>

type ItemIn<Of> = Of extends (first: infer First, ...rest: any[]) => any
  ? [Kind<Of>] extends ['item']
    ? First
    : undefined
  : unknown

declare const childType: unique symbol

/** The workflow that a node has started, or waited for, after its end. */
export interface Child<W = any> {
  readonly id: string
  /** The result of the workflow: the output of the step that its class names, else of the last one that completed. */
  result(): Promise<unknown>
  /** What one of its steps returned; `undefined` when that did not complete. */
  output<const K extends StepName<W>>(step: K): Promise<OutputOf<W, K>>
  readonly [childType]?: W
}
