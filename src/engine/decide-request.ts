/**
 * What becomes of a workflow when someone outside asks: pause, resume, cancel, skip. Pure; a request that the state
 * does not allow throws, and nothing changes.
 */

import { InvalidStateError } from '../errors.ts'
import type { WorkflowChange, WorkflowFacts } from '../store/change.ts'
import { type ActiveExecution, noProgress } from '../store/records.ts'
import { ChangeDraft, type Request } from './change-draft.ts'
import { advance, chainSlot, nextNode, type Plan, type Predecessor, repeat, timerQueue } from './schedule.ts'

/** How long a canceled workflow waits for a running step to stop. */
export const stopGraceMs = 30_000
export const stopTimerSlot = 'timer'

/** At once, also while a step runs: that step records its result, and nothing new starts. */
export function decidePause(facts: WorkflowFacts, request: Request): WorkflowChange | null {
  const { state } = facts.workflow
  if (state === 'paused') return null
  if (state !== 'ready') throw refusal(facts, 'pause', 'Only a workflow that is ready or performing can be paused.')
  const draft = new ChangeDraft(facts)
  for (const row of facts.active) {
    if (row.state === 'scheduled' || row.state === 'suspended') draft.move(row, 'paused', { heldFrom: row.state })
  }
  draft.moveWorkflow('paused', request, 'request')
  return draft.build()
}

/** Held rows go on with their own due time; after an exception the failed step gets a new attempt. */
export function decideResume(facts: WorkflowFacts, request: Request, plan: Plan): WorkflowChange {
  if (facts.workflow.state !== 'paused') throw refusal(facts, 'resume', 'Only a paused workflow can be resumed.')
  const draft = new ChangeDraft(facts)
  const { latest } = facts
  if (facts.active.length > 0) {
    draft.moveWorkflow('ready', request)
    for (const row of facts.active) if (row.state === 'paused') draft.move(row, row.heldFrom ?? 'scheduled')
  } else if (latest === null || facts.workflow.pauseCause === 'finishing') {
    draft.moveWorkflow('finished', request)
  } else if (latest.state === 'failed' || latest.state === 'canceled') {
    draft.moveWorkflow('ready', request)
    repeat(draft, plan, { ...latest, fence: 0 }, { due: { inMs: 0 }, failures: 0, crashes: 0 })
  } else {
    goOnAfter(draft, plan, { ...latest, fence: 0 }, request)
  }
  return draft.build()
}

/** Goes on with the next step, leaving the pause, or ends if none is left. */
function goOnAfter(draft: ChangeDraft, plan: Plan, before: Predecessor, request: Request): void {
  if (nextNode(draft, plan, before.node) === null) {
    draft.moveWorkflow('finished', request)
  } else {
    if (draft.state === 'paused') draft.moveWorkflow('ready', request)
    advance(draft, plan, before)
  }
}

/** The same behind a step that a person skips, but what a person has paused stays paused. */
function goOnBehind(draft: ChangeDraft, plan: Plan, before: Predecessor, request: Request): void {
  const held = draft.facts.workflow.pauseCause === 'request' && nextNode(draft, plan, before.node) !== null
  if (held) advance(draft, plan, before)
  else goOnAfter(draft, plan, before, request)
}

/** At once when nothing runs. A running step is told to stop, and the workflow ends when it has. */
export function decideCancel(facts: WorkflowFacts, request: Request, plan: Plan): WorkflowChange | null {
  const { state } = facts.workflow
  if (state === 'rolling_back') return null
  if (state !== 'ready' && state !== 'paused') throw refusal(facts, 'cancel', 'It has ended.')
  const draft = new ChangeDraft(facts)
  const running = facts.active.filter(row => row.state === 'in_progress')
  for (const row of facts.active) {
    if (row.state !== 'in_progress') draft.end(row, wasBegun(row) ? 'skipped' : 'canceled', 'stopped', { ...request })
  }
  draft.moveWorkflow(running.length > 0 ? 'rolling_back' : 'canceled', request)
  if (running[0]) insertStopTimer(draft, running[0], plan)
  return draft.build()
}

function wasBegun(row: ActiveExecution): boolean {
  return row.state === 'suspended' || row.heldFrom === 'suspended'
}

function insertStopTimer(draft: ChangeDraft, running: ActiveExecution, plan: Plan): void {
  draft.insert({
    slot: stopTimerSlot,
    id: plan.nextId,
    node: '',
    kind: 'timer',
    attempt: 1,
    ordinal: running.ordinal,
    state: 'scheduled',
    queue: timerQueue,
    handler: running.handler,
    generation: running.generation,
    priority: running.priority,
    due: { inMs: stopGraceMs },
    owner: null,
    fence: 0,
    failures: 0,
    crashes: 0,
    progress: noProgress,
  })
}

/** Skips a step that waits, or one that failed; the workflow goes on behind it. */
export function decideSkip(facts: WorkflowFacts, node: string, request: Request, plan: Plan): WorkflowChange {
  const { state } = facts.workflow
  if (state !== 'ready' && state !== 'paused')
    throw refusal(facts, `skip step ${node} of`, 'It is ending or has ended.')
  const draft = new ChangeDraft(facts)
  const row = facts.active.find(active => active.slot === chainSlot)
  if (row) {
    if (row.node !== node) throw refusal(facts, `skip step ${node} of`, `It stands at step ${row.node}.`)
    if (row.state === 'in_progress')
      throw refusal(facts, `skip step ${node} of`, 'The step is running; wait for it, or cancel the workflow.')
    draft.end(row, 'skipped', 'skipped_by_flow_control', { ...request })
    goOnBehind(draft, plan, row, request)
  } else {
    skipFailed(draft, node, request, plan)
  }
  return draft.build()
}

function skipFailed(draft: ChangeDraft, node: string, request: Request, plan: Plan): void {
  const { latest, workflow } = draft.facts
  if (latest === null || latest.node !== node || (latest.state !== 'failed' && latest.state !== 'canceled')) {
    throw refusal(
      draft.facts,
      `skip step ${node} of`,
      `Its last step is ${latest?.node ?? 'none'} (${latest?.state ?? 'none'}).`,
    )
  }
  const row = {
    ...latest,
    workflowId: workflow.id,
    id: plan.skippedId,
    kind: 'forward' as const,
    attempt: latest.attempt + 1,
  }
  const skipped = { ...row, ordinal: latest.ordinal + 1, startedAt: null, owner: null, createdAt: null, dueAt: null }
  draft.insertEnded(skipped, 'skipped', 'skipped_by_flow_control', { ...request })
  goOnBehind(draft, plan, { ...skipped, fence: 0 }, request)
}

function refusal(facts: WorkflowFacts, request: string, remedy: string): InvalidStateError {
  const { id, state } = facts.workflow
  const performing = state === 'ready' && facts.active.some(row => row.state === 'in_progress')
  return new InvalidStateError(id, performing ? 'performing' : state, request, remedy)
}
