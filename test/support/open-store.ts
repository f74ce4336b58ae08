/**
 * A store on an empty database of its own, and the rows that store tests put into it.
 */

import type { Ending, NewExecution, WorkflowChange, WorkflowFacts } from '../../src/store/change.ts'
import { openerFor } from '../../src/store/open-store.ts'
import { type ActiveExecution, noProgress } from '../../src/store/records.ts'
import type { ChangeTarget, CloserLook, StartOrder, Store } from '../../src/store/store.ts'
import type { TestDatabase } from './databases.ts'

export async function openTestStore(database: TestDatabase): Promise<Store> {
  const { url } = await database.isolated()
  return openSameStore(url)
}

/** Another connection to a database, as another process would have it. */
export async function openSameStore(url: string): Promise<Store> {
  const store = await openerFor(url)({ url })
  await store.migrate()
  return store
}

export interface OrderOptions extends Partial<Omit<StartOrder, 'id' | 'first'>> {
  /** What the first row has of its own, or the first rows; `null`: there is none. */
  readonly first?: Partial<NewExecution> | readonly Partial<NewExecution>[] | null
}

export async function makeOrder(store: Store, options: OrderOptions = {}): Promise<StartOrder> {
  const { first = {}, ...rest } = options
  const given = first === null ? [] : [first].flat()
  const [id = '', ...executionIds] = await store.takeIds(1 + given.length)
  const execution = {
    workflowId: id,
    slot: '',
    node: 'one',
    kind: 'forward',
    attempt: 1,
    ordinal: 1,
    state: 'scheduled',
    queue: 'default',
    handler: 'Sample',
    generation: 1,
    priority: 0,
    due: { inMs: 0 },
    owner: null,
    fence: 0,
    failures: 0,
    crashes: 0,
    progress: noProgress,
    input: null,
    ancestry: { hash: 'hash', parents: [] },
  } as const
  return {
    id,
    type: 'Sample',
    hero: null,
    input: '{}',
    allowMultiple: false,
    idempotencyKey: null,
    formerTypes: [],
    tags: [],
    generation: 1,
    graph: null,
    parent: null,
    taken: null,
    deadline: null,
    ...rest,
    first: given.map((more, index) => ({ ...execution, id: executionIds[index] ?? '', ...more })),
  }
}

/** Starts workflows with one due row each and returns their ids. */
export async function startSome(store: Store, count: number, options: OrderOptions = {}): Promise<string[]> {
  const orders: StartOrder[] = []
  for (let i = 0; i < count; i++) orders.push(await makeOrder(store, options))
  await store.start(orders)
  return orders.map(order => order.id)
}

export const sampleSource = { queue: 'default', handler: 'Sample', generation: 1 }

export async function registerWorker(store: Store, id: string, leaseMs = 60_000): Promise<string> {
  await store.registerWorker({ id, host: 'test', pid: process.pid, leaseMs, handlers: ['Sample'] })
  return id
}

/** A change of nothing, to be filled in. */
export function changeOf(workflowId: string, more: Partial<WorkflowChange> = {}): WorkflowChange {
  return {
    workflowId,
    update: null,
    endings: [],
    undone: [],
    dropped: [],
    replacements: [],
    insertions: [],
    removals: [],
    stops: [],
    moves: [],
    fanIns: { inserted: [], updated: [], removed: [], cleared: false },
    letters: { opened: [], closed: [] },
    continuation: null,
    messages: { decisions: [], signals: [], taken: [] },
    wakes: false,
    graph: null,
    events: [],
    ...more,
  }
}

/** As if its rows had completed and the workflow with them. */
export function finishedChange({ workflow, active }: WorkflowFacts): WorkflowChange {
  const { pauseCause, blockedBy, finishing, rollback, partial, rounds, crooked, openLetters, generation, frozen } =
    workflow
  const update = {
    pauseCause,
    blockedBy,
    finishing,
    rollback,
    partial,
    rounds,
    crooked,
    openLetters,
    generation,
    frozen,
  }
  return changeOf(workflow.id, {
    update: { state: 'finished', ...update },
    endings: active.map(execution => ended(execution)),
    removals: active.map(({ slot }) => ({ slot })),
  })
}

/** As if its one row had completed and a step `two` begun in its place. */
export async function handedOverChange(
  store: Store,
  { workflow, active }: Pick<WorkflowFacts, 'workflow' | 'active'>,
  output: string | null = null,
): Promise<WorkflowChange> {
  const [row] = active
  const [id = ''] = await store.takeIds(1)
  if (row === undefined) throw new Error(`There is no row of workflow ${workflow.id}.`)
  const next: NewExecution = {
    ...row,
    id,
    node: 'two',
    ordinal: 2,
    due: { inMs: 0 },
    state: 'in_progress',
    fence: row.fence + 1,
    input: '{"of":"two"}',
    ancestry: { hash: 'next', parents: [row.id] },
  }
  const event = { workflowId: workflow.id, type: 'step.completed', executionId: row.id, node: row.node } as const
  return changeOf(workflow.id, { endings: [ended(row, { output })], replacements: [next], events: [event] })
}

/** The end of a row, one that completed where nothing else is said. */
export function ended(execution: ActiveExecution, more: Partial<Ending> = {}): Ending {
  return { execution, state: 'completed', outcome: 'success', error: null, reason: null, output: null, ...more }
}

/** A second look that asks for nothing, to be filled in. */
export function closerLookOf(more: Partial<CloserLook>): CloserLook {
  return { parents: [], waiting: [], starts: [], states: [], others: false, outworn: [], ...more }
}

/** What a decision about the workflow is shown; nothing is changed. */
export async function factsOf(
  store: Store,
  target: ChangeTarget,
  look: Partial<CloserLook> | null = null,
): Promise<WorkflowFacts> {
  const seen: WorkflowFacts[] = []
  const decide = (facts: WorkflowFacts) => {
    seen.push(facts)
    return null
  }
  await store.change([target], decide, look === null ? {} : { look: () => closerLookOf(look) })
  const [facts] = seen
  if (facts === undefined) throw new Error(`There is no workflow ${target.workflowId}.`)
  return facts
}
