/**
 * Transactional steps that get in each other's way in the tables of the application. The database itself finds it, and each
 * library says it in its own words: what was undone is run again as a whole, and nothing is lost or counted twice.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Geneva, type OpenTransaction, type Transaction, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { gate } from '../support/wait-for.ts'
import {
  type Application,
  type Isolation,
  notesTable,
  type OpenApplication,
} from './transactional-start/application.ts'
import { libraries } from './transactional-start/libraries.ts'

/** What the tests do in a step, by the name in its input. */
const works = new Map<string, (tx: any) => Promise<unknown>>()

class Moving extends Workflow<null, { work: string }> {
  static {
    this.transactionalStep('move')
  }
  async move(tx: Transaction) {
    await works.get(this.input.work)?.(tx)
  }
}

const workflows = [Moving]
const add = (account: number) => `update accounts set total = total + 1 where id = ${account}`
const count = (table: string) => `select count(*) from ${table}`

/** Resolves for both as soon as both have come to it; whoever comes again goes on at once. */
function meeting() {
  const both = [gate(), gate()] as const
  return async (side: 0 | 1) => {
    both[side].open()
    await Promise.all(both.map(each => each.passed))
  }
}

forEachDatabase('transactional steps in each other’s way', database => {
  const under = useGeneva(database, { workflows })
  let plain: PlainConnection
  let started = 0

  beforeAll(async () => {
    plain = await connectPlainly(database.name, under.url)
    await plain.query(notesTable)
    await plain.query('create table accounts (id integer primary key, total integer not null)')
    for (const table of ['days', 'nights']) await plain.query(`create table ${table} (id integer primary key)`)
  })
  beforeEach(async () => {
    for (const table of ['application_notes', 'accounts', 'days', 'nights']) await plain.query(`delete from ${table}`)
    await plain.query('insert into accounts (id, total) values (0, 0), (1, 0)')
  })
  afterAll(() => plain.close())

  const notes = async () => (await plain.query('select note from application_notes order by note')).map(row => row.note)
  const totals = async () => {
    const rows = await plain.query('select total from accounts order by id')
    return rows.map(row => Number(row.total))
  }

  /** A worker whose steps open their transactions in a library. */
  function useLibrary(open: OpenApplication, { copies, isolation }: { copies: number; isolation?: Isolation }) {
    const applications: Application[] = []
    let geneva: Geneva
    beforeAll(async () => {
      for (let copy = 0; copy < copies; copy++) applications.push(await open(under.url, isolation))
      // Some have a single connection, so each transaction gets an application of its own.
      const free = [...applications]
      const transactions = async (run: any) => {
        const application = free.pop() as Application
        return application.transaction(run).finally(() => free.push(application))
      }
      geneva = under.another({ workflows, transactions: transactions as OpenTransaction })
      await geneva.startWorker({ ...quickly, concurrency: copies })
    })
    afterAll(async () => {
      await geneva.close()
      for (const application of applications) await application.close()
    })
    return {
      run: (tx: object, statement: string) => applications[0]?.run(tx, statement),
      note: (tx: object, text: string) => applications[0]?.note(tx, text),
      async finish(all: readonly ((tx: any) => Promise<unknown>)[]): Promise<WorkflowHandle<any>[]> {
        const named = all.map(work => [`${database.name} ${++started}`, work] as const)
        for (const [name, work] of named) works.set(name, work)
        const handles = await geneva.startMany(
          Moving,
          named.map(([name]) => ({ input: { work: name } })),
        )
        for (const wf of handles) await wf.waitUntilFinished({ timeout: '20s' })
        return handles
      },
    }
  }

  const onServer = database.name === 'sqlite' ? [] : Object.entries(libraries[database.name])
  const oneAttempt = [{ step: 'move', attempt: 1, outcome: 'success' }]

  describe.each(onServer)('through %s', (_name, open) => {
    const library = useLibrary(open, { copies: 2 })

    it('are run again as a whole when they have locked each other out, and each counts once', async () => {
      const meet = meeting()
      const calls = [0, 0] as [number, number]
      const transfer = (from: 0 | 1, to: 0 | 1) => async (tx: any) => {
        calls[from]++
        await library.note(tx, `from ${from}`)
        await library.run(tx, add(from))
        await meet(from)
        await library.run(tx, add(to))
      }
      const [one, other] = await library.finish([transfer(0, 1), transfer(1, 0)])
      expect(await totals()).toEqual([2, 2])
      expect(await notes()).toEqual(['from 0', 'from 1'])
      expect(Math.max(...calls)).toBeGreaterThan(1)
      expect(await one?.history()).toMatchObject(oneAttempt)
      expect(await other?.history()).toMatchObject(oneAttempt)
    })
  })

  describe.each(onServer)('through %s, under serializable', (_name, open) => {
    const library = useLibrary(open, { copies: 2, isolation: 'serializable' })

    it('end as if one had come after the other, though both have looked before either wrote', async () => {
      const meet = meeting()
      const calls = [0, 0] as [number, number]
      /** Takes a shift, provided that nobody has the other. */
      const serve = (side: 0 | 1, own: string, others: string) => async (tx: any) => {
        calls[side]++
        await library.run(tx, count(others))
        await meet(side)
        await library.note(tx, `looked at ${others}`)
        const isFree = `(${count(others)}) = 0`
        await library.run(tx, `insert into ${own} (id) select ${side} from accounts where id = 0 and ${isFree}`)
      }
      const [one, other] = await library.finish([serve(0, 'days', 'nights'), serve(1, 'nights', 'days')])
      expect([
        ...(await plain.query('select id from days')),
        ...(await plain.query('select id from nights')),
      ]).toHaveLength(1)
      expect(await notes()).toEqual(['looked at days', 'looked at nights'])
      expect(Math.max(...calls)).toBeGreaterThan(1)
      expect(await one?.history()).toMatchObject(oneAttempt)
      expect(await other?.history()).toMatchObject(oneAttempt)
    })
  })

  const ownFile = 'the interface of node:sqlite, opened for each transaction'
  const inFile = database.name === 'sqlite' ? [[ownFile, libraries.sqlite[ownFile] as OpenApplication] as const] : []
  describe.each(inFile)('through %s', (_name, open) => {
    const library = useLibrary(open, { copies: 8 })

    it('take turns, and each counts once', async () => {
      const all = Array.from({ length: 24 }, () => async (tx: any) => {
        await library.run(tx, add(0))
        // Long enough for others to find the file locked.
        await turn()
        await library.run(tx, add(1))
      })
      await library.finish(all)
      expect(await totals()).toEqual([24, 24])
    })
  })
})
