/**
 * A store on an empty database of its own, and the rows that store tests put into it.
 */

import type { NewExecution } from '../../src/store/change.ts'
import { openerFor } from '../../src/store/open-store.ts'
import { noProgress } from '../../src/store/records.ts'
import type { StartOrder, Store } from '../../src/store/store.ts'
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
  readonly first?: Partial<NewExecution> | null
}

export async function makeOrder(store: Store, options: OrderOptions = {}): Promise<StartOrder> {
  const [id = '', executionId = ''] = await store.takeIds(2)
  const { first, ...rest } = options
  const execution: NewExecution = {
    workflowId: id,
    slot: '',
    id: executionId,
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
    ...first,
  }
  return {
    id,
    type: 'Sample',
    hero: null,
    input: '{}',
    allowMultiple: false,
    idempotencyKey: null,
    tags: [],
    ...rest,
    first: first === null ? null : execution,
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
