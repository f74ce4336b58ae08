/** Hot statements find their rows by an index on every database, whatever else the tables hold. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { factsOfClaim } from '../../src/engine/assume.ts'
import { decidePause } from '../../src/engine/decide-request.ts'
import type { NewExecution, WorkflowChange, WorkflowFacts } from '../../src/store/change.ts'
import { beginning } from '../../src/store/sql/claim-floors.ts'
import { SqlContext } from '../../src/store/sql/context.ts'
import type { Database, KeyType } from '../../src/store/sql/dialect.ts'
import { raw, type Sql } from '../../src/store/sql/sql.ts'
import { SqlStore } from '../../src/store/sql/sql-store.ts'
import { tables } from '../../src/store/sql/tables.ts'
import { probe, wholeProbe } from '../../src/store/sql/take-claimed.ts'
import type { StartOrder } from '../../src/store/store.ts'
import { forEachDatabase, type TestDatabase } from '../support/databases.ts'
import { type Explaining, explainingDatabase } from '../support/explaining-database.ts'
import { openRecorded } from '../support/open-recorded.ts'
import { changeOf, closerLookOf, ended, finishedChange, makeOrder } from '../support/open-store.ts'
import { planners } from '../support/planners.ts'
import { explain, type Recording } from '../support/recording-database.ts'
import { decided } from '../unit/engine/facts.ts'

const others = 4000
const mine = 60

for (const keyType of ['bigint', 'uuid'] as const)
  forEachDatabase(`query plans with ${keyType} keys`, database => plansWith(database, keyType))

function plansWith(database: TestDatabase, keyType: KeyType): void {
  const planner = planners[database.name]
  let real: Database
  let recording: Recording
  let store: SqlStore
  let explaining: Explaining
  let explained: SqlStore

  function order(type: string, hero: string, delayMs: number): Promise<StartOrder> {
    const key = { type: 'User', idText: hero, idKind: 'string' } as const
    return makeOrder(store, {
      type,
      hero: key,
      idempotencyKey: `key-${hero}`,
      graph: type === 'Other' ? { signature: 's', graph: JSON.stringify({ nodes: 'x'.repeat(200) }) } : null,
      first: { handler: type, due: { inMs: delayMs } },
    })
  }

  /** Every statement of the call that reads or changes rows, with its plan. */
  async function plansOf(
    call: () => Promise<unknown>,
    kind = /^\s*(with|select|insert|update|delete)/i,
  ): Promise<{ text: string; plan: string[] }[]> {
    recording.take()
    await call()
    const statements = recording.take().filter(statement => kind.test(statement.parts[0] ?? ''))
    return Promise.all(
      statements.map(async (statement: Sql) => ({
        text: statement.parts.join('?'),
        plan: await explain(real, statement, planner.explain),
      })),
    )
  }

  beforeAll(async () => {
    ;({ real, recording, store } = await openRecorded(database, { keyType }))
    explaining = await explainingDatabase(real, planner)
    explained = new SqlStore(explaining.database, { keyType })
    await explained.migrate()
    const orders: StartOrder[] = []
    for (let i = 0; i < others; i++) orders.push(await order(i % 2 ? 'Other' : 'Mine', `u${i}`, i % 2 ? 0 : 86_400_000))
    for (let i = 0; i < mine; i++) orders.push(await order('Mine', `m${i}`, 0))
    for (let i = 0; i < orders.length; i += 1000) await store.start(orders.slice(i, i + 1000))
    const sleeping = orders.filter(item => item.type === 'Mine')
    for (let i = 0; i < 1500; i += 500) await store.change(targets(sleeping.slice(i, i + 500)), finishedChange)
    await store.change(targets(sleeping.slice(1500, 1530)), facts =>
      decided(facts, draft => decidePause(draft, { by: null, reason: null })),
    )
    for (let i = 0; i < 1500; i += 500)
      await store.change(targets(sleeping.slice(-1500).slice(i, i + 500)), counted(['a', 'b', 'c']))
    for (const id of ['w1', 'gone'])
      await store.registerWorker({ id, host: 'h', pid: 1, leaseMs: 60_000, handlers: ['Mine'] })
    const source = { queue: 'default', handler: 'Mine', generation: 1 }
    await store.claim({ workerId: 'gone', sources: [source], limit: 1 })
    await store.retireWorker('gone')
  })
  afterAll(() => store.close())

  for (const analyzed of [false, true]) {
    it(`find rows by key ${analyzed ? 'after' : 'before'} the tables were analyzed`, async () => {
      if (analyzed) for (const statement of planner.analyze) await real.query(raw(statement))
      const request = {
        workerId: 'w1',
        sources: [
          { queue: 'default', handler: 'Mine', generation: 1 },
          { queue: 'mail', handler: 'Mine', generation: 1 },
        ],
        limit: 10,
      }
      let claimed = await store.claim({ ...request, limit: 5 })
      const plans = await plansOf(async () => {
        claimed = [...claimed, ...(await store.claim(request))]
        await store.heartbeat('w1', 60_000)
        await store.heartbeat(
          'w1',
          60_000,
          claimed.map(({ execution }) => execution),
        )
        expect(await store.findAbandoned(['Mine'], 10)).toHaveLength(1)
        await store.markStarted(claimed[0]?.execution ?? raise())
        await store.change(
          claimed.map(item => ({ workflowId: item.workflow.id, settle: [item.execution.id], repeated: true })),
          () => null,
          { workerId: 'w1' },
        )
        const id = claimed[0]?.workflow.id ?? ''
        await store.findWorkflow(id)
        await store.history(id)
        await store.activeExecutions(id)
        await store.findOutput(id, 'one', null)
        await store.findFirstOutputs(id, { prefix: 'one/', count: 1000 }, null)
        await store.workflowStates([id])
        await store.start([await order('Mine', 'm1', 0)])
        await store.listWorkflows({ limit: 10, states: ['paused'] })
        const hero = { type: 'User', idText: 'u1', idKind: 'string' } as const
        await store.listWorkflows({ limit: 10, hero })
        await store.listWorkflows({ limit: 10, hero, states: ['ready', 'performing', 'paused'] })
        await store.findByHero(null, hero)
      })
      expect(claimed.length).toBe(15)
      const claim = plans.find(({ text }) => text.includes('union all'))
      expect(claim?.plan.join('\n')).toMatch(planner.usesClaimIndex)
      expect(plans.length).toBeGreaterThan(14)
      // There is a worker for each process, and no index over their state.
      const hot = plans.filter(({ text }) => !text.includes('geneva_drive_workers a'))
      expect(hot.filter(({ plan }) => plan.some(line => planner.scan.test(line)))).toEqual([])
    })
  }

  it('find since when workflows stand still, and what went wrong, without reading all of them', async () => {
    for (const statement of planner.analyze) await real.query(raw(statement))
    const plans = await plansOf(async () => {
      const { rows } = await store.housekeeping.findStuck(0, 100)
      const paused = rows.filter(({ kind }) => kind === 'paused').map(({ workflowId }) => workflowId)
      expect(paused).toHaveLength(30)
      await store.views.asides(paused, paused)
    })
    const looks = plans.filter(({ text }) => text.includes("('paused', 'dlq')") || text.includes('error_class'))
    expect(looks).toHaveLength(2)
    // There is no letter here, and an empty table is read rather than searched.
    const lines = looks.flatMap(({ plan }) => plan).filter(line => !line.includes('table=l '))
    expect(lines.filter(line => planner.scan.test(line))).toEqual([])
  })

  it('find what keeps an ended workflow from being pruned by its key', async () => {
    for (const statement of planner.analyze) await real.query(raw(statement))
    const ages = new Map([['finished', 0]] as const)
    const plans = await plansOf(async () => {
      const { pruned } = await store.housekeeping.prune({ ages, limit: 1000, cursor: null, dryRun: true })
      expect(pruned).toBeGreaterThan(50)
    })
    const looks = plans.filter(({ text }) => text.includes("kind <> 'timer'"))
    expect(looks).toHaveLength(1)
    expect(looks.filter(({ plan }) => plan.some(line => planner.scan.test(line)))).toEqual([])
  })

  it('go through a line in its order, and read no more of it than they take', async () => {
    const context = new SqlContext(real, tables({}))
    const request = { workerId: 'w1', sources: [], limit: 10 }
    const source = { queue: 'default', handler: 'Mine', generation: 1 }
    const now = await store.now()
    const floors = [undefined, beginning, now - 60_000_000]
    const lines = floors.map(floor => (floor === undefined ? { source } : { source, floor }))
    for (const look of lines.flatMap(line => [probe(context, request, line), wholeProbe(context, request, line)])) {
      const plan = await explain(real, look, planner.explain)
      expect(plan.join('\n')).toMatch(planner.usesClaimIndex)
      expect(plan.filter(line => planner.sorts.test(line))).toEqual([])
    }
  })

  it('find work that nobody has code for without reading what stands in line', async () => {
    for (const statement of planner.analyze) await real.query(raw(statement))
    recording.take()
    const line = { queue: 'default', handler: 'Other' }
    expect(await store.findUnserved('')).toEqual([line])
    const { rows, next } = await store.housekeeping.readLine(line, { from: null, limit: 50 })
    const later = await store.housekeeping.readLine(line, { from: next, limit: 50 })
    expect(new Set([...rows, ...later.rows].map(row => row.executionId)).size).toBe(100)
    expect((await store.housekeeping.noteUnserved(rows)).size).toBe(50)
    const statements = recording.take().filter(({ parts }) => !/^insert|geneva_drive_workers/.test(parts.join('')))
    expect(statements.length).toBeGreaterThan(6)
    for (const statement of statements) {
      const plan = await explain(real, statement, planner.explain)
      expect(plan.filter(part => planner.scan.test(part))).toEqual([])
    }
    const lines = statements.filter(({ parts }) => parts.join('').includes('sort_key <='))
    for (const statement of lines) {
      expect((await explain(real, statement, planner.explain)).filter(part => planner.sorts.test(part))).toEqual([])
    }
  })

  it('find the queues that hold rows of a class without reading what stands in line', async () => {
    for (const statement of planner.analyze) await real.query(raw(statement))
    recording.take()
    expect(await store.queuesInLine(['Mine', 'Nobody'])).toEqual(['default'])
    const statements = recording.take()
    expect(statements.length).toBeGreaterThan(0)
    for (const statement of statements) {
      const plan = await explain(real, statement, planner.explain)
      expect(plan.filter(part => planner.scan.test(part))).toEqual([])
    }
  })

  it('find the rows, counters and parents of a graph by key, however many the workflow has', async () => {
    const names = Array.from({ length: 1500 }, (_, index) => `n${index}`)
    const rows = names.map((node, index) => ({ slot: node, node, state: index % 3 ? 'waiting' : 'scheduled' }) as const)
    const wide = await makeOrder(store, { type: 'Wide', first: rows.map(row => ({ ...row, handler: 'Wide' })) })
    await store.start([wide])
    const workflowId = wide.id
    await store.change([{ workflowId }], counted(names))
    await store.change([{ workflowId }], facts =>
      changeOf(workflowId, {
        endings: facts.active.filter(row => row.state === 'waiting').map(row => ended(row)),
        removals: facts.active.filter(row => row.state === 'waiting').map(({ slot }) => ({ slot })),
      }),
    )
    for (const statement of planner.analyze) await real.query(raw(statement))
    const undo = { undone: workflowId, below: 1_000_000_000, isEnough: () => true, namesOf: (node: string) => [node] }
    const waiting = [{ prefix: 'all/', count: 2 }]
    const look = () => closerLookOf({ parents: ['n1', 'n2'], waiting, others: true, undo })
    const asked = { workflowId, slots: ['n0', 'n3', '#stop'], fanIns: ['n7', ''] }
    const small = (await store.listWorkflows({ limit: 1, states: ['finished'] }))[0]?.workflow.id ?? ''
    const plans = await plansOf(async () => {
      await store.change([asked], () => null, { workerId: 'w1', look })
      await store.change([{ workflowId: small, withLatest: true }], () => null)
      await store.change([asked], () => counters(workflowId, { updated: [{ node: 'n7', open: 1, by: 1 }] }))
      await store.change([asked], () => counters(workflowId, { removed: [{ node: 'n7' }] }))
      await store.change([asked], () => counters(workflowId, { cleared: true }))
      await store.frozenGraphs([workflowId])
    })
    expect(plans.filter(({ plan }) => plan.some(line => planner.scan.test(line)))).toEqual([])
    const concern = (part: string) => plans.filter(({ text }) => text.includes(part)).length
    const parts = [
      'a.slot = r.slot',
      'o.slot not in',
      'f.node = r.node',
      'e.node = r.node',
      'a.slot >=',
      'from geneva_drive_graphs',
      's.id as place',
    ]
    for (const part of parts) expect([part, concern(part) > 0]).toEqual([part, true])
    const back = plans.filter(({ text }) => text.includes('s.id as place'))
    expect(back.filter(({ plan }) => plan.some(line => planner.sorts.test(line)))).toEqual([])
  })

  it('record branches that have ended, and remove them, by key', async () => {
    const names = Array.from({ length: 1500 }, (_, index) => `b${index}`)
    const held = { state: 'in_progress', owner: 'w1', handler: 'Wide' } as const
    const wide = await makeOrder(store, { type: 'Wide', first: names.map(node => ({ slot: node, node, ...held })) })
    await store.start([wide])
    for (const statement of planner.analyze) await real.query(raw(statement))
    const report = (facts: WorkflowFacts) => {
      const some = facts.active.slice(0, 100)
      return changeOf(wide.id, { endings: some.map(row => ended(row)), removals: some.map(({ slot }) => ({ slot })) })
    }
    const plans = await plansOf(
      () => store.change([{ workflowId: wide.id }], report, { workerId: 'w1' }),
      /^\s*(with s0 as \()?(insert|delete)/i,
    )
    const looking = plans.filter(({ text }) => text.includes('geneva_drive_active_executions'))
    expect(looking.length).toBe(database.name === 'postgres' ? 1 : 2)
    expect(looking.filter(({ plan }) => plan.some(line => planner.scan.test(line)))).toEqual([])
    expect(looking.filter(({ plan }) => plan.some(line => planner.byWorkflowAlone.test(line)))).toEqual([])
    expect(await store.activeExecutions(wide.id)).toHaveLength(1400)
    expect(await store.history(wide.id)).toHaveLength(100)
  })

  it.each([100, 1])('hold %d branches, and give their rows to others, by key', async count => {
    const names = Array.from({ length: 1500 }, (_, index) => `b${index}`)
    const wide = await makeOrder(store, {
      type: 'Wide',
      first: names.map(node => ({ slot: node, node, handler: 'Wide' })),
    })
    await store.start([wide])
    for (const statement of planner.analyze) await real.query(raw(statement))
    const hold = ({ active }: WorkflowFacts) => {
      const held = { state: 'paused', heldFrom: 'scheduled', input: null, progress: null, due: null } as const
      return changeOf(wide.id, { moves: active.slice(0, count).map(({ slot, fence }) => ({ slot, fence, ...held })) })
    }
    const give = ({ active }: WorkflowFacts) => {
      const rows = active.slice(0, count)
      const replacements = rows.map(row => ({ ...row, due: { inMs: 0 }, attempt: row.attempt + 1 }) as NewExecution)
      return changeOf(wide.id, { endings: rows.map(row => ended(row)), replacements })
    }
    const plans = await plansOf(async () => {
      await store.change([{ workflowId: wide.id }], hold)
      await store.change([{ workflowId: wide.id }], give)
    }, /^\s*(with s0 as \()?(insert|update)/i)
    const looking = plans.filter(({ text }) => text.includes('geneva_drive_active_executions'))
    expect(looking.length).toBeGreaterThan(1)
    expect(looking.filter(({ plan }) => plan.some(line => planner.scan.test(line)))).toEqual([])
    expect(looking.filter(({ plan }) => plan.some(line => planner.byWorkflowAlone.test(line)))).toEqual([])
  })

  it('take what they have found in a line by key, be it branches of one workflow or of many', async () => {
    const first = { handler: 'Claimed', due: { inMs: 0 } }
    const branches = Array.from({ length: 1500 }, (_, index) => ({ slot: `b${index}`, node: `b${index}`, ...first }))
    const chains = await Promise.all(Array.from({ length: 100 }, () => makeOrder(store, { first })))
    await store.start([await makeOrder(store, { type: 'Wide', first: branches }), ...chains])
    for (const statement of planner.analyze) await real.query(raw(statement))
    const sources = [{ queue: 'default', handler: 'Claimed', generation: 1 }]
    for (const limit of [100, 1400, 100]) {
      const takes = await plansOf(async () => {
        expect(await store.claim({ workerId: 'w1', sources, limit })).toHaveLength(limit)
      }, /^\s*update/i)
      expect(takes.length).toBe(database.name === 'sqlite' && limit > 1000 ? 2 : 1)
      expect(takes.filter(({ plan }) => plan.some(line => planner.scan.test(line)))).toEqual([])
      expect(takes.filter(({ plan }) => plan.some(line => planner.byWorkflowAlone.test(line)))).toEqual([])
    }
  })

  it.each([100, 1])('record %d branches that nobody has looked at by key', async count => {
    const names = Array.from({ length: 1500 }, (_, index) => `b${index}`)
    const held = { state: 'in_progress', owner: 'w1', handler: 'Wide' } as const
    const wide = await makeOrder(store, { type: 'Wide', first: names.map(node => ({ slot: node, node, ...held })) })
    await store.start([wide])
    const workflow = (await store.findWorkflow(wide.id))?.workflow ?? raise()
    const some = (await store.activeExecutions(wide.id)).slice(0, count)
    const facts = factsOfClaim({ workflow, execution: some[0] ?? raise(), input: null })
    const change = changeOf(wide.id, {
      endings: some.map(row => ended(row)),
      removals: some.map(({ slot }) => ({ slot })),
    })
    const call = { workerId: 'w1', revision: null }
    // Explained while the rows stand: of one that is gone a plan may say no more than that.
    const plans = await explaining.during(() =>
      explained.changeAssumed([{ ...facts, active: some, complete: false }], [change], call),
    )
    const accesses = plans.flatMap(({ accesses }) => accesses)
    expect(new Set(accesses.map(({ table }) => table))).toEqual(new Set(['workflows', 'workers', 'active_executions']))
    expect(accesses.filter(({ isWhole, isByKey }) => isWhole || !isByKey)).toEqual([])
    expect(plans.filter(({ plan }) => plan.some(line => planner.byWorkflowAlone.test(line)))).toEqual([])
    expect(await store.history(wide.id)).toHaveLength(count)
  })
}

function counters(workflowId: string, fanIns: Partial<WorkflowChange['fanIns']>): WorkflowChange {
  return changeOf(workflowId, { fanIns: { inserted: [], updated: [], removed: [], cleared: false, ...fanIns } })
}

/** A change that begins a counter at each node. */
function counted(nodes: readonly string[]) {
  return ({ workflow }: WorkflowFacts) => counters(workflow.id, { inserted: nodes.map(node => ({ node, open: 2 })) })
}

function targets(orders: readonly StartOrder[]) {
  return orders.map(order => ({ workflowId: order.id }))
}

function raise(): never {
  throw new Error('nothing was claimed')
}
