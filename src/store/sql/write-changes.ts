/**
 * Applies what was decided, as sets: one statement per kind of write, whatever the number of workflows. The caller
 * holds the locks on the workflows.
 */
import type { WorkflowChange, WorkflowUpdate } from '../change.ts'
import type { SqlContext } from './context.ts'
import { endedStates } from './ended-states.ts'
import { replaceGraphs } from './frozen-graphs.ts'
import { pieces, rowSet } from './row-set.ts'
import { raw, type Sql, sql } from './sql.ts'
import { insertWakeEvents, insertWakes } from './watches.ts'
import { deleteActive, insertActive, moveActive, replaceActive } from './write-active.ts'
import { clearFanIns, deleteFanIns, insertFanIns, updateFanIns } from './write-fan-ins.ts'
import { insertEvents, insertHistory } from './write-records.ts'

/** How many rows one statement writes. A group of small changes always fits. */
const maxRows = 5000

export function changeStatements(context: SqlContext, changes: readonly WorkflowChange[]): Sql[] {
  const statements: Sql[] = []
  const add = <T>(items: readonly T[], write: (context: SqlContext, items: readonly T[]) => Sql) => {
    for (const piece of pieces(items, maxRows)) statements.push(write(context, piece))
  }
  const of = <T>(part: (change: WorkflowChange) => readonly T[]) => changes.flatMap(part)
  const withId = <T>(part: (change: WorkflowChange) => readonly T[]) =>
    changes.flatMap(change => part(change).map(item => ({ ...item, workflowId: change.workflowId })))
  add(
    of(change => change.endings),
    insertHistory,
  )
  add(
    withId(change => change.removals),
    deleteActive,
  )
  add(
    of(change => change.replacements),
    replaceActive,
  )
  add(
    of(change => change.insertions),
    insertActive,
  )
  add(
    withId(change => change.moves),
    moveActive,
  )
  add(
    withId(change => change.fanIns.removed),
    deleteFanIns,
  )
  add(
    changes.filter(change => change.fanIns.cleared).map(change => change.workflowId),
    clearFanIns,
  )
  add(
    withId(change => change.fanIns.updated),
    updateFanIns,
  )
  add(
    withId(change => change.fanIns.inserted),
    insertFanIns,
  )
  add(
    changes.flatMap(({ workflowId, update }) => (update === null ? [] : { ...update, workflowId })),
    updateWorkflows,
  )
  const graphs = changes.flatMap(({ workflowId, graph }) => (graph === null ? [] : { ...graph, workflowId }))
  if (graphs.length > 0) statements.push(...replaceGraphs(context, graphs))
  const waking = changes.filter(change => change.wakes).map(change => change.workflowId)
  add(waking, insertWakes)
  add(waking, insertWakeEvents)
  add(
    of(change => change.events),
    insertEvents,
  )
  return statements
}

function updateWorkflows(context: SqlContext, updates: readonly (WorkflowUpdate & { workflowId: string })[]): Sql {
  const set = rowSet<WorkflowUpdate & { workflowId: string }>(
    {
      id: ['id', update => update.workflowId],
      state: ['text', update => update.state],
      pause_cause: ['text', update => update.pauseCause],
      blocked_by: ['text', update => update.blockedBy],
      finishing: ['int', update => (update.finishing ? 1 : 0)],
      crooked: ['int', update => (update.crooked ? 1 : 0)],
      generation: ['int', update => update.generation],
      frozen: ['text', update => update.frozen],
    },
    updates,
  )
  return context.dialect.updateFrom(context.tables.workflows, context.rows('r', set), raw('a.id = r.id'), [
    // The times go by the state that was there before, so they come first: a database may assign in order.
    ['paused_at', sql`case when r.state = 'paused' then coalesce(a.paused_at, ${context.now}) end`],
    ['ended_at', sql`case when r.state in ${raw(endedStates)} then ${context.now} end`],
    ['state', raw('r.state')],
    ['pause_cause', raw('r.pause_cause')],
    ['blocked_by', raw('r.blocked_by')],
    ['finishing', raw('r.finishing')],
    ['crooked', raw('r.crooked')],
    ['generation', raw('r.generation')],
    ['frozen', raw('r.frozen')],
  ])
}
