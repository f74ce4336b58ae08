/**
 * On a new database PostgreSQL knows nothing of the tables yet, and keeps a plan for as long as a connection lasts. What a worker
 * reports must be looked up row by row all the same: a plan for empty tables reads full ones once for every row.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { factsOfClaim } from '../../src/engine/assume.ts'
import { openPostgres } from '../../src/store/postgres/postgres-database.ts'
import { postgresDialect } from '../../src/store/postgres/postgres-dialect.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { raw, render, Sql } from '../../src/store/sql/sql.ts'
import { SqlStore } from '../../src/store/sql/sql-store.ts'
import { databases } from '../support/databases.ts'
import {
  changeOf,
  factsOf,
  finishedChange,
  handedOverChange,
  registerWorker,
  sampleSource,
  startSome,
} from '../support/open-store.ts'
import { type Recording, recordingDatabase } from '../support/recording-database.ts'

/** Nodes of a plan that do not look up rows of a table by the first column of its key. */
function wholeScans(plan: string): string[] {
  const byKey = /Index Cond: \(+(\w+\.)?(workflow_id|id) = /
  const nodes = plan.split(/\n(?=\s*->)/).filter(node => /Scan (using \S+ )?on \S*geneva/.test(node))
  // A heap that is read by way of a bitmap has its condition in the node below.
  return nodes.filter(node => !node.includes('Bitmap Heap Scan') && !byKey.test(node))
}

/** Statements that look up rows that were named to them: a set of them, or one alone. */
function namesRows(text: string): boolean {
  return /join|update|delete/.test(text) && /unnest|\(select (\$\d+::|v\.)/.test(text)
}

describe.each(databases.filter(({ name }) => name === 'postgres'))('reports to young tables on $name', database => {
  let real: Database
  let recording: Recording
  let store: SqlStore

  beforeAll(async () => {
    real = await openPostgres({ url: (await database.isolated()).url, poolSize: 1, preparedStatements: true })
    recording = recordingDatabase(real)
    store = new SqlStore(recording.database, {})
    await store.migrate()
    await registerWorker(store, 'w1')
  })
  afterAll(() => store.close())

  /** What the steps come to: all workflows end with them, or two of three go on. */
  type Outcome = 'end' | 'go on'

  /** The texts of the statements with which that many finished steps are reported. */
  async function report(count: number, outcome: Outcome = 'end'): Promise<string[]> {
    const statements = await reportStatements(count, outcome)
    return statements.map(statement => render(statement, postgresDialect.placeholder).text)
  }

  async function reportStatements(count: number, outcome: Outcome): Promise<Sql[]> {
    await startSome(store, count)
    const claimed = await store.claim({ workerId: 'w1', sources: [sampleSource], limit: count })
    const facts = claimed.map(factsOfClaim)
    const changes = await Promise.all(
      facts.map((fact, index) =>
        outcome === 'end' || index % 3 === 2 ? finishedChange(fact) : handedOverChange(store, fact),
      ),
    )
    recording.take()
    const now = await store.changeAssumed(facts, changes, { workerId: 'w1', revision: null })
    expect(now).not.toBeNull()
    const statements = recording.take()
    await real.query(raw('delete from geneva_drive_active_executions'))
    return statements
  }

  /** The same of a branch whose end begins a counter, of which the report says that it is not there. */
  async function reportBranch(): Promise<string[]> {
    await startSome(store, 1)
    const [claimed] = await store.claim({ workerId: 'w1', sources: [sampleSource], limit: 1 })
    if (claimed === undefined) throw new Error('Nothing was claimed.')
    const facts = { ...factsOfClaim(claimed), complete: false, uncounted: ['join'] }
    const { endings, removals } = finishedChange(facts)
    const fanIns = { inserted: [{ node: 'join', open: 1 }], updated: [], removed: [], cleared: false }
    const change = changeOf(claimed.workflow.id, { endings, removals, fanIns })
    recording.take()
    expect(await store.changeAssumed([facts], [change], { workerId: 'w1', revision: null })).not.toBeNull()
    return recording.take().map(statement => render(statement, postgresDialect.placeholder).text)
  }

  async function genericPlan(text: string): Promise<string> {
    const rows = await real.query(raw(`explain (generic_plan) ${text}`))
    return rows.map(row => Object.values(row)[0]).join('\n')
  }

  it.each<Outcome>(['end', 'go on'])(
    'find each of many rows by its key, also where they are planned for by their values: they %s',
    async outcome => {
      // As they are behind a pooler, and on the way to a plan that is kept.
      for (const { parts, values } of await reportStatements(400, outcome)) {
        const rows = await real.query(new Sql([`explain ${parts[0]}`, ...parts.slice(1)], values))
        const plan = rows.map(row => Object.values(row)[0]).join('\n')
        expect(plan).not.toMatch(/Seq Scan|Hash Join|Merge Join|Join Filter/)
        if (/unnest/.test(parts.join('')) && /Scan using/.test(plan))
          expect(wholeScans(plan).filter(node => !/workers|limits/.test(node))).toEqual([])
      }
    },
  )

  // The workflows twice, twice the rows that are reported, or once where many go, and the worker.
  it.each<[number, Outcome, number]>([
    [1, 'end', 5],
    [2, 'end', 5],
    [400, 'end', 4],
    [1, 'go on', 4],
    [400, 'go on', 5],
  ])('find each of %i rows by its key before the server has taken stock: they %s', async (count, outcome, looks) => {
    await report(20, outcome)
    const texts = (await report(count, outcome)).filter(namesRows)
    const plans = await Promise.all(texts.map(genericPlan))
    expect(plans.flatMap(plan => plan.match(/Index Cond/g) ?? []).length).toBe(looks)
    for (const plan of plans) expect(plan).not.toMatch(/Seq Scan|Hash Join|Merge Join|Join Filter/)
  })

  it('find each row by its key, also when stock was taken while nothing stood there', async () => {
    const reports = [await report(400), await report(1), await report(400, 'go on'), await report(1, 'go on')]
    const texts = [...reports.flat(), ...(await reportBranch())].filter(namesRows)
    await real.query(raw('delete from geneva_drive_fan_ins'))
    // Then a planner believes in a table of pages without rows, and would as soon go through all of it as look up one.
    for (const table of ['active_executions', 'fan_ins'])
      await real.query(raw(`vacuum (analyze, truncate off) geneva_drive_${table}`))
    const [size] = await real.query(
      raw(`select reltuples, relpages from pg_class where relname = 'geneva_drive_active_executions'`),
    )
    expect(Number(size?.reltuples)).toBe(0)
    expect(Number(size?.relpages)).toBeGreaterThan(0)
    for (const plan of await Promise.all(texts.map(genericPlan))) expect(wholeScans(plan)).toEqual([])
    recording.take()
    const [id = ''] = await startSome(store, 1)
    await factsOf(store, { workflowId: id, slots: ['', 'other'], fanIns: ['join'] }, { parents: ['one', 'two'] })
    await store.claim({ workerId: 'w1', sources: [sampleSource], limit: 10 })
    await store.claim({ workerId: 'w1', sources: [sampleSource, { ...sampleSource, queue: 'other' }], limit: 10 })
    await store.heartbeat('w1', 60_000, [{ workflowId: id, slot: '' }])
    const looks = recording.take().map(statement => render(statement, postgresDialect.placeholder).text)
    const byKey = looks.filter(namesRows)
    expect(byKey.length).toBeGreaterThan(4)
    for (const plan of await Promise.all(byKey.map(genericPlan))) expect(wholeScans(plan)).toEqual([])
    // The lines are looked through by their own index, and what was found there is locked by its key: in the first look, and in
    // the second of a claim that got nothing.
    const fromTwo = looks.filter(text => text.includes('skip locked') && text.includes('due.workflow_id'))
    expect(fromTwo).toHaveLength(2)
    for (const plan of await Promise.all(fromTwo.map(genericPlan))) {
      expect(wholeScans(plan).filter(node => !/geneva_drive_active_claimable/.test(node))).toEqual([])
      expect(plan.match(/geneva_drive_active_claimable/g)).toHaveLength(2)
    }
  })

  it('come after claims that go through their line in its order, whatever the planner believes', async () => {
    await startSome(store, 2000)
    await startSome(store, 4800, { first: { queue: 'elsewhere', handler: 'Other', due: { inMs: 86_400_000 } } })
    for (const analyzed of [false, true]) {
      if (analyzed) await real.query(raw('analyze geneva_drive_active_executions'))
      recording.take()
      await store.claim({ workerId: 'w1', sources: [sampleSource], limit: 10 })
      const texts = recording.take().map(statement => render(statement, postgresDialect.placeholder).text)
      const at = texts.findIndex(text => text.includes('skip locked'))
      // A planner that takes the line for a few rows would read all of it, and sort.
      expect(texts.slice(0, at)).toContain('set local enable_bitmapscan = off')
      const plan = await real.transaction(async transaction => {
        for (const text of texts.slice(0, at).filter(text => text.startsWith('set'))) await transaction.run(raw(text))
        const rows = await transaction.query(raw(`explain (generic_plan) ${texts[at]}`))
        return rows.map(row => Object.values(row)[0]).join('\n')
      })
      expect(plan).toMatch(/Index Scan using geneva_drive_active_claimable/)
      expect(plan).not.toMatch(/Sort|Bitmap/)
    }
  })

  it('are told to who reads events, and the workflow of each event is looked up', async () => {
    await report(40)
    recording.take()
    expect((await store.readEvents({ after: 0, limit: 100, memory: null })).events).not.toEqual([])
    const texts = recording.take().map(statement => render(statement, postgresDialect.placeholder).text)
    const reads = texts.filter(text => text.includes('left join geneva_drive_workflows'))
    expect(reads).toHaveLength(1)
    const nodes = (await genericPlan(reads[0] ?? '')).split(/\n(?=\s*->)/)
    const looks = nodes.filter(node => node.includes('on geneva_drive_workflows'))
    expect(looks).toEqual([expect.stringContaining('Index Cond: (id = ANY (ARRAY[v.workflow_id]))')])
  })

  it('are planned once, and whoever looks around is planned for by what is asked', async () => {
    const texts = await report(40)
    for (let i = 0; i < 3; i++) await report(40)
    const [id = ''] = await startSome(store, 1)
    await store.findWorkflow(id)
    const rows = await real.query(
      raw('select statement, generic_plans as kept, custom_plans as made from pg_prepared_statements'),
    )
    const plans = new Map(rows.map(row => [row.statement, { kept: Number(row.kept), made: Number(row.made) }]))
    for (const text of texts) {
      expect(plans.get(text)?.made).toBe(0)
      expect(plans.get(text)?.kept).toBeGreaterThanOrEqual(4)
    }
    const looks = rows.filter(row => /^select .*from geneva_drive_workflows w/s.test(String(row.statement)))
    expect(looks.some(row => Number(row.made) > 0)).toBe(true)
    const mode = `select current_setting('plan_cache_mode') as mode`
    await report(2)
    expect(await real.userTransaction(({ transaction }) => transaction.query(mode))).toEqual([{ mode: 'auto' }])
    await report(2)
    expect(await real.query(raw(mode))).toEqual([{ mode: 'auto' }])
  })

  it('leave the application its own settings in its own transactions', async () => {
    const show = `select current_setting('enable_seqscan') as seqscan`
    expect(await real.query(raw(show))).toEqual([{ seqscan: 'off' }])
    const seen = await real.userTransaction(({ transaction }) => transaction.query(show))
    expect(seen).toEqual([{ seqscan: 'on' }])
    expect(await real.query(raw(show))).toEqual([{ seqscan: 'off' }])
  })
})
