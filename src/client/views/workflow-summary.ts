/** One line about each workflow of a list, from three looks for the whole page. */
import { isEnd } from '../../engine/end-watch.ts'
import { toDate, toOptionalDate } from '../../primitives/to-date.ts'
import type { HeroKey, WorkflowState } from '../../store/records.ts'
import type { Store, WorkflowSnapshot } from '../../store/store.ts'
import type { ViewFilter, WorkflowAside } from '../../store/view-store.ts'
import { enough, inWindows, lower } from './look-in-windows.ts'
import { cursorFrom, limitFrom, type Page, type PageOptions, type ViewOptions, viewFilterFrom } from './view-options.ts'

export interface HeroName {
  readonly type: string
  readonly id: string
}

export interface WorkflowSummary {
  readonly id: string
  /** The stored name of the class; empty for a graph that was built at run time. */
  readonly type: string
  readonly hero: HeroName | null
  readonly state: WorkflowState
  /** The names of the nodes at which it stands, five at most; for one that has stopped, the node that has failed. */
  readonly at: readonly string[]
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly endedAt: Date | null
  /** Of the first of its nodes that waits or runs; `null` where there is none. */
  readonly priority: number | null
  readonly queue: string | null
  /** The newest error that no later attempt of its step has got over, for a workflow that has not finished. */
  readonly error: string | null
  /** Of a resumable step that has said how many items there are. */
  readonly progress: { readonly done: number; readonly total: number } | null
  /** It goes by a graph that is stored with it. */
  readonly frozen: boolean
}

export interface SummaryPage extends Page<WorkflowSummary> {
  /**
   * More records begin with `q` than a search looks through, a thousand of each type: what is about the others is on no page.
   * Search for more of the id.
   */
  readonly capped: boolean
}

export interface CappedCount {
  readonly count: number
  /** There are at least so many: counting has stopped there. */
  readonly capped: boolean
}

export const countCap = 10_000

export async function listSummaries(store: Store, options: ViewOptions & PageOptions): Promise<SummaryPage> {
  const limit = limitFrom(options.limit)
  const filter = await viewFilterFrom(store, options)
  const found: WorkflowSnapshot[] = []
  let capped = false
  const next = await inStretches(store, filter, cursorFrom(store, options.cursor), async (stretch, window) => {
    const page = await store.views.scan(stretch, { limit: limit + 1 - found.length, window })
    found.push(...page.found)
    capped ||= page.capped
    return found.length > limit ? enough : lower(page.next, stretch.before)
  })
  const shown = found.slice(0, limit)
  const items = await summariesOf(store, shown)
  return { items, nextCursor: found.length > limit ? (shown.at(-1)?.workflow.id ?? null) : next, capped }
}

/** Stops at 10,000, where a search stops, and when it has looked for too long. */
export async function countWorkflows(store: Store, options: ViewOptions): Promise<CappedCount> {
  const filter = await viewFilterFrom(store, options)
  let [count, capped] = [0, false]
  const next = await inStretches(store, filter, null, async (stretch, window) => {
    const page = await store.views.count(stretch, { limit: countCap - count, window })
    count += page.count
    capped ||= page.capped
    return count >= countCap ? enough : lower(page.next, stretch.before)
  })
  return { count, capped: capped || count >= countCap || next !== null }
}

type Look = (filter: ViewFilter, window: number) => Promise<string | null | typeof enough>

/** Where a stretch of time is asked for, it looks between the ids of that. */
async function inStretches(
  store: Store,
  filter: ViewFilter,
  cursor: string | null,
  look: Look,
): Promise<string | null> {
  const bounds = await store.views.idBounds(filter)
  const within = bounds.from === null ? filter : { ...filter, from: bounds.from }
  return inWindows(cursor ?? bounds.before, (before, window) =>
    look(before === null ? within : { ...within, before }, window),
  )
}

export async function summariesOf(store: Store, snapshots: readonly WorkflowSnapshot[]): Promise<WorkflowSummary[]> {
  const ids = snapshots.map(({ workflow }) => workflow.id)
  const troubled = snapshots.filter(({ workflow }) => workflow.state !== 'finished').map(({ workflow }) => workflow.id)
  const asides = await store.views.asides(ids, troubled)
  return snapshots.map(snapshot => summaryOf(snapshot, asides.get(snapshot.workflow.id) ?? null))
}

export function stateOf({ workflow, performing }: WorkflowSnapshot): WorkflowState {
  return performing && workflow.state === 'ready' ? 'performing' : workflow.state
}

export function heroNameOf(hero: HeroKey | null): HeroName | null {
  return hero === null ? null : { type: hero.type, id: hero.idText }
}

function summaryOf(snapshot: WorkflowSnapshot, aside: WorkflowAside | null): WorkflowSummary {
  const { workflow } = snapshot
  const active = aside?.active ?? []
  const [first = null] = active
  const counting = active.find(({ total }) => total !== null)
  const stoppedAt =
    workflow.blockedBy === null || isEnd(workflow.state) ? [] : [aside?.blockedByName ?? workflow.blockedBy]
  const error = aside?.error ?? null
  return {
    id: workflow.id,
    type: workflow.type,
    hero: heroNameOf(workflow.hero),
    state: stateOf(snapshot),
    at: active.length === 0 ? stoppedAt : [...new Set(active.map(({ name }) => name))],
    createdAt: toDate(workflow.createdAt),
    updatedAt: toDate(aside?.updatedAt ?? workflow.createdAt),
    endedAt: toOptionalDate(workflow.endedAt),
    priority: first?.priority ?? null,
    queue: first?.queue ?? null,
    error: error === null ? null : `${error.name}: ${error.className}: ${error.message}`.slice(0, 500),
    progress: counting === undefined ? null : { done: counting.completed, total: counting.total ?? 0 },
    frozen: workflow.frozen !== null,
  }
}
