/**
 * Turns rows into records. Drivers disagree about numbers, so every column is read by its meaning, not by the type
 * that happened to arrive.
 */
import type { LatestEnding } from '../change.ts'
import type {
  ActiveExecution,
  Ancestry,
  ClaimedExecution,
  EndedExecution,
  EventRecord,
  HeroKey,
  Progress,
  StartMark,
  WorkflowRecord,
} from '../records.ts'
import type { Row } from './dialect.ts'

/** How marks are stored. Code that knows of the first alone takes the second for none, and does no harm by that. */
export const callMark = 1
export const turnMark = 2

export function text(row: Row, column: string): string {
  return String(row[column])
}

export function startMark(row: Row): StartMark {
  const mark = int(row, 'start_mark')
  return mark === turnMark ? 'turn' : mark === callMark
}

export function optionalText(row: Row, column: string): string | null {
  const value = row[column]
  return value === null || value === undefined ? null : String(value)
}

export function int(row: Row, column: string): number {
  return Number(row[column])
}

export function optionalInt(row: Row, column: string): number | null {
  const value = row[column]
  return value === null || value === undefined ? null : Number(value)
}

/** JSON columns come as text, or already parsed where a driver insists. */
export function json(row: Row, column: string): string | null {
  const value = row[column]
  if (value === null || value === undefined) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export function heroKey(row: Row): HeroKey | null {
  const type = optionalText(row, 'hero_type')
  if (type === null) return null
  return { type, idText: text(row, 'hero_id'), idKind: text(row, 'hero_id_kind') as HeroKey['idKind'] }
}

/** Columns of a workflow, each prefixed so that they can stand beside those of an execution. */
export function workflowRecord(row: Row): WorkflowRecord {
  return {
    id: text(row, 'w_id'),
    type: text(row, 'type'),
    hero: heroKey(row),
    state: text(row, 'w_state') as WorkflowRecord['state'],
    pauseCause: optionalText(row, 'pause_cause') as WorkflowRecord['pauseCause'],
    allowMultiple: int(row, 'allow_multiple') === 1,
    idempotencyKey: optionalText(row, 'idempotency_key'),
    generation: int(row, 'w_generation'),
    frozen: optionalText(row, 'frozen'),
    blockedBy: optionalText(row, 'blocked_by'),
    finishing: int(row, 'finishing') === 1,
    rollback: parsed(row, 'rollback'),
    partial: int(row, 'partial') === 1,
    rounds: parsed(row, 'rounds'),
    crooked: int(row, 'crooked') === 1,
    openLetters: int(row, 'open_letters'),
    version: int(row, 'version'),
    watched: int(row, 'watched') === 1,
    lane: text(row, 'w_lane'),
    continuation: json(row, 'continuation'),
    continuedAs: optionalText(row, 'continued_as'),
    continues: optionalText(row, 'continues'),
    deadlineAt: optionalInt(row, 'deadline_at'),
    parent:
      optionalText(row, 'parent_id') === null
        ? null
        : { workflowId: text(row, 'parent_id'), node: text(row, 'parent_node') },
    createdAt: int(row, 'w_created_at'),
    pausedAt: optionalInt(row, 'paused_at'),
    endedAt: optionalInt(row, 'ended_at'),
  }
}

export function activeExecution(row: Row): ActiveExecution {
  return {
    workflowId: text(row, 'workflow_id'),
    slot: text(row, 'slot'),
    id: text(row, 'id'),
    node: text(row, 'node'),
    nodeName: optionalText(row, 'node_name'),
    kind: text(row, 'kind') as ActiveExecution['kind'],
    attempt: int(row, 'attempt'),
    ordinal: int(row, 'ordinal'),
    state: text(row, 'state') as ActiveExecution['state'],
    queue: text(row, 'queue'),
    handler: text(row, 'handler'),
    lane: text(row, 'lane'),
    generation: int(row, 'generation'),
    priority: int(row, 'priority'),
    createdAt: int(row, 'created_at'),
    dueAt: int(row, 'due_at'),
    startedAt: optionalInt(row, 'started_at'),
    owner: optionalText(row, 'owner'),
    fence: int(row, 'fence'),
    failures: int(row, 'failures'),
    crashes: int(row, 'crashes'),
    startMark: startMark(row),
    heldFrom: optionalText(row, 'held_from') as ActiveExecution['heldFrom'],
    progress: progress(row),
    input: json(row, 'a_input'),
    ancestry: ancestry(row),
  }
}

/** The row of an execution beside that of its workflow. */
export function claimedExecution(row: Row): ClaimedExecution {
  return { execution: activeExecution(row), ...claimedWorkflow(row) }
}

/** What all claimed rows of a workflow share. */
export function claimedWorkflow(row: Row): Omit<ClaimedExecution, 'execution' | 'revision'> {
  return {
    workflow: workflowRecord(row),
    input: json(row, 'input'),
    trace: optionalText(row, 'trace_parent'),
  }
}

export function endedExecution(row: Row): EndedExecution {
  const errorClass = optionalText(row, 'error_class')
  return {
    workflowId: text(row, 'workflow_id'),
    id: text(row, 'id'),
    node: text(row, 'node'),
    nodeName: optionalText(row, 'node_name'),
    kind: text(row, 'kind') as EndedExecution['kind'],
    attempt: int(row, 'attempt'),
    ordinal: int(row, 'ordinal'),
    state: text(row, 'state') as EndedExecution['state'],
    outcome: text(row, 'outcome') as EndedExecution['outcome'],
    createdAt: int(row, 'created_at'),
    dueAt: int(row, 'due_at'),
    startedAt: optionalInt(row, 'started_at'),
    endedAt: int(row, 'ended_at'),
    owner: optionalText(row, 'owner'),
    error:
      errorClass === null
        ? null
        : { className: errorClass, message: text(row, 'error_message'), stack: optionalText(row, 'error_stack') },
    reason: optionalText(row, 'reason'),
    progress: progress(row),
    ancestry: ancestry(row),
  }
}

function parsed<T>(row: Row, column: string): T | null {
  const stored = optionalText(row, column)
  return stored === null ? null : (JSON.parse(stored) as T)
}

export function latestEnding(row: Row): LatestEnding {
  return {
    id: text(row, 'id'),
    node: text(row, 'node'),
    attempt: int(row, 'attempt'),
    ordinal: int(row, 'ordinal'),
    state: text(row, 'state') as LatestEnding['state'],
    outcome: text(row, 'outcome') as LatestEnding['outcome'],
    reason: optionalText(row, 'reason'),
    progress: progress(row),
    input: json(row, 'input'),
    ancestry: ancestry(row),
  }
}

export function ancestry(row: Row): Ancestry {
  const parents = text(row, 'parents')
  return { hash: text(row, 'ancestry_hash'), parents: parents === '' ? [] : parents.split(' ') }
}

export function progress(row: Row): Progress {
  return {
    cursor: json(row, 'cursor_value'),
    completedIterations: int(row, 'completed_iterations'),
    total: optionalInt(row, 'total_iterations'),
    runs: int(row, 'runs'),
  }
}

export function eventRecord(row: Row): EventRecord {
  return {
    id: text(row, 'id'),
    workflowId: text(row, 'workflow_id'),
    type: text(row, 'type'),
    executionId: optionalText(row, 'execution_id'),
    node: optionalText(row, 'node'),
    nodeName: optionalText(row, 'node_name'),
    attempt: optionalInt(row, 'attempt'),
    from: optionalText(row, 'from_state'),
    to: optionalText(row, 'to_state'),
    at: int(row, 'at'),
    by: optionalText(row, 'requested_by'),
    reason: optionalText(row, 'reason'),
    outcome: optionalText(row, 'outcome') as EventRecord['outcome'],
    since: optionalInt(row, 'since'),
    payload: json(row, 'payload'),
  }
}
