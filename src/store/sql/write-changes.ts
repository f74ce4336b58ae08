/**
 * Applies what was decided, as sets: one statement per kind of write, whatever the number of workflows. The caller
 * holds the locks on the workflows.
 */
import type { WorkflowChange } from '../change.ts'
import type { ActiveExecution } from '../records.ts'
import type { SqlContext } from './context.ts'
import { continuationStatements } from './continue-workflows.ts'
import { endedStates } from './ended-states.ts'
import { withEvents } from './event-turns.ts'
import { clearFanIns, deleteFanIns, insertFanIns, updateFanIns } from './fan-ins.ts'
import { replaceGraphs } from './frozen-graphs.ts'
import { type Gathered, gatherChanges, type OneUpdate } from './gather-changes.ts'
import { closeLetters, insertLetters } from './letters.ts'
import { type Columns, inPieces, rowSet } from './row-set.ts'
import { raw, type Sql, sql } from './sql.ts'
import { insertDecisions, insertSignals, takeSignals } from './stored-messages.ts'
import { insertWakeEvents, insertWakes } from './watches.ts'
import { deleteActive, insertActive, moveActive, replaceActive, stopActive } from './write-active.ts'
import {
  copyHistory,
  copyKnown,
  deleteHistory,
  insertEvents,
  insertHistory,
  moveHistory,
  moveKnown,
  moveToHistory,
} from './write-records.ts'

export interface RowsAtHand {
  /** Rows that still stand as the endings have them, by their ids. */
  readonly standing: ReadonlyMap<string, ActiveExecution>
  /** Nobody has looked at them: whether they do is counted as they are written. */
  readonly counts?: boolean
}

export function changeStatements(
  context: SqlContext,
  changes: readonly WorkflowChange[],
  { standing, counts = false }: RowsAtHand,
): readonly Sql[] {
  const all = gatherChanges(changes, standing)
  const { copy, removals } = howToCopy(context, all, counts)
  const write = <T>(items: readonly T[], statement: (context: SqlContext, piece: readonly T[]) => Sql): Sql[] =>
    inPieces(context, items, statement)
  if (all.isPlain) {
    const plain = [
      ...write(all.standing, copy),
      ...write(removals, deleteActive),
      ...write(all.replacements, replaceActive),
      ...write(all.fanIns.updated, updateFanIns),
      ...write(all.updates, updateWorkflows),
    ]
    return withEvents(
      context,
      plain,
      changes.map(change => change.events),
    )
  }
  return [
    // What has ended is recorded before its row is given to another.
    ...write(all.standing, copy),
    ...write(all.endings, insertHistory),
    ...write(all.undone, moveHistory),
    ...write(all.dropped, deleteHistory),
    ...write(removals, deleteActive),
    ...write(all.stops, stopActive),
    ...write(all.replacements, replaceActive),
    ...write(all.insertions, insertActive),
    ...write(all.moves, moveActive),
    ...write(all.fanIns.removed, deleteFanIns),
    ...write(all.fanIns.cleared, clearFanIns),
    ...write(all.fanIns.updated, updateFanIns),
    ...write(all.fanIns.inserted, insertFanIns),
    ...write(all.updates, updateWorkflows),
    ...(all.graphs.length === 0 ? [] : replaceGraphs(context, all.graphs)),
    ...continuationStatements(context, changes),
    ...write(all.letters.opened, insertLetters),
    ...write(all.letters.closed, closeLetters),
    ...write(all.messages.decisions, insertDecisions),
    ...write(all.messages.signals, insertSignals),
    ...write(all.messages.taken, takeSignals),
    ...write(all.woken, insertWakes),
    ...write(all.woken, insertWakeEvents),
    ...write(all.events, insertEvents),
  ]
}

/** From how many on it is worth a statement of its own. */
const manyRows = 20

/**
 * How what has ended is recorded, and what then is still to be removed. Where all of it goes for good, the branches of a graph for one, it is removed as
 * it is copied.
 */
function howToCopy(context: SqlContext, all: Gathered, counts: boolean) {
  const { standing, removals, replacements } = all
  const copy = { copy: counts ? copyKnown : copyHistory, removals }
  // What stands together with other writes in one statement cannot be one of several parts itself, unless it is the first and counted.
  if (context.dialect.takeDeleted === undefined || (all.isPlain && !counts)) return copy
  if (replacements.length > 0 || standing.length < manyRows || removals.length < standing.length) return copy
  const placeOf = (row: { readonly workflowId: string; readonly slot: string }) => `${row.workflowId} ${row.slot}`
  const open = new Map(removals.map(removal => [placeOf(removal), removal]))
  for (const { row } of standing) if (!open.delete(placeOf(row))) return copy
  return { copy: counts ? moveKnown : moveToHistory, removals: [...open.values()] }
}

const updateColumns: Columns<OneUpdate> = {
  id: ['id', update => update.workflowId],
  state: ['text', update => update.state],
  pause_cause: ['text', update => update.pauseCause],
  blocked_by: ['text', update => update.blockedBy],
  finishing: ['int', update => (update.finishing ? 1 : 0)],
  rollback: ['text', update => (update.rollback === null ? null : JSON.stringify(update.rollback))],
  partial: ['int', update => (update.partial ? 1 : 0)],
  rounds: ['text', update => (update.rounds === null ? null : JSON.stringify(update.rounds))],
  crooked: ['int', update => (update.crooked ? 1 : 0)],
  open_letters: ['int', update => update.openLetters],
  generation: ['int', update => update.generation],
  frozen: ['text', update => update.frozen],
}

function updateWorkflows(context: SqlContext, updates: readonly OneUpdate[]): Sql {
  const rows = context.rows('r', rowSet(updateColumns, updates))
  return context.statement(updateWorkflows, [rows], writeUpdate)
}

function writeUpdate({ dialect, tables, now }: SqlContext, rows: Sql): Sql {
  return dialect.updateFrom(tables.workflows, rows, dialect.sameKey('a.id', 'r.id'), [
    // The times go by the state that was there before, so they come first: a database may assign in order.
    ['paused_at', sql`case when r.state = 'paused' then coalesce(a.paused_at, ${now}) end`],
    ['ended_at', sql`case when r.state in ${raw(endedStates)} then coalesce(a.ended_at, ${now}) end`],
    ['state', raw('r.state')],
    ['pause_cause', raw('r.pause_cause')],
    ['blocked_by', raw('r.blocked_by')],
    ['finishing', raw('r.finishing')],
    ['rollback', raw('r.rollback')],
    ['partial', raw('r.partial')],
    ['rounds', raw('r.rounds')],
    ['crooked', raw('r.crooked')],
    ['open_letters', raw('r.open_letters')],
    ['generation', raw('r.generation')],
    ['frozen', raw('r.frozen')],
    ['version', raw('a.version + 1')],
  ])
}
