/**
 * Applies what was decided, as sets: one statement per kind of write, whatever the number of workflows. The caller
 * holds the locks on the workflows.
 */
import type { Ending, WorkflowChange, WorkflowUpdate } from '../change.ts'
import type { SqlContext } from './context.ts'
import { continuationStatements } from './continue-workflows.ts'
import { endedStates } from './ended-states.ts'
import { replaceGraphs } from './frozen-graphs.ts'
import { closeLetters, insertLetters } from './letters.ts'
import { type Columns, pieces, rowSet } from './row-set.ts'
import { raw, type Sql, sql } from './sql.ts'
import { insertDecisions, insertSignals, takeSignals } from './stored-messages.ts'
import { insertWakeEvents, insertWakes } from './watches.ts'
import { deleteActive, insertActive, moveActive, replaceActive, stopActive } from './write-active.ts'
import { clearFanIns, deleteFanIns, insertFanIns, updateFanIns } from './write-fan-ins.ts'
import { copyHistory, deleteHistory, insertEvents, insertHistory, moveHistory } from './write-records.ts'

/** How many rows one statement writes. A group of small changes always fits. */
const maxRows = 5000

/** `slots`: where rows of endings still stand as the endings have them, by the id of the row. */
export function changeStatements(
  context: SqlContext,
  changes: readonly WorkflowChange[],
  slots: ReadonlyMap<string, string> = new Map(),
): Sql[] {
  return [
    ...endingStatements(context, changes, slots),
    ...rowStatements(context, changes),
    ...fanInStatements(context, changes),
    ...workflowStatements(context, changes),
  ]
}

/** What has ended is recorded before its row is given to another. */
function endingStatements(
  context: SqlContext,
  changes: readonly WorkflowChange[],
  slots: ReadonlyMap<string, string>,
): Sql[] {
  const known: { readonly ending: Ending; readonly slot: string }[] = []
  const others: Ending[] = []
  for (const { endings } of changes) {
    for (const ending of endings) {
      const slot = slots.get(ending.execution.id)
      if (slot === undefined) others.push(ending)
      else known.push({ ending, slot })
    }
  }
  return [
    ...write(known, piece => copyHistory(context, piece)),
    ...write(others, piece => insertHistory(context, piece)),
  ]
}

function rowStatements(context: SqlContext, changes: readonly WorkflowChange[]): Sql[] {
  const of = <T>(part: (change: WorkflowChange) => readonly T[]) => changes.flatMap(part)
  const withId = keyed(changes)
  return [
    ...write(
      of(change => change.undone),
      piece => moveHistory(context, piece),
    ),
    ...write(
      of(change => change.dropped),
      piece => deleteHistory(context, piece),
    ),
    ...write(
      withId(change => change.removals),
      piece => deleteActive(context, piece),
    ),
    ...write(
      withId(change => change.stops),
      piece => stopActive(context, piece),
    ),
    ...write(
      of(change => change.replacements),
      piece => replaceActive(context, piece),
    ),
    ...write(
      of(change => change.insertions),
      piece => insertActive(context, piece),
    ),
    ...write(
      withId(change => change.moves),
      piece => moveActive(context, piece),
    ),
  ]
}

function fanInStatements(context: SqlContext, changes: readonly WorkflowChange[]): Sql[] {
  const withId = keyed(changes)
  const cleared = changes.filter(change => change.fanIns.cleared).map(change => change.workflowId)
  return [
    ...write(
      withId(change => change.fanIns.removed),
      piece => deleteFanIns(context, piece),
    ),
    ...write(cleared, piece => clearFanIns(context, piece)),
    ...write(
      withId(change => change.fanIns.updated),
      piece => updateFanIns(context, piece),
    ),
    ...write(
      withId(change => change.fanIns.inserted),
      piece => insertFanIns(context, piece),
    ),
  ]
}

function workflowStatements(context: SqlContext, changes: readonly WorkflowChange[]): Sql[] {
  const updates = changes.flatMap(({ workflowId, update }) => (update === null ? [] : { ...update, workflowId }))
  const graphs = changes.flatMap(({ workflowId, graph }) => (graph === null ? [] : { ...graph, workflowId }))
  const woken = changes.filter(change => change.wakes).map(change => change.workflowId)
  return [
    ...write(updates, piece => updateWorkflows(context, piece)),
    ...(graphs.length === 0 ? [] : replaceGraphs(context, graphs)),
    ...continuationStatements(context, changes),
    ...write(
      keyed(changes)(change => change.letters.opened),
      piece => insertLetters(context, piece),
    ),
    ...write(
      changes.flatMap(change => change.letters.closed),
      piece => closeLetters(context, piece),
    ),
    ...write(
      keyed(changes)(change => change.messages.decisions),
      piece => insertDecisions(context, piece),
    ),
    ...write(
      keyed(changes)(change => change.messages.signals),
      piece => insertSignals(context, piece),
    ),
    ...write(
      changes.flatMap(change => change.messages.taken),
      piece => takeSignals(context, piece),
    ),
    ...write(woken, piece => insertWakes(context, piece)),
    ...write(woken, piece => insertWakeEvents(context, piece)),
    ...write(
      changes.flatMap(change => change.events),
      piece => insertEvents(context, piece),
    ),
  ]
}

function write<T>(items: readonly T[], statement: (piece: readonly T[]) => Sql): Sql[] {
  return pieces(items, maxRows).map(piece => statement(piece))
}

/** Parts of changes that do not say themselves which workflow they belong to. */
function keyed(changes: readonly WorkflowChange[]) {
  return <T>(part: (change: WorkflowChange) => readonly T[]) =>
    changes.flatMap(change => part(change).map(item => ({ ...item, workflowId: change.workflowId })))
}

type OneUpdate = WorkflowUpdate & { readonly workflowId: string }

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
  const set = rowSet(updateColumns, updates)
  return context.dialect.updateFrom(context.tables.workflows, context.rows('r', set), raw('a.id = r.id'), [
    // The times go by the state that was there before, so they come first: a database may assign in order.
    ['paused_at', sql`case when r.state = 'paused' then coalesce(a.paused_at, ${context.now}) end`],
    ['ended_at', sql`case when r.state in ${raw(endedStates)} then coalesce(a.ended_at, ${context.now}) end`],
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
