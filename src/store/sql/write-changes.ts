/**
 * Applies what was decided, as sets: one statement per kind of write, whatever the number of workflows. The caller
 * holds the locks on the workflows.
 */
import type { WorkflowChange } from '../change.ts'
import type { SqlContext } from './context.ts'
import { endedStates } from './ended-states.ts'
import { rowSet } from './row-set.ts'
import { raw, type Sql, sql } from './sql.ts'
import { deleteActive, insertActive, moveActive, replaceActive } from './write-active.ts'
import { insertEvents, insertHistory } from './write-records.ts'

export function changeStatements(context: SqlContext, changes: readonly WorkflowChange[]): Sql[] {
  const statements: Sql[] = []
  const add = <T>(items: readonly T[], write: (context: SqlContext, items: readonly T[]) => Sql) => {
    if (items.length > 0) statements.push(write(context, items))
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
    changes.filter(change => change.state !== null),
    updateWorkflows,
  )
  add(
    of(change => change.events),
    insertEvents,
  )
  return statements
}

function updateWorkflows(context: SqlContext, changes: readonly WorkflowChange[]): Sql {
  const set = rowSet<WorkflowChange>(
    {
      id: ['id', change => change.workflowId],
      state: ['text', change => change.state?.to ?? null],
      pause_cause: ['text', change => change.state?.pauseCause ?? null],
    },
    changes,
  )
  return context.dialect.updateFrom(context.tables.workflows, context.rows('r', set), raw('a.id = r.id'), [
    ['state', raw('r.state')],
    ['pause_cause', raw('r.pause_cause')],
    ['paused_at', sql`case when r.state = 'paused' then ${context.now} end`],
    ['ended_at', sql`case when r.state in ${raw(endedStates)} then ${context.now} end`],
  ])
}
