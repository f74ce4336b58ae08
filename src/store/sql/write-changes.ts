/**
 * Applies what was decided, as sets: one statement per kind of write, whatever the number of workflows. The caller
 * holds the locks on the workflows.
 */
import type { WorkflowChange } from '../change.ts'
import type { ActiveExecution } from '../records.ts'
import type { SqlContext } from './context.ts'
import { continuationStatements } from './continue-workflows.ts'
import { endedStates } from './ended-states.ts'
import { eventStatements, eventTurns, withEvents } from './event-turns.ts'
import { clearFanIns, countDown, deleteFanIns, insertFanIns } from './fan-ins.ts'
import { replaceGraphs } from './frozen-graphs.ts'
import { type Gathered, gatherChanges, type OneUpdate } from './gather-changes.ts'
import { closeLetters, insertLetters } from './letters.ts'
import { handOver, moveKnown, moveToHistory } from './move-endings.ts'
import { type Columns, inPieces, manyBranches, rowSet } from './row-set.ts'
import { raw, type Sql, sql } from './sql.ts'
import { insertDecisions, insertSignals, takeSignals } from './stored-messages.ts'
import { toldByRows } from './told-by-rows.ts'
import { insertTelling, saysItself } from './told-events.ts'
import { insertWakeEvents, insertWakes } from './watches.ts'
import { deleteActive, insertActive, moveActive, replaceActive, stopActive } from './write-active.ts'
import {
  copyHistory,
  copyKnown,
  deleteHistory,
  type Handover,
  insertHistory,
  moveHistory,
  type StandingEnding,
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
  const events = changes.map(change => change.events)
  const write = <T>(items: readonly T[], statement: (context: SqlContext, piece: readonly T[]) => Sql): Sql[] =>
    inPieces(context, items, statement)
  const left = leaving(context, all)
  if (all.isPlain) {
    const recorded = handAllOver(context, all, { changes, counts }) ?? recordEnds(context, all, { counts, left })
    const { copies, removals, replacements, told } = recorded
    const plain = [
      ...copies,
      ...write(removals, deleteActive),
      ...write(replacements, replaceActive),
      ...write(all.fanIns.updated, countDown),
      ...write(all.updates, updateWorkflows),
    ]
    return withEvents(
      context,
      plain,
      told ? events.filter((_, index) => !told.has(changes[index]?.workflowId ?? '')) : events,
    )
  }
  const turns = eventTurns(events)
  const ends = counts && left !== null ? all.standing : []
  const told = toldByRows(context, turns, { ends, begins: all.insertions })
  const { copies, removals, replacements } = recordEnds(context, all, { counts, left, tellsEnds: told.ends })
  return [
    // What has ended is recorded before its row is given to another.
    ...copies,
    ...write(all.endings, insertHistory),
    ...write(all.undone, moveHistory),
    ...write(all.dropped, deleteHistory),
    ...write(removals, deleteActive),
    ...write(all.stops, stopActive),
    ...write(replacements, replaceActive),
    ...eventStatements(context, told.before),
    ...write(all.insertions, told.begins ? insertTelling : insertActive),
    ...write(all.moves, moveActive),
    ...write(all.fanIns.removed, deleteFanIns),
    ...write(all.fanIns.cleared, clearFanIns),
    ...write(all.fanIns.updated, countDown),
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
    ...eventStatements(context, told.after),
  ]
}

/** How what has ended is recorded, and what is still to be done about the rows then. */
interface EndsRecorded {
  readonly copies: readonly Sql[]
  readonly removals: Gathered['removals']
  readonly replacements: Gathered['replacements']
  /** Workflows whose events are written with it. */
  readonly told?: ReadonlySet<string>
}

interface Leaving {
  readonly counts: boolean
  /** What goes besides the rows that end, where those go as they are copied. */
  readonly left: Gathered['removals'] | null
  /** Whether what goes to history tells that it has ended. */
  readonly tellsEnds?: boolean
}

/** Where all of it goes for good, the branches of a graph for one, that is done as it is copied. */
function recordEnds(context: SqlContext, all: Gathered, { counts, left, tellsEnds = false }: Leaving): EndsRecorded {
  const { standing, removals, replacements } = all
  // What stands together with other writes in one statement cannot be one of several parts itself, unless it is the first and counted.
  if (left === null || (all.isPlain && !counts)) {
    return { copies: inPieces(context, standing, counts ? copyKnown : copyHistory), removals, replacements }
  }
  const move = (at: SqlContext, piece: readonly StandingEnding[]) => moveKnown(at, piece, { tells: tellsEnds })
  return { copies: inPieces(context, standing, counts ? move : moveToHistory), removals: left, replacements }
}

/** `null` where the rows that end do not all go, or are few, or cannot go as they are copied. */
function leaving({ dialect }: SqlContext, { standing, removals, replacements }: Gathered): Gathered['removals'] | null {
  if (dialect.takeReturned === undefined) return null
  if (replacements.length > 0 || standing.length < manyBranches || removals.length < standing.length) return null
  const open = byPlace(removals)
  return standing.every(({ row }) => open.delete(placeOf(row))) ? [...open.values()] : null
}

interface Recorded {
  readonly changes: readonly WorkflowChange[]
  readonly counts: boolean
}

/**
 * Where rows that end are given to what follows, that is done as they are copied. Of what is counted, all must be given to something or go. One
 * that comes alone is sooner copied and then written over.
 */
function handAllOver(context: SqlContext, all: Gathered, { changes, counts }: Recorded): EndsRecorded | null {
  const { standing, removals, replacements } = all
  if (context.dialect.returnsOld !== true || !context.asSets || !counts) return null
  if (!all.isPlain || replacements.length === 0) return null
  const next = byPlace(replacements)
  const open = byPlace(removals)
  const handovers: Handover[] = []
  const gone: StandingEnding[] = []
  for (const { ending, row } of standing) {
    const place = placeOf(row)
    const follower = next.get(place)
    if (follower !== undefined) {
      next.delete(place)
      handovers.push({ ending, row, next: follower })
    } else if (open.delete(place)) gone.push({ ending, row })
    else return null
  }
  if (next.size > 0) return null
  const moved = gone.length === 0 ? [] : [moveKnown(context, gone, { place: 1 })]
  const told = toldWith(handovers, changes)
  const copies = [handOver(context, handovers, told !== null), ...moved]
  return { copies, removals: [...open.values()], replacements: [], ...(told && { told }) }
}

/** Those that have no other events than their rows tell; `null` where some have. */
function toldWith(handovers: readonly Handover[], changes: readonly WorkflowChange[]): ReadonlySet<string> | null {
  const events = new Map(changes.map(change => [change.workflowId, change.events]))
  const isTold = (handover: Handover) => saysItself(handover, events.get(handover.row.workflowId) ?? [])
  return handovers.every(isTold) ? new Set(handovers.map(({ row }) => row.workflowId)) : null
}

interface Placed {
  readonly workflowId: string
  readonly slot: string
}

function placeOf({ workflowId, slot }: Placed): string {
  return slot === '' ? workflowId : `${workflowId} ${slot}`
}

function byPlace<Row extends Placed>(rows: readonly Row[]): Map<string, Row> {
  const found = new Map<string, Row>()
  for (const row of rows) found.set(placeOf(row), row)
  return found
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
