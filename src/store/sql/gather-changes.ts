/**
 * Brings together, over many changes, what one statement writes. Most changes have few of the parts, and every step makes one,
 * so they are looked through once and nothing is copied that need not be.
 */
import type {
  ClosedLetter,
  CountedDown,
  Ending,
  FanIn,
  NewDecision,
  NewExecution,
  NewLetter,
  NewSignal,
  RowMove,
  TakenSignal,
  WorkflowChange,
  WorkflowUpdate,
} from '../change.ts'
import type { ActiveExecution } from '../records.ts'
import type { StandingEnding } from './write-records.ts'

/** Says which workflow it belongs to, where the part of a change does not say it itself. */
export type Of<T> = T & { readonly workflowId: string }

export type OneUpdate = Of<WorkflowUpdate>

export class Gathered {
  /**
   * Nothing but ended rows that stand, rows that go or are given to another, counters, states and events: of these no statement
   * goes by what another one writes.
   */
  isPlain = true
  /** Endings whose rows still stand as they have them. */
  readonly standing: StandingEnding[] = []
  readonly endings: Ending[] = []
  readonly undone: WorkflowChange['undone'][number][] = []
  readonly dropped: string[] = []
  readonly removals: Of<{ readonly slot: string }>[] = []
  readonly stops: Of<{ readonly slot: string }>[] = []
  readonly replacements: NewExecution[] = []
  readonly insertions: NewExecution[] = []
  readonly moves: Of<RowMove>[] = []
  readonly fanIns = {
    removed: [] as Of<{ readonly node: string }>[],
    updated: [] as Of<CountedDown>[],
    inserted: [] as Of<FanIn>[],
    /** Workflows none of whose counters is needed any more. */
    cleared: [] as string[],
  }
  readonly updates: OneUpdate[] = []
  readonly graphs: Of<NonNullable<WorkflowChange['graph']>>[] = []
  readonly letters = { opened: [] as Of<NewLetter>[], closed: [] as ClosedLetter[] }
  readonly messages = {
    decisions: [] as Of<NewDecision>[],
    signals: [] as Of<NewSignal>[],
    taken: [] as TakenSignal[],
  }
  readonly woken: string[] = []
}

export function gatherChanges(
  changes: readonly WorkflowChange[],
  standing: ReadonlyMap<string, ActiveExecution>,
): Gathered {
  const all = new Gathered()
  for (const change of changes) gatherOne(all, change, standing)
  all.isPlain = changes.every(change => change.continuation === null) && isPlain(all)
  return all
}

function isPlain({
  endings,
  undone,
  dropped,
  stops,
  insertions,
  moves,
  fanIns,
  graphs,
  letters,
  messages,
  woken,
}: Gathered) {
  const others = [endings, undone, dropped, stops, insertions, moves, graphs, woken]
  const more = [fanIns.removed, fanIns.inserted, fanIns.cleared, letters.opened, letters.closed]
  const said = [messages.decisions, messages.signals, messages.taken]
  return [...others, ...more, ...said].every(list => list.length === 0)
}

function gatherOne(all: Gathered, change: WorkflowChange, standing: ReadonlyMap<string, ActiveExecution>): void {
  const { workflowId, fanIns, letters, messages } = change
  for (const ending of change.endings) {
    const row = standing.get(ending.execution.id)
    if (row === undefined) all.endings.push(ending)
    else all.standing.push({ ending, row })
  }
  add(all.undone, change.undone)
  add(all.dropped, change.dropped)
  addOf(all.removals, change.removals, workflowId)
  addOf(all.stops, change.stops, workflowId)
  add(all.replacements, change.replacements)
  add(all.insertions, change.insertions)
  addOf(all.moves, change.moves, workflowId)
  addOf(all.fanIns.removed, fanIns.removed, workflowId)
  addOf(all.fanIns.updated, fanIns.updated, workflowId)
  addOf(all.fanIns.inserted, fanIns.inserted, workflowId)
  if (fanIns.cleared) all.fanIns.cleared.push(workflowId)
  if (change.update !== null) all.updates.push({ ...change.update, workflowId })
  if (change.graph !== null) all.graphs.push({ ...change.graph, workflowId })
  addOf(all.letters.opened, letters.opened, workflowId)
  add(all.letters.closed, letters.closed)
  addOf(all.messages.decisions, messages.decisions, workflowId)
  addOf(all.messages.signals, messages.signals, workflowId)
  add(all.messages.taken, messages.taken)
  if (change.wakes) all.woken.push(workflowId)
}

function add<T>(to: T[], items: readonly T[]): void {
  for (const item of items) to.push(item)
}

function addOf<T>(to: Of<T>[], items: readonly T[], workflowId: string): void {
  for (const item of items) to.push({ ...item, workflowId })
}
