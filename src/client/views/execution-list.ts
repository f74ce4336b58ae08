/** Executions of all workflows by state: what is scheduled, runs, is suspended or waits, and how attempts have ended. */
import { checkKey } from '../../engine/check-key.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { toDate, toOptionalDate } from '../../primitives/to-date.ts'
import type { ExecutionFilter, ExecutionPlace, ExecutionRecord, ExecutionSource } from '../../store/execution-filter.ts'
import type { ExecutionState } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { enough, inWindows } from './look-in-windows.ts'
import {
  limitFrom,
  type Page,
  type PageOptions,
  refuseUnknownOfPage,
  rowCursor,
  rowPlaceFrom,
  wrongCursor,
} from './view-options.ts'
import { type HeroName, heroNameOf } from './workflow-summary.ts'

export interface ExecutionListOptions extends PageOptions {
  /**
   * States of executions that have not ended, which is also the default; or states of those that have, of which `compensating` stands
   * alone. Not both kinds in one list.
   */
  readonly state?: ExecutionState | readonly ExecutionState[]
  /** Stored names of classes; empty for graphs that were built at run time. */
  readonly type?: string | readonly string[]
  /** At this node, by its name or id; of an `each` node also its items. */
  readonly node?: string
  /** Those that have not ended: in this queue. */
  readonly queue?: string
  /** Of what is scheduled or suspended: whether its time has come. */
  readonly due?: boolean
}

/** One attempt at a node, without its payloads. */
export interface ExecutionSummary
  extends Omit<
    ExecutionRecord,
    'place' | 'nodeName' | 'hero' | 'createdAt' | 'dueAt' | 'startedAt' | 'endedAt' | 'error'
  > {
  /** What people call the node. */
  readonly name: string
  readonly hero: HeroName | null
  readonly createdAt: Date
  readonly scheduledFor: Date
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly error: { readonly name: string; readonly message: string } | null
}

const sourceOf: Readonly<Record<ExecutionState, ExecutionSource>> = {
  scheduled: 'active',
  in_progress: 'active',
  suspended: 'active',
  waiting: 'active',
  paused: 'active',
  compensating: 'undone',
  completed: 'ended',
  failed: 'ended',
  skipped: 'ended',
  canceled: 'ended',
  rolled_back: 'ended',
}
export const executionStates = Object.keys(sourceOf) as readonly ExecutionState[]
const activeStates = executionStates.filter(state => sourceOf[state] === 'active')
const known = ['state', 'type', 'node', 'queue', 'due'] satisfies (keyof ExecutionListOptions)[]
const timed: readonly ExecutionState[] = ['scheduled', 'suspended']

/** Newest workflow first; of what has ended the highest id, and ids are given out about as executions are scheduled. */
export async function listExecutions(store: Store, options: ExecutionListOptions): Promise<Page<ExecutionSummary>> {
  refuseUnknownOfPage('executions', options, known)
  const limit = limitFrom(options.limit)
  const filter = filterFrom(options)
  const found: ExecutionRecord[] = []
  const next = await inWindows(placeFrom(store, filter.source, options.cursor), async (before, window) => {
    const place = before === null ? {} : { before }
    const page = await store.views.executions({ ...filter, ...place }, { limit: limit + 1 - found.length, window })
    found.push(...page.found)
    return found.length > limit ? enough : page.next
  })
  const shown = found.slice(0, limit)
  const end = found.length > limit ? (shown.at(-1)?.place ?? null) : next
  return { items: shown.map(summaryOf), nextCursor: end && cursorOf(end) }
}

function filterFrom({ state, type, node, queue, due }: ExecutionListOptions): ExecutionFilter {
  const states = state === undefined ? (due === undefined ? activeStates : timed) : statesFrom([state].flat())
  const source = sourceFrom(states)
  if (queue !== undefined && source !== 'active') {
    throw new InvalidArgumentError('An execution that has ended stands in no queue: leave out `queue`.')
  }
  if (due !== undefined && !states.every(each => timed.includes(each))) {
    throw new InvalidArgumentError(
      '`due` is about executions that are scheduled or suspended. Others wait for no time.',
    )
  }
  return {
    source,
    states,
    ...(type === undefined
      ? {}
      : { types: [type].flat().map(name => (name === '' ? '' : checkKey(name, 'The type'))) }),
    ...(node === undefined ? {} : { node: checkKey(node, 'The node') }),
    ...(queue === undefined ? {} : { queue: checkKey(queue, 'The queue') }),
    ...(due === undefined ? {} : { due: due === true }),
  }
}

function statesFrom(given: readonly ExecutionState[]): readonly ExecutionState[] {
  const unknown = given.find(state => !executionStates.includes(state))
  if (unknown === undefined && given.length > 0) return given
  throw new InvalidArgumentError(
    `The state ${JSON.stringify(unknown)} of an execution is not known. Use ${executionStates.join(', ')}.`,
  )
}

/** They stand in other tables, each in an order of its own. */
function sourceFrom(states: readonly ExecutionState[]): ExecutionSource {
  const sources = new Set(states.map(state => sourceOf[state]))
  const [source = 'active'] = sources
  if (sources.size === 1) return source
  throw new InvalidArgumentError(
    `The states ${states.join(', ')} are not in one list: ask for those that have not ended (${activeStates.join(', ')}), for compensating, or for ended ones.`,
  )
}

function cursorOf(place: ExecutionPlace): string {
  return 'id' in place ? place.id : rowCursor(place)
}

function placeFrom(store: Store, source: ExecutionSource, cursor: string | undefined): ExecutionPlace | null {
  const place = rowPlaceFrom(store, cursor)
  if (place === null || cursor === undefined) return null
  const { workflowId, slot } = place
  if ((slot === null) !== (source === 'ended')) throw wrongCursor(cursor)
  return slot === null ? { id: workflowId } : { workflowId, slot }
}

function summaryOf({ place: _, nodeName, ...row }: ExecutionRecord): ExecutionSummary {
  const { hero, error, dueAt, ...rest } = row
  return {
    ...rest,
    name: nodeName ?? row.node,
    hero: heroNameOf(hero),
    createdAt: toDate(row.createdAt),
    scheduledFor: toDate(dueAt),
    startedAt: toOptionalDate(row.startedAt),
    endedAt: toOptionalDate(row.endedAt),
    error: error && { name: error.className, message: error.message },
  }
}
