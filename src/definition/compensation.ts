/** What a method, or a job, receives that undoes a node. */

/** A call that undoes. `Output` is what the node that is undone returned, `Item` what an item of an `each` node was called with. */
export interface Undoing<Output = unknown, Item = unknown> {
  /** What the node returned; `undefined` when it failed or was lost before it returned. */
  readonly output: Output | undefined
  /** What an item of an `each` node was called with; `undefined` for any other node. */
  readonly item: Item
  /** What the workflow was started with. */
  readonly input: unknown
  /** Why the workflow is rolled back. */
  readonly reason: {
    readonly kind: 'failure' | 'cancel'
    readonly message: string
    /** Who asked for it; `null` when nobody did. */
    readonly by: string | null
  }
  /** The same on every attempt at this compensation, and other than that of the node. */
  readonly idempotencyKey: string
  /** The name of the node that is undone. */
  readonly node: string
  /** Number of this attempt at undoing it. */
  readonly attempt: number
}

/** What a `reconcile` method answers about a call that was lost: whether it happened, and what it returned then. */
export interface Reconciled<Output = unknown> {
  readonly happened: boolean
  readonly output?: Output
}
