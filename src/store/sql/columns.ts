/**
 * The column lists of the selects, beside the decoders that read them.
 */
import { raw, type Sql } from './sql.ts'

/** A workflow under alias `w`. Names that clash with an execution's carry the prefix `w_`. */
export const workflowColumns: Sql = raw(
  'w.id as w_id, w.type, w.hero_type, w.hero_id, w.hero_id_kind, w.state as w_state, w.pause_cause, w.allow_multiple, ' +
    'w.idempotency_key, w.generation as w_generation, w.frozen, w.blocked_by, w.finishing, w.rollback, w.partial, w.rounds, w.crooked, w.open_letters, w.watched, w.lane as w_lane, w.parent_id, w.parent_node, ' +
    'w.continuation, w.continued_as, w.continues, w.deadline_at, w.version, w.created_at as w_created_at, w.paused_at, w.ended_at',
)

/** An active execution under alias `a`. */
export const activeColumns: Sql = raw(
  'a.workflow_id, a.slot, a.id, a.node, a.node_name, a.kind, a.attempt, a.ordinal, a.state, a.queue, a.handler, a.lane, a.generation, ' +
    'a.priority, a.created_at, a.due_at, a.started_at, a.owner, a.fence, a.failures, a.crashes, a.start_mark, ' +
    'a.held_from, a.cursor_value, a.completed_iterations, a.total_iterations, a.runs, a.input as a_input, ' +
    'a.ancestry_hash, a.parents',
)

/** What is needed of the latest attempt of a node, under alias `e`. */
export const latestColumns: Sql = raw(
  'e.workflow_id, e.id, e.node, e.attempt, e.ordinal, e.state, e.outcome, e.reason, e.cursor_value, e.completed_iterations, ' +
    'e.total_iterations, e.runs, e.input, e.ancestry_hash, e.parents',
)

/** An event under alias `v`. */
export const eventColumns: Sql = raw(
  'v.id, v.workflow_id, v.type, v.execution_id, v.node, v.node_name, v.attempt, v.from_state, v.to_state, v.at, v.requested_by, ' +
    'v.reason, v.outcome, v.since, v.payload',
)

/** An ended execution under alias `e`. */
export const endedColumns: Sql = raw(
  'e.workflow_id, e.id, e.node, e.node_name, e.kind, e.attempt, e.ordinal, e.state, e.outcome, e.created_at, e.due_at, ' +
    'e.started_at, e.ended_at, e.owner, e.error_class, e.error_message, e.error_stack, e.reason, ' +
    'e.cursor_value, e.completed_iterations, e.total_iterations, e.runs, e.ancestry_hash, e.parents',
)
