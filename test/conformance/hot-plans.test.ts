/**
 * Whatever is asked of the tables all the time finds its rows by an index: in tables that are empty, small and large, and whether or not
 * the server has taken stock of them, or has done so when they were quite different.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database, KeyType } from '../../src/store/sql/dialect.ts'
import { raw } from '../../src/store/sql/sql.ts'
import { SqlStore } from '../../src/store/sql/sql-store.ts'
import type { OpenApplicationTransaction } from '../../src/store/store.ts'
import { plainDrivers } from '../behavior/transactional-start/plain-drivers.ts'
import { forEachDatabase, type TestDatabase } from '../support/databases.ts'
import { type Explained, type Explaining, explainingDatabase } from '../support/explaining-database.ts'
import { emptyTables, growTables } from '../support/grown-tables.ts'
import { type HotCall, type HotCalls, hotCalls, worker } from '../support/hot-calls.ts'
import { registerWorker } from '../support/open-store.ts'
import { planners } from '../support/planners.ts'

for (const keyType of ['bigint', 'uuid'] as const)
  forEachDatabase(`hot statements with ${keyType} keys`, database => hotPlans(database, keyType))

/** A table that is read as a whole because that is the best, or all, that can be done. */
interface Whole {
  readonly table: string
  readonly why: string
  readonly text?: RegExp
  readonly call?: string
  readonly database?: TestDatabase['name']
  /** Only where stock was taken. */
  readonly onceTaken?: true
}

/** However large the others are. */
const alwaysFew: readonly Whole[] = [
  { table: 'workers', text: /state = '(alive|dead)'/, why: 'has a row for each process, and is asked who has died' },
  { table: 'schedules', text: /last_workflow_id/, why: 'has a row for each schedule of the application' },
]

const scanned = {
  database: 'sqlite',
  onceTaken: true,
  why: 'has a few rows as far as SQLite knows, which believes what stock was taken of until that is done again',
} as const

/** Where there are some hundred rows at most, or where there were when stock was taken. */
const fewForNow: readonly Whole[] = [
  {
    database: 'postgres',
    table: 'workflows',
    call: 'start some in a transaction of the application',
    why: 'has hardly more rows than are asked for, and the settings are those of the application there',
  },
  {
    database: 'postgres',
    table: 'events',
    call: 'read events as they come',
    why: 'is within one range of the index over blocks, which cannot tell its rows apart',
  },
  {
    database: 'postgres',
    table: 'tags',
    call: 'read one workflow',
    why: 'is one page, and its key has the rows in the order that is asked for',
  },
  {
    database: 'mysql',
    table: 'active_executions',
    call: 'look at all that is held',
    why: 'has hardly more rows than there are entries of the worker, the dead ones counted',
  },
  {
    database: 'mysql',
    table: 'step_executions',
    call: 'read what steps have come to',
    why: 'has fewer rows than there are nodes that are asked for',
  },
  { table: 'fan_ins', ...scanned },
  { table: 'watches', ...scanned },
  { table: 'graphs', ...scanned },
  { table: 'step_executions', text: /e\.id in \(select value/, ...scanned },
]

function hotPlans(database: TestDatabase, keyType: KeyType): void {
  const planner = planners[database.name]
  const [few, more, many] = [300, 5300, 50_000]
  let real: Database
  let explaining: Explaining
  let calls: HotCalls
  let close = async () => {}

  beforeAll(async () => {
    const { url } = await database.isolated()
    real = await planner.open(url)
    const first = new SqlStore(real, { keyType })
    await first.migrate()
    explaining = await explainingDatabase(real, planner)
    const store = new SqlStore(explaining.database, { keyType })
    await store.migrate()
    await registerWorker(store, worker)
    const [driver] = plainDrivers[database.name]
    if (driver === undefined) throw new Error('There is no driver.')
    const connection = await driver.connect(url)
    const open: OpenApplicationTransaction = async run => {
      await connection.query('begin')
      const result = await run(connection.handle)
      await connection.query('commit')
      return result
    }
    calls = hotCalls(store, open)
    close = async () => {
      await connection.close()
      await store.close()
    }
  })
  afterAll(() => close())

  async function takeStock(): Promise<void> {
    for (const statement of planner.analyze) await real.run(raw(statement))
    const { reread } = planner
    if (reread === undefined) return
    await real.query(raw(reread))
    await real.userTransaction(({ transaction }) => transaction.query(reread))
  }

  const grow = (to: number, from = 0) => growTables(real, { name: database.name, keyType, from, to })

  const small: readonly Stage[] = [
    ['empty tables', { areFew: true, prepare: async () => {} }],
    ['small tables', { areFew: true, prepare: () => grow(few) }],
  ]
  const large: readonly Stage[] = [
    ['large tables', { areFew: false, prepare: () => grow(many, few) }],
    ['large tables of which stock was taken', { areFew: false, isTaken: true, prepare: takeStock }],
  ]
  const young: readonly Stage[] = [
    [
      'small tables of which stock was taken while they were empty',
      { areFew: true, isTaken: true, prepare: startAnew },
    ],
    ['small tables of which stock was taken', { areFew: true, isTaken: true, prepare: takeStock }],
    ['tables that have grown since', { areFew: true, isTaken: true, prepare: () => grow(more, few) }],
  ]
  // The kind of keys matters for how values are compared, which tables of any size show.
  const stages = keyType === 'bigint' ? [...small, ...large, ...young] : [...small, ...young.slice(1, 2)]

  async function startAnew(): Promise<void> {
    await emptyTables(real, database.name)
    await takeStock()
    await grow(few)
  }

  async function plansOf(name: string, call: HotCall): Promise<Explained[]> {
    const all: Explained[] = []
    await call(async watched => {
      all.push(...(await explaining.during(watched)))
    })
    expect(all, name).not.toEqual([])
    // What is left in hand would soon be most of what there is.
    await real.run(raw(`delete from geneva_drive_active_executions where owner in ('${worker}', 'gone')`))
    return all
  }

  it.each(stages)('find their rows by an index in %s', async (_, { prepare, areFew, isTaken = false }) => {
    await prepare()
    const known = (areFew ? [...alwaysFew, ...fewForNow] : alwaysFew).filter(each => isTaken || !each.onceTaken)
    const wrong = new Set<string>()
    for (const [name, call] of Object.entries({ ...calls.one, ...calls.other })) {
      const isOne = name in calls.one
      const plans = await plansOf(name, call)
      // A plan may say that there is no such row instead of how it was looked for.
      const seen = new Set(plans.flatMap(({ accesses }) => accesses.map(({ table }) => table)))
      if (isOne) expect([name, seen.has('active_executions')]).toEqual([name, true])
      for (const { text, accesses } of plans) {
        const mayBeRead = (table: string) => known.some(each => isAbout(each, { table, text, name }))
        const read = accesses.filter(({ table, isWhole }) => isWhole && !mayBeRead(table))
        const strayed = accesses.filter(({ table, isByKey }) => isOne && table === 'active_executions' && !isByKey)
        for (const { line } of [...read, ...strayed])
          wrong.add(`${name}: ${line} in ${text.replaceAll(/\s+/g, ' ').slice(0, 300)}`)
      }
    }
    expect([...wrong]).toEqual([])
  })

  function isAbout(whole: Whole, { table, text, name }: { table: string; text: string; name: string }): boolean {
    const { database: where = database.name, call = name, text: said = /./ } = whole
    return whole.table === table && where === database.name && call === name && said.test(text)
  }
}

type Stage = readonly [
  title: string,
  {
    /** Of the rows there are few, or were when stock was taken. */
    readonly areFew: boolean
    readonly isTaken?: boolean
    prepare(): Promise<unknown>
  },
]
