/** Executions of all workflows, or of one class, for code that has the class at hand: steps are checked by the compiler. */
import type { StepName } from '../definition/step-names.ts'
import type { AnyWorkflow } from '../definition/workflow.ts'
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import { typesOf } from '../engine/courses.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import type { Store } from '../store/store.ts'
import { type ExecutionListOptions, type ExecutionSummary, listExecutions } from './views/execution-list.ts'
import type { Page } from './views/view-options.ts'

export interface ExecutionsOptions extends Omit<ExecutionListOptions, 'node' | 'type'> {
  /** At this step; of an `each` step also its items. */
  readonly step?: string
}

export interface ExecutionsOfOptions<W extends AnyWorkflow> extends Omit<ExecutionsOptions, 'step'> {
  /** At this step; of an `each` step also its items. */
  readonly step?: StepName<W>
}

const known = optionNames<ExecutionsOptions>({ state: 0, step: 0, queue: 0, due: 0, limit: 0, cursor: 0 })

/** An execution in a list of many workflows. Its payloads are in the history of its workflow. */
export interface ListedExecution extends Omit<ExecutionSummary, 'name'> {
  /** What people call the step. */
  readonly step: string
}

export async function executionsPage(
  store: Store,
  definition: WorkflowDefinition | null,
  given: ExecutionsOptions,
): Promise<Page<ListedExecution>> {
  refuseUnknownOptions('executions', given, known)
  const { step, ...options } = given
  const { items, nextCursor } = await listExecutions(store, {
    ...options,
    ...(step === undefined ? {} : { node: step }),
    ...(definition === null ? {} : { type: typesOf(definition) }),
  })
  return { items: items.map(({ name, ...rest }) => ({ ...rest, step: name })), nextCursor }
}
