/** What a `child` node does when it is run: begins to wait for another workflow, or looks at what became of it. */
import type { Child } from '../definition/step-names.ts'
import { ChildNotFinishedError, InvalidArgumentError, NothingCameError, WorkflowAlreadyActiveError } from '../errors.ts'
import { describeSpan } from '../primitives/describe-span.ts'
import type { ClaimedExecution } from '../store/records.ts'
import type { ChildHost } from './child-host.ts'
import { isEnd } from './end-watch.ts'
import type { StepReport } from './step-report.ts'
import { cameIn, childIn, heldBy } from './stored-input.ts'

export interface ChildRun {
  readonly claimed: ClaimedExecution
  readonly children: ChildHost
}

export interface ChildRules {
  /** The name of the node, for errors. */
  readonly name: string
  /** The class, or its stored name. Asked when one is started, because classes may refer to each other. */
  workflow(): unknown
  /** What the child is started with, or the workflow that is waited for. */
  start(): unknown
  readonly timeoutMs: number | null
}

/** Before the wait a report that begins it; after it the workflow that has finished. */
export async function runChild(
  { claimed: { execution }, children }: ChildRun,
  { name, workflow, start, timeoutMs }: ChildRules,
): Promise<StepReport | { readonly child: Child }> {
  const { workflowId, input } = execution
  if (cameIn(input)?.came === 'nothing') throw new NothingCameError(workflowId, name, describeSpan(timeoutMs ?? 0))
  const key = childIn(input)
  if (key !== null) {
    const { workflow: ended, child } = await children.read(key.workflowId)
    if (ended.state === 'finished') return { child }
    throw new ChildNotFinishedError(workflowId, name, ended.id, ended.state)
  }
  await refuseIfHeld(children, input)
  const what: unknown = await start()
  if (typeof what !== 'object' || what === null) {
    throw new InvalidArgumentError(
      `The \`start\` of child ${name} must return { hero, input } or { workflowId }, not ${String(what)}.`,
    )
  }
  if ('workflowId' in what) return { kind: 'watch', workflowId: await children.watch(String(what.workflowId)) }
  return { kind: 'child', order: await children.prepare(workflow(), what) }
}

/** Another workflow held the place when the child was to be started. It may have ended since. */
async function refuseIfHeld(children: ChildHost, input: string | null): Promise<void> {
  const holder = heldBy(input)
  if (holder === null) return
  const { workflow } = await children.read(holder)
  if (isEnd(workflow.state)) return
  throw new WorkflowAlreadyActiveError(workflow.type, `${workflow.hero?.type} ${workflow.hero?.idText}`, holder)
}
