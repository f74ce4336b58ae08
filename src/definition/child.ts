/**
 * What a `child` node receives when the workflow that it waited for has finished. Only the compiler looks at its type
 * parameter; the engine makes the value.
 */
import type { StartWhat } from './start-types.ts'
import type { OutputOf, StepName } from './step-names.ts'

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

/** A workflow that runs already, or has ended, to be waited for instead of starting one. */
export interface ExistingWorkflow {
  readonly workflowId: string
}

/** Distributes over the class first, so that literals in what is returned do not widen. */
export type ChildStart<W, X> = X extends unknown ? (workflow: W) => ChildWhat<X> | Promise<ChildWhat<X>> : never

type ChildWhat<X> = StartWhat<X> | ExistingWorkflow
