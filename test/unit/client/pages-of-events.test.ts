/** Pages of events behind a number that never comes, on a server that lets numbers overtake each other. */
import { expect, it } from 'vitest'
import { listEvents } from '../../../src/client/views/attempt-view.ts'
import { GapMemories } from '../../../src/client/views/gap-memories.ts'
import { mysqlStatements } from '../../../src/store/mysql/mysql-statements.ts'
import { settleByDirtyRead } from '../../../src/store/mysql/settle-by-dirty-read.ts'
import type { SqlContext } from '../../../src/store/sql/context.ts'
import type { Executor, Row } from '../../../src/store/sql/dialect.ts'
import { readEvents } from '../../../src/store/sql/read-events.ts'
import { raw, type Sql } from '../../../src/store/sql/sql.ts'
import type { Store } from '../../../src/store/store.ts'

/** A server in lock mode 2 with events of these numbers, on a clock that only the test moves. */
function interleavingServer(numbers: readonly number[]) {
  const clock = { micros: 1_000_000_000 }
  const query = async ({ parts }: Sql): Promise<Row[]> => {
    const text = parts.join('')
    if (text.includes('innodb_autoinc_lock_mode')) return [{ mode: 2, now: clock.micros }]
    return numbers.map(id => ({ ...nothing, id }))
  }
  const session: Executor = { pipelines: false, query, run: async () => 0 }
  const context = {
    tables: { events: raw('events'), workflows: raw('workflows') },
    read: query,
    dialect: { settle: settleByDirtyRead, sameKey: mysqlStatements.sameKey },
    database: { session: (use: (session: Executor) => unknown) => use(session) },
  } as unknown as SqlContext
  const store = { readEvents: read => readEvents(context, read) } as Pick<Store, 'readEvents'> as Store
  return { clock, store }
}

const nothing = {
  workflow_id: 1,
  execution_id: null,
  type: 'workflow.started',
  node: null,
  node_name: null,
  attempt: null,
  from_state: null,
  to_state: null,
  at: 0,
  requested_by: null,
  reason: null,
  outcome: null,
  since: null,
  payload: null,
  workflow_type: 'Order',
}

it('a page goes past a number that has been missing for five seconds, for all who stand before it', async () => {
  const { clock, store } = interleavingServer([42, 43])
  const gaps = new GapMemories()
  const look = () => listEvents(store, gaps, { after: '40' })
  for (let second = 0; second < 5; second++) {
    expect(await look()).toEqual({ items: [], nextCursor: '40' })
    clock.micros += 1_000_000
  }
  for (const _ of ['one reader', 'another reader']) {
    const page = await look()
    expect(page.items.map(({ position }) => position)).toEqual(['42', '43'])
    expect(page.nextCursor).toBe('43')
  }
})

it('what was learned is bounded, and the oldest is forgotten first', () => {
  const gaps = new GapMemories()
  for (let position = 0; position < 1000; position++) gaps.keep({ position, memory: { upTo: position, mark: 'then' } })
  const known = Array.from({ length: 1000 }, (_, position) => position).filter(position => gaps.at(position) !== null)
  expect(known).toEqual(Array.from({ length: 100 }, (_, index) => 900 + index))
})
