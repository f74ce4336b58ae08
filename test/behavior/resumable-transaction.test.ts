/** An item's own writes and its checkpoint in one transaction: both or neither, and nobody else is kept from working. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Iteration, type Transaction, Workflow, type WorkflowHandle } from '../../src/index.ts'
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

/** A statement through the connection of the driver itself. */
async function runOnHandle(name: DatabaseName, handle: any, statement: string): Promise<void> {
  if (name === 'sqlite') handle.exec(statement)
  else await handle.query(statement)
}

forEachDatabaseSideBySide('the transaction of an item', database => {
  const under = useGeneva(database, {
    workflows: [Booking, Plain],
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

  it('undoes the writes when the claim is lost meanwhile', async () => {
    let takes = true
    const wf = await book(async (tx, item, { id }) => {
      await insert(tx, id, item)
      if (item === 2 && takes) {
        takes = false
        await tx.query(`update geneva_drive_active_executions set fence = fence + 1 where workflow_id = ${id}`)
      }
    })
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(await itemsOf(wf)).toEqual([1, 2, 3])
    const reasons = (await wf.events()).filter(event => event.type === 'step.suspended').map(event => event.reason)
    expect(reasons).toEqual(['claim lost'])
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
