/** What starts a child: the class says what it needs, or a workflow that exists is named. Only types. */
import type { StartWhat } from './start-types.ts'

/** A workflow that runs already, or has ended, to be waited for instead of starting one. */
export interface ExistingWorkflow {
  readonly workflowId: string
}

/** Distributes over the class first, so that literals in what is returned do not widen. */
export type ChildStart<W, X> = X extends unknown ? (workflow: W) => ChildWhat<X> | Promise<ChildWhat<X>> : never

type ChildWhat<X> = StartWhat<X> | ExistingWorkflow
