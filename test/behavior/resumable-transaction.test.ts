/** An item's own writes and its checkpoint in one transaction: both or neither, and nobody else is kept from working. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Iteration, type Transaction, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { conflictOf } from '../support/conflict-of.ts'
import { type DatabaseName, forEachDatabaseSideBySide } from '../support/databases.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, gate, waitFor } from '../support/wait-for.ts'

/** What a test does inside the transaction of an item. */
type Work = (tx: Transaction, item: number, workflow: Workflow<any, any>) => Promise<unknown>

const works = new Map<string, Work>()
const results = new Map<string, unknown>()

const insert = (tx: Transaction, id: string, item: number) =>
  tx.query(`insert into bookings (workflow_id, item) values (${id}, ${item})`)

class Booking extends Workflow<null, { work: string; outside?: boolean }> {
  static {
    this.resumableStep('book')
  }
  async book(iter: Iteration<number>) {
    const work = works.get(this.input.work)
    if (this.input.outside) await iter.transaction(async () => {})
    for await (const item of iter.over([1, 2, 3])) {
      const result = await iter.transaction(async tx => work?.(tx, item, this))
      results.set(this.input.work, result)
    }
  }
}

class Plain extends Workflow {
  static {
    this.allowMultiple()
    this.step('one')
    this.step('two')
  }
  one() {}
  two() {
    return 'done'
  }
}

/** The same for a page of items. */
type PageWork = (tx: Transaction, page: readonly number[], workflow: Workflow<any, any>) => Promise<unknown>

const pageWorks = new Map<string, PageWork>()

class Paging extends Workflow<null, { work: string; last: number }> {
  static {
    this.resumableStep('book')
  }
  async book(iter: Iteration<number>) {
    const { work, last } = this.input
    const fetch = async (after: number | null, limit: number) => {
      const from = (after ?? 0) + 1
      return Array.from({ length: Math.min(limit, last - from + 1) }, (_, index) => from + index)
    }
    for await (const page of iter.batches(fetch, item => item, { size: 3 })) {
      await iter.transaction(async tx => pageWorks.get(work)?.(tx, page, this))
    }
  }
}

/** A statement through the connection of the driver itself. */
async function runOnHandle(name: DatabaseName, handle: any, statement: string): Promise<void> {
  if (name === 'sqlite') handle.exec(statement)
  else await handle.query(statement)
}

forEachDatabaseSideBySide('the transaction of an item', database => {
  const under = useGeneva(database, {
    workflows: [Booking, Paging, Plain],
    worker: { lease: 1000, heartbeat: 50 },
  })
  let plain: PlainConnection
  beforeAll(async () => {
    plain = await connectPlainly(database.name, under.url)
    await plain.query('create table bookings (workflow_id bigint not null, item integer not null)')
  })
  afterAll(() => plain.close())

  let count = 0
  async function book(work: Work, input: { outside?: boolean } = {}): Promise<WorkflowHandle<Booking>> {
    const name = `${database.name} ${++count}`
    works.set(name, work)
    return under.geneva.start(Booking, { input: { work: name, ...input } })
  }

  const itemsOf = async ({ id }: { id: string }) => {
    const rows = await plain.query(`select item from bookings where workflow_id = ${id} order by item`)
    return rows.map(row => Number(row.item))
  }
  const cursorOf = async ({ id }: { id: string }) => {
    const rows = await plain.query(
      `select cursor_value as place from geneva_drive_active_executions where workflow_id = ${id}`,
    )
    return rows[0]?.place === null ? null : Number(rows[0]?.place)
  }

  it('commits the writes and the cursor together', async () => {
    const looked: unknown[] = []
    const wf = await book(async (tx, item, { id }) => {
      looked.push([await itemsOf({ id }), await cursorOf({ id })])
      const rows = await tx.query(`select count(*) as count from bookings where workflow_id = ${id}`)
      await insert(tx, id, item)
      return Number(rows[0]?.count)
    })
    await wf.waitUntilFinished({ timeout: '10s' })
    // Each item finds what the ones before have committed, and nothing more.
    expect(looked).toEqual([
      [[], null],
      [[1], 1],
      [[1, 2], 2],
    ])
    expect(results.get((await wf.input()).work)).toBe(2)
    expect(await itemsOf(wf)).toEqual([1, 2, 3])
  })

  it('takes statements on the connection of the driver as well', async () => {
    let fails = true
    const wf = await book(async ({ handle }, item, { id }) => {
      await runOnHandle(database.name, handle, `insert into bookings (workflow_id, item) values (${id}, ${item})`)
      if (item === 2 && fails) throw new Error('not yet')
    })
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    expect(await itemsOf(wf)).toEqual([1])
    fails = false
    await wf.resume()
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(await itemsOf(wf)).toEqual([1, 2, 3])
  })

  it('undoes the writes and leaves the cursor when the work throws', async () => {
    let fails = true
    const wf = await book(async (tx, item, { id }) => {
      await insert(tx, id, item)
      if (item === 2 && fails) throw new Error('no such account')
    })
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    expect(await itemsOf(wf)).toEqual([1])
    expect(await wf.history()).toMatchObject([{ attempt: 1, error: { message: 'no such account' } }])
    const store = await under.geneva.openedStore()
    expect((await store.history(wf.id))[0]?.progress).toMatchObject({ cursor: '1', completedIterations: 1 })
    fails = false
    await wf.resume()
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(await itemsOf(wf)).toEqual([1, 2, 3])
  })

  it('undoes the writes when a statement fails', async () => {
    let fails = true
    const wf = await book(async (tx, item, { id }) => {
      await insert(tx, id, item)
      if (item === 2 && fails) {
        fails = false
        await tx.query('select * from no_such_table')
      }
    })
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    expect(await itemsOf(wf)).toEqual([1])
    await wf.resume()
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(await itemsOf(wf)).toEqual([1, 2, 3])
  })

  it('is run again as a whole when the database asks for it, as the same attempt', async () => {
    const called: number[] = []
    const wf = await book(async (tx, item, { id }) => {
      called.push(item)
      await insert(tx, id, item)
      if (called.length === 2) throw conflictOf(database.name)
    })
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(called).toEqual([1, 2, 2, 3])
    expect(await itemsOf(wf)).toEqual([1, 2, 3])
    expect(await wf.history()).toMatchObject([{ attempt: 1, outcome: 'success' }])
    expect((await wf.events()).filter(event => event.type === 'step.started')).toHaveLength(1)
  })

  it('fails when the database lets it through never', async () => {
    let calls = 0
    const wf = await book(async (tx, item, { id }) => {
      await insert(tx, id, item)
      if (item < 2) return
      calls++
      throw conflictOf(database.name)
    })
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    expect(calls).toBe(10)
    expect(await itemsOf(wf)).toEqual([1])
    expect(await wf.history()).toMatchObject([{ attempt: 1, error: { message: 'somebody else was faster' } }])
  })

  describe('that holds a page of a batch', () => {
    const pages = [
      [1, 2, 3],
      [4, 5, 6],
      [7, 8],
    ]
    /** Writes its rows one by one; `meets` is asked in the middle of each page, with how often a page was begun. */
    async function page(meets: (begun: number) => unknown) {
      const name = `${database.name} ${++count}`
      const begun: (readonly number[])[] = []
      pageWorks.set(name, async (tx, items, { id }) => {
        begun.push(items)
        for (const [index, item] of items.entries()) {
          if (index === 2) meets(begun.length)
          await insert(tx, id, item)
        }
      })
      return { begun, wf: await under.geneva.start(Paging, { input: { work: name, last: 8 } }) }
    }

    it('leaves nothing of a page that throws, and goes on with that page', async () => {
      let fails = true
      const { wf, begun } = await page(pagesBegun => {
        if (pagesBegun === 2 && fails) throw new Error('no such account')
      })
      await waitFor(async () => (await wf.refresh()).state === 'paused')
      expect(await itemsOf(wf)).toEqual([1, 2, 3])
      const store = await under.geneva.openedStore()
      expect((await store.history(wf.id))[0]?.progress).toMatchObject({ cursor: '3', completedIterations: 3 })
      fails = false
      await wf.resume()
      await wf.waitUntilFinished({ timeout: '10s' })
      expect(await itemsOf(wf)).toEqual(pages.flat())
      expect(begun).toEqual([pages[0], pages[1], ...pages.slice(1)])
    })

    it('does a page that has met a conflict again as a whole', async () => {
      const { wf, begun } = await page(pagesBegun => {
        if (pagesBegun === 2) throw conflictOf(database.name)
      })
      await wf.waitUntilFinished({ timeout: '10s' })
      expect(await itemsOf(wf)).toEqual(pages.flat())
      expect(begun).toEqual([pages[0], pages[1], ...pages.slice(1)])
      expect(await wf.history()).toMatchObject([{ attempt: 1, outcome: 'success' }])
    })
  })

  it('undoes the writes when the claim is lost meanwhile', async () => {
    let takes = true
    const called: number[] = []
    const wf = await book(async (tx, item, { id }) => {
      called.push(item)
      await insert(tx, id, item)
      if (item !== 2 || !takes) return
      takes = false
      const steal = `update geneva_drive_active_executions set fence = fence + 1 where workflow_id = ${id}`
      // A file has one writer, and that is this transaction: the loss is undone with the writes, and the claim is there again.
      if (database.name === 'sqlite') await tx.query(steal)
      else await plain.query(steal)
    })
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(called).toEqual([1, 2, 2, 3])
    expect(await itemsOf(wf)).toEqual([1, 2, 3])
    const attempts = (await wf.history()).map(({ attempt, outcome }) => [attempt, outcome])
    const reasons = (await wf.events()).filter(event => event.type === 'step.suspended').map(event => event.reason)
    if (database.name === 'sqlite') expect([attempts, reasons]).toEqual([[[1, 'success']], ['claim lost']])
    else
      expect([attempts, reasons]).toEqual([
        [
          [1, 'recovered'],
          [2, 'success'],
        ],
        [],
      ])
  })

  it('belongs to an item', async () => {
    const wf = await book(async () => {}, { outside: true })
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    expect((await wf.history())[0]?.error).toMatchObject({
      className: 'InvalidArgumentError',
      message: expect.stringContaining('call it inside a loop'),
    })
  })

  it('takes no statement after its end', async () => {
    const kept: Transaction[] = []
    const wf = await book(async (tx, item, { id }) => {
      kept.push(tx)
      await insert(tx, id, item)
    })
    await wf.waitUntilFinished({ timeout: '10s' })
    for (const tx of kept) {
      await expect(insert(tx, wf.id, 9)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
    expect(await itemsOf(wf)).toEqual([1, 2, 3])
  })

  it('that takes its time keeps nobody else from working, and the worker keeps its lease', async () => {
    const began = gate()
    const wf = await book(async (tx, item, { id }) => {
      await insert(tx, id, item)
      began.open()
      await pause(400)
    })
    await began.passed
    const others = await Promise.all(Array.from({ length: 5 }, () => under.geneva.start(Plain)))
    for (const other of others) expect(await other.waitUntilFinished({ timeout: '10s' })).toBe('done')
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(await itemsOf(wf)).toEqual([1, 2, 3])
    // In 1.2 seconds nobody has taken it for dead.
    expect(await wf.history()).toMatchObject([{ attempt: 1, outcome: 'success' }])
    expect((await wf.events()).filter(event => event.type === 'step.started')).toHaveLength(1)
  })
})

forEachDatabaseSideBySide('the transaction of an item at which two are at once', database => {
  const under = useGeneva(database, { workflows: [Booking] })
  const gates = new Gates()

  it('counts for the one that has the claim, and is undone for the one that was taken for dead', async () => {
    const plain = await connectPlainly(database.name, under.url)
    await plain.query('create table bookings (workflow_id bigint not null, item integer not null)')
    const tried: unknown[] = []
    class Contested extends Workflow {
      static {
        this.resumableStep('book')
      }
      async book(iter: Iteration<number>) {
        for await (const item of iter.over([1, 2, 3])) {
          const { attempt } = this.execution
          if (item === 2) await gates.stop(`${database.name} attempt ${attempt}`, this.signal)
          await iter.transaction(async tx => {
            await insert(tx, this.id, item * 10 + attempt)
            tried.push(item * 10 + attempt)
          })
        }
      }
    }
    const [slow, quick] = [under.another({ workflows: [Contested] }), under.another({ workflows: [Contested] })]
    const wf = await slow.start(Contested)
    await slow.startWorker({ ...quickly, lease: '20s', heartbeat: '5s' })
    await gates.arrived(`${database.name} attempt 1`)
    const store = await quick.openedStore()
    const [row] = await store.activeExecutions(wf.id)
    await store.retireWorker(row?.owner ?? '')
    // The slow one learns of its death at its next heartbeat only, so it cannot claim the next attempt itself.
    await quick.startWorker({ ...quickly, lease: '20s' })
    await gates.arrived(`${database.name} attempt 2`)
    // Both stand before the same item, with the same cursor.
    gates.open(`${database.name} attempt 1`)
    await waitFor(() => tried.length === 2)
    await slow.close()
    gates.open(`${database.name} attempt 2`)
    await (await quick.find(wf.id))?.waitUntilFinished({ timeout: '10s' })
    expect(tried).toEqual([11, 21, 22, 32])
    const rows = await plain.query(`select item from bookings where workflow_id = ${wf.id} order by item`)
    expect(rows.map(each => Number(each.item))).toEqual([11, 22, 32])
    expect(await store.history(wf.id)).toMatchObject([
      { attempt: 1, outcome: 'recovered', progress: { cursor: '1' } },
      { attempt: 2, outcome: 'success', progress: { cursor: '3', completedIterations: 3 } },
    ])
    await plain.close()
  })
})
