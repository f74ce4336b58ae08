/** What users write in the static block for sagas and control flow: compensations, branches, joins, people, messages. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Duration } from '../primitives/duration.ts'
import type { Decision } from './decision.ts'
import type { NodeRef } from './node-ref.ts'
import type { RetryNotation } from './retry-notation.ts'
import type { Signal } from './signal.ts'
import type { Compensation, Names } from './step-names.ts'
import type { DependencyOption, PolicyNotation, PolicyPicker, StepOptions } from './step-options.ts'
import type { Transaction } from './transaction.ts'

/** Undoes a step. A name alone stands for `{ step: name }`. */
export interface CompensationOptions<Name> {
  /** The method that undoes; it receives a `Compensation`, or nothing. */
  readonly step: Name
  /** How often and after which waits it is called again when it throws. Default: three attempts. */
  readonly retry?: RetryNotation
  /** How long an attempt may take. */
  readonly timeout?: Duration
  /** False: it is called once, whatever comes of it. Default: true. */
  readonly idempotent?: boolean
  /** False: it is left out for an attempt that has failed. Default: true, since a failed call may have done something. */
  readonly afterFailure?: boolean
  /** True: the method receives a `Transaction` as well. */
  readonly transaction?: false
}

/** Undoes a step in a transaction that is committed with the outcome of undoing it: `undo(compensation, transaction)`. */
export interface TransactionalCompensation<Name> extends Omit<CompensationOptions<Name>, 'idempotent' | 'transaction'> {
  readonly transaction: true
}

/** How a node is undone when the workflow is rolled back. */
export interface Compensate<W, K, U> {
  readonly compensate?:
    | Undo<W, K, U>
    | CompensationOptions<Undo<W, K, U>>
    | TransactionalCompensation<UndoInTransaction<W, K, U>>
}

/** Lets a compensation pass that accepts what the node returns, or says why not. */
type Undo<W, K, U> = [Names<W>['undo']] extends [U]
  ? U
  : Method<W, U> extends (undo: Compensation<Method<W, K>>) => any
    ? U
    : Method<W, U> extends (undo: Compensation<Method<W, K>>, transaction: Transaction) => any
      ? `${U & string} receives a transaction: { step, transaction: true }`
      : `${U & string} does not accept what ${K & string} returns`

/** The same for one that receives a transaction as well. */
type UndoInTransaction<W, K, U> = [Names<W>['undo']] extends [U]
  ? U
  : Method<W, U> extends (undo: Compensation<Method<W, K>>, transaction: Transaction) => any
    ? U
    : `${U & string} does not accept what ${K & string} returns`

type Method<W, U> = U extends keyof W ? W[U] : never

/** Code that must not be called twice. */
export interface CodeOptions<W> {
  /** False: the engine calls it once, ever. A call that was lost is settled by `reconcile`, else by a person. Default: true. */
  readonly idempotent?: boolean
  /** The method that tells whether a lost call happened, as `{ happened, output }`. */
  readonly reconcile?: Names<W>['reconcile']
}

/** Compensation and code where the output is not told by a method. */
export type UncheckedCode<W> = CodeOptions<W> & UncheckedCompensation<W>

export interface UncheckedCompensation<W> {
  readonly compensate?:
    | Names<W>['undo']
    | CompensationOptions<Names<W>['undo']>
    | TransactionalCompensation<Names<W>['undo']>
}

/** Where a node without code stands. */
export type StructureOptions<W> = Pick<
  StepOptions<W>,
  'dependsOn' | 'alsoDependsOn' | 'beforeStep' | 'afterStep' | 'metadata'
>

/** When a join goes on: `all` branches, `any` of them, so many, or once all are `settled` in whatever way. */
export type JoinNotation = 'all' | 'any' | 'settled' | { readonly atLeast: number }

export interface ForkOptions<W> extends StructureOptions<W> {
  /** When the next step goes on. False: at once, and nothing waits for the branches. Default: `all`. */
  readonly join?: JoinNotation | false
}

export interface JoinOptions<W> extends Omit<StructureOptions<W>, 'dependsOn' | 'alsoDependsOn'> {
  /** What comes together, each a branch of its own. */
  readonly dependsOn: Exclude<DependencyOption<W>, null>
  /** Default: `all`. */
  readonly rule?: JoinNotation
}

/** Tells somebody else after so long, counted from when the node began to wait. */
export interface Escalation {
  readonly after: Duration
  readonly to: string | readonly string[]
}

export interface HumanOptions<W, Data = unknown> extends Omit<StepOptions<W>, 'timeout'> {
  /** What is asked. */
  readonly prompt?: string
  /** What the data of a decision must fit: a schema, or what `defineForm` returned. */
  readonly form?: StandardSchemaV1<any, Data>
  /** Who is asked. For people and inboxes: the engine lets everybody decide. */
  readonly assignTo?: string | readonly string[]
  /** How many people must agree. Default: 1. */
  readonly quorum?: number
  /** How long the node waits; then it fails as `timed_out`. Default: for ever. */
  readonly deadline?: Duration
  readonly escalate?: Escalation | readonly Escalation[]
  /** What a rejection does: ends the workflow as `aborted`, rolls it back, or goes back to an earlier step. Default: `abort`. */
  readonly onReject?: 'abort' | 'rollback' | { readonly backTo: Names<W>['node'] | NodeRef }
}

export interface WaitForOptions<W, Payload = unknown> extends Omit<StepOptions<W>, 'timeout'> {
  /** A schema that the payload must fit. */
  readonly payload?: StandardSchemaV1<any, Payload>
  /** How long the node waits. Default: for ever. */
  readonly timeout?: Duration
  /** What happens when nothing came in time. Default: what `onException` says. */
  readonly onTimeout?: PolicyNotation | PolicyPicker
}

/** The data that the method of a human node wants. */
export type DecisionData<W, K> = K extends keyof W
  ? W[K] extends (decision: Decision<infer Form>, ...rest: any[]) => any
    ? Decision<Form>['data']
    : unknown
  : unknown

/** The payload that the method of a signal node wants. */
export type SignalPayload<W, K> = K extends keyof W
  ? W[K] extends (signal: infer S, ...rest: any[]) => any
    ? S extends Signal<any>
      ? S['payload']
      : unknown
    : unknown
  : unknown
