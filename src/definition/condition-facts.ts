/** What there is to ask about when a stored condition falls due. */

/** What a condition may ask about. */
export interface ConditionFacts {
  /** What nodes have returned, by their names. */
  readonly outputs: Readonly<Record<string, unknown>>
  /** What the parent has returned, where there is only one. */
  readonly output: unknown
  /** The arguments of the condition itself. */
  readonly args: unknown
  /** What the workflow was started with. */
  readonly input: unknown
  readonly workflowId: string
  /** The name of the condition. */
  readonly node: string
}
