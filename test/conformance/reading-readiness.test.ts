/**
 * Reading what readiness is told from: a fixed number of statements in one snapshot, however many workflows are asked for,
 * each of which finds its rows by key, whatever else the tables hold.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { decidePause } from '../../src/engine/decide-request.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { raw } from '../../src/store/sql/sql.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import type { StartOrder } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { openRecorded } from '../support/open-recorded.ts'
import { changeOf, finishedChange, makeOrder, registerWorker } from '../support/open-store.ts'
import { planners } from '../support/planners.ts'
import { explain, type Recording } from '../support/recording-database.ts'
import { decided } from '../unit/engine/facts.ts'

const many = 5000

forEachDatabase('reading readiness', database => {
  const planner = planners[database.name]
  let real: Database
  let recording: Recording
  let store: SqlStore
  let ids: string[]

  beforeAll(async () => {
    ;({ real, recording, store } = await openRecorded(database))
    await registerWorker(store, 'w1')
    const orders: StartOrder[] = []
    for (let i = 0; i < many; i++) orders.push(await makeOrder(store))
    for (let i = 0; i < many; i += 1000) await store.start(orders.slice(i, i + 1000))
    ids = orders.map(({ id }) => id)
    const targets = ids.map(workflowId => ({ workflowId }))
    for (let i = 0; i < 2000; i += 500) await store.change(targets.slice(i, i + 500), finishedChange)
    // A table with a handful of rows is read as a whole, and rightly so.
    for (let i = 2100; i < 4100; i += 500) {
      await store.change(targets.slice(i, i + 500), ({ workflow }) =>
        changeOf(workflow.id, {
          fanIns: { inserted: [{ node: 'x', open: 2 }], updated: [], removed: [], cleared: false },
        }),
      )
    }
    await store.change(targets.slice(2000, 2100), facts =>
      decided(facts, draft => decidePause(draft, { by: 'ann', reason: null })),
    )
  }, 60_000)
  afterAll(() => store.close())

  it('takes as many statements for 5,000 workflows as for one, and finds all of them', async () => {
    recording.take()
    await store.readiness(ids.slice(0, 1))
    const forOne = recording.take().length
    const facts = await store.readiness(ids)
    expect(recording.take()).toHaveLength(forOne)
    expect(facts.workflows).toHaveLength(many)
    const count = (state: string) => facts.workflows.filter(({ workflow }) => workflow.state === state).length
    expect([count('finished'), count('paused'), count('ready')]).toEqual([2000, 100, 2900])
    expect(facts.workflows.filter(({ latest }) => latest.has('one'))).toHaveLength(2000)
    expect(facts.workflows.filter(({ active }) => active.length === 1)).toHaveLength(3000)
    expect(facts.workflows.filter(({ change }) => change?.by === 'ann')).toHaveLength(100)
  })

  it('refuses more at once than it promises', async () => {
    await expect(store.readiness([...ids, '1'])).rejects.toThrow('5000 are allowed')
  })

  it('finds rows by key, so that what has ended costs nothing', async () => {
    for (const statement of planner.analyze) await real.query(raw(statement))
    recording.take()
    await store.readiness(ids.slice(1995, 2005))
    const statements = recording.take()
    const plans = await Promise.all(
      statements.map(async statement => ({
        text: statement.parts.join('?'),
        plan: await explain(real, statement, planner.explain),
      })),
    )
    expect(plans.length).toBeGreaterThan(6)
    expect(plans.filter(({ plan }) => plan.some(line => planner.scan.test(line)))).toEqual([])
  })
})
