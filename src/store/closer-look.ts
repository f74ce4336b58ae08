/** What a change may ask for besides, once it has seen its workflow under the lock. */
import type { UndoFacts } from './change.ts'
import type { StartOrder } from './start-order.ts'

/** What a second look is to bring, once the counters are known. */
export interface CloserLook {
  /** Nodes whose latest ended attempts are needed. */
  readonly parents: readonly string[]
  /** Workflows to be started in the same transaction. */
  readonly starts: readonly StartOrder[]
  /** Workflows whose states are needed. */
  readonly states: readonly string[]
  /** Rows that wait in slots with this beginning, in order, up to so many. */
  readonly waiting: readonly { readonly prefix: string; readonly count: number }[]
  /** Whether rows go on that the facts do not show. */
  readonly others: boolean
  /** What the workflow has done, for a rollback: all of it, what comes next, or what is undone once more. */
  readonly undo?: boolean | UndoStretch | UndoAgain
  /** Nodes of whose ended attempts those behind one number and up to another are not kept any longer. */
  readonly outworn: readonly { readonly node: string; readonly after: number; readonly upTo: number }[]
  /** Executions whose decisions are needed. */
  readonly decided?: readonly string[]
  /** Nodes for which signals may have been kept. */
  readonly signaled?: readonly string[]
  /** Of the signals for these nodes one that was taken is needed as well, if it has this key. */
  readonly signalKey?: string | null
  /** The same for signals with these ids. */
  readonly signals?: readonly string[]
}

/** What a rollback goes on with: so much of what had ended before as it needs for its next step, newest first. */
export interface UndoStretch {
  /** The execution that was being undone, which is shown as well. */
  readonly undone: string
  /** The number of an event: whatever ended with a later one is settled. */
  readonly below: number
  /** Asked about more and more. What is never enough is replaced by all that the workflow has done. */
  isEnough(facts: UndoFacts): boolean
  /** All names that a node has had, whose attempts are shown together. */
  namesOf(node: string): readonly string[]
}

/** What is undone once more, out of the order of a rollback: nothing else that the workflow has done matters then. */
export interface UndoAgain {
  /** Executions that are undone, or that were to undo something: all attempts at their nodes are shown, of both kinds. */
  readonly of: readonly string[]
  /** Up to so many others that wait to be undone once more are shown as well. */
  readonly waiting: number
}
