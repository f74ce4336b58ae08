/** A workflow that goes on, and of which nothing is left to go on: its last node has ended while it was held. Pure changes to a draft. */
import type { ChangeDraft, Request } from './change-draft.ts'
import { failedNodes } from './failed-nodes.ts'
import { isBeaten } from './joins.ts'
import { currentName, type Plan } from './plan.ts'
import { finishWorkflow } from './wind-down.ts'

/** What a join did without may still run, and is waited for. What has failed keeps it from its end. */
export function endIfOver(draft: ChangeDraft, plan: Plan, request: Request): void {
  if (draft.state !== 'ready' || draft.rows().some(row => !isBeaten(draft, plan, currentName(plan, row.node)))) return
  if (draft.letters().length > 0 || failedNodes(draft, plan).length > 0) return
  if (draft.rows().length === 0) draft.moveWorkflow('finished', request)
  else finishWorkflow(draft, plan)
}
