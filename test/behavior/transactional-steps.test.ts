/** A transactional step's own writes and its outcome are committed together: both or neither, exactly once. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Transaction, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { conflictOf } from '../support/conflict-of.ts'
import { forEachDatabaseSideBySide } from '../support/databases.ts'
import { connectPlainly, countRows, type PlainConnection } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

/** What a test does in the transaction of a step. */
type Work = (tx: Transaction, workflow: Booking) => unknown

const works = new Map<string, Work>()

const ledger = 'create table ledger (workflow_id bigint not null, note varchar(100) not null)'

const insert = (tx: Transaction, { id }: { id: string }, note: string) =>
  tx.query(`insert into ledger (workflow_id, note) values (${id}, '${note}')`)

class Booking extends Workflow<null, { work: string }> {
  static {
    this.transactionalStep('book', { timeout: '3s' })
    this.step('after')
  }
  async book(tx: Transaction) {
    return (await works.get(this.input.work)?.(tx, this)) as string | undefined
  }
  async after() {
    return `after ${await this.output(this.book, 'nothing')}`
  }
}

class Hasty extends Workflow<null, { work: string }> {
  static {
    this.transactionalStep('book', { timeout: '400 ms' })
  }
  async book(tx: Transaction) {
    await works.get(this.input.work)?.(tx, this as unknown as Booking)
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

forEachDatabaseSideBySide('a transactional step', database => {
  const under = useGeneva(database, { workflows: [Booking, Hasty, Plain], worker: { lease: '20s', heartbeat: 50 } })
  let plain: PlainConnection
  beforeAll(async () => {
    plain = await connectPlainly(database.name, under.url)
    await plain.query(ledger)
  })
  afterAll(() => plain.close())

  let count = 0
  const book = (work: Work) => start(Booking, work)
  function start(type: typeof Booking | typeof Hasty, work: Work): Promise<WorkflowHandle<any>> {
    const name = `${database.name} ${++count}`
    works.set(name, work)
    return under.geneva.start(type as typeof Booking, { input: { work: name } })
  }
  const notesOf = async ({ id }: { id: string }) => {
    const rows = await plain.query(`select note from ledger where workflow_id = ${id} order by note`)
    return rows.map(row => row.note)
  }
  const paused = (wf: WorkflowHandle<any>) => waitFor(async () => (await wf.refresh()).state === 'paused')
  const conflict = () => conflictOf(database.name)

  it('commits its writes with its outcome, and goes on', async () => {
    const seen: unknown[] = []
    const wf = await book(async (tx, workflow) => {
      await insert(tx, workflow, 'one')
      seen.push(await notesOf(workflow))
      const rows = await tx.query(`select count(*) as count from ledger where workflow_id = ${workflow.id}`)
      return `booked ${rows[0]?.count}`
    })
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('after booked 1')
    expect(seen).toEqual([[]])
    expect(await notesOf(wf)).toEqual(['one'])
    expect(await wf.history()).toMatchObject([
      { step: 'book', outcome: 'success', attempt: 1 },
      { step: 'after', outcome: 'success' },
    ])
  })

  it('undoes its writes when it throws, and is called again as its policy says', async () => {
    let fails = true
    const wf = await book(async (tx, workflow) => {
      await insert(tx, workflow, `attempt ${workflow.execution.attempt}`)
      if (fails) throw new Error('no such account')
    })
    await paused(wf)
    expect(await notesOf(wf)).toEqual([])
    expect(await wf.history()).toMatchObject([
      { outcome: 'paused_by_exception', error: { message: 'no such account' } },
    ])
    fails = false
    await wf.resume()
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(await notesOf(wf)).toEqual(['attempt 2'])
  })

  it.each([
    ['skip', (workflow: Booking) => workflow.skip('not needed'), 'finished', 'skipped_by_flow_control'],
    ['cancel', (workflow: Booking) => workflow.cancel('enough'), 'canceled', 'canceled_by_flow_control'],
    ['finish', (workflow: Booking) => workflow.finish('early'), 'finished', 'success'],
    ['pause', (workflow: Booking) => workflow.pause('wait'), 'paused', 'canceled_by_flow_control'],
  ] as const)('that calls %s() has written what it wrote before', async (_name, steer, state, outcome) => {
    const wf = await book(async (tx, workflow) => {
      await insert(tx, workflow, 'kept')
      steer(workflow)
    })
    await waitFor(async () => (await wf.refresh()).state === state)
    expect(await notesOf(wf)).toEqual(['kept'])
    expect((await wf.history())[0]).toMatchObject({ step: 'book', outcome })
  })

  it('that calls reattempt() keeps what every attempt wrote', async () => {
    const wf = await book(async (tx, workflow) => {
      const { attempt } = workflow.execution
      await insert(tx, workflow, `attempt ${attempt}`)
      if (attempt < 3) workflow.reattempt()
    })
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(await notesOf(wf)).toEqual(['attempt 1', 'attempt 2', 'attempt 3'])
  })

  it('is run again as a whole when the database asks for it, as the same attempt', async () => {
    const instances = new Set<Workflow<any, any>>()
    const wf = await book(async (tx, workflow) => {
      instances.add(workflow)
      await insert(tx, workflow, `call ${instances.size}`)
      workflow.emit('order.noted', `call ${instances.size}`)
      // Libraries wrap what the driver says.
      if (instances.size === 1) throw conflict()
      if (instances.size === 2) throw new Error('the query has failed', { cause: conflict() })
      // As Prisma says it of a query of a model.
      if (instances.size === 3) throw Object.assign(new Error('a write conflict'), { code: 'P2034' })
      return `after ${instances.size} calls`
    })
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('after after 4 calls')
    expect(await notesOf(wf)).toEqual(['call 4'])
    expect(await wf.history()).toMatchObject([{ step: 'book', attempt: 1, outcome: 'success' }, { step: 'after' }])
    const noted = (await wf.events()).filter(event => event.type === 'order.noted')
    expect(noted.map(event => event.payload)).toEqual(['call 4'])
  })

  it('fails when the database lets it through never', async () => {
    let calls = 0
    const wf = await book(async (tx, workflow) => {
      calls++
      await insert(tx, workflow, 'never')
      throw conflict()
    })
    await paused(wf)
    expect(calls).toBe(10)
    expect(await notesOf(wf)).toEqual([])
    expect(await wf.history()).toMatchObject([{ attempt: 1, error: { message: 'somebody else was faster' } }])
  })

  it('is undone when it takes longer than it may, and what it does later reaches nobody', async () => {
    const late = gate<unknown>()
    const wf = await start(Hasty, async (tx, workflow) => {
      await insert(tx, workflow, 'slow')
      await new Promise<void>(resolve => workflow.signal.addEventListener('abort', () => resolve()))
      await pause(1)
      late.open(await insert(tx, workflow, 'late').catch(error => error))
    })
    await paused(wf)
    expect((await wf.history())[0]).toMatchObject({ outcome: 'timed_out' })
    expect(await late.passed).toBeInstanceOf(Error)
    expect(await notesOf(wf)).toEqual([])
    expect(await (await under.geneva.start(Plain)).waitUntilFinished({ timeout: '10s' })).toBe('done')
  })

  it('is undone when the workflow is canceled meanwhile', async () => {
    const began = gate()
    const never = gate()
    const wf = await book(async (tx, workflow) => {
      await insert(tx, workflow, 'half done')
      began.open()
      await never.passed
    })
    await began.passed
    // In a file it waits until the time of the step is over, and comes before its report.
    await wf.cancel({ by: 'ann' })
    await waitFor(async () => (await wf.refresh()).state === 'canceled')
    expect(await notesOf(wf)).toEqual([])
    expect((await wf.history())[0]).toMatchObject({ step: 'book', outcome: 'stopped' })
  })

  it('fails when its code has ended the transaction itself', async () => {
    const wf = await book(async tx => {
      await tx.query('rollback')
    })
    await paused(wf)
    expect((await wf.history())[0]?.error).toMatchObject({
      className: 'InvalidArgumentError',
      message: expect.stringContaining('Leave commit and rollback to Geneva'),
    })
  })

  it('starts workflows in its transaction: they exist if it is committed', async () => {
    let fails = true
    const count = async () => (await countRows(plain)).workflows ?? 0
    const before = await count()
    const wf = await book(async tx => {
      await under.geneva.start(Plain, {}, { transaction: tx })
      if (fails) throw new Error('changed my mind')
    })
    await paused(wf)
    expect(await count()).toBe(before + 1)
    fails = false
    await wf.resume()
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(await count()).toBe(before + 2)
  })

  it('tells listeners after the commit, and not at all when it is undone', async () => {
    const heard: string[] = []
    const stop = under.geneva.on('step.completed', Booking, async event => {
      heard.push(`${event.step} with ${(await notesOf({ id: event.workflowId })).length}`)
    })
    let fails = true
    const wf = await book(async (tx, workflow) => {
      await insert(tx, workflow, 'one')
      if (fails) throw new Error('not yet')
    })
    await paused(wf)
    fails = false
    await wf.resume()
    await wf.waitUntilFinished({ timeout: '10s' })
    await waitFor(() => heard.length === 2)
    expect(heard).toEqual(['book with 1', 'after with 1'])
    stop()
  })

  it('many at once all get through', async () => {
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, index) => book((tx, workflow) => insert(tx, workflow, `number ${index}`))),
    )
    for (const wf of all) await wf.waitUntilFinished({ timeout: '20s' })
    for (const [index, wf] of all.entries()) expect(await notesOf(wf)).toEqual([`number ${index}`])
  })

  const serverOnly = database.name === 'sqlite' ? () => {} : describe
  serverOnly('where several can write', () => {
    type Second = (tx: Transaction, workflow: Booking, to: number) => Promise<unknown>

    const add = (tx: Transaction, account: number) =>
      tx.query(`update accounts set total = total + 1 where id = ${account}`)

    /** Two of them lock one account each, and then want the other's. */
    async function crossTransfers(second: Second) {
      await plain.query('create table if not exists accounts (id integer primary key, total integer not null)')
      await plain.query('delete from accounts')
      await plain.query('insert into accounts (id, total) values (1, 0), (2, 0)')
      const both = [gate(), gate()]
      let calls = 0
      const transfer = (from: number, to: number) => async (tx: Transaction, workflow: Booking) => {
        calls++
        await add(tx, from)
        both[from - 1]?.open()
        await Promise.all(both.map(each => each.passed))
        await second(tx, workflow, to)
      }
      const transfers = [await book(transfer(1, 2)), await book(transfer(2, 1))]
      for (const wf of transfers) await wf.waitUntilFinished({ timeout: '20s' })
      const rows = await plain.query('select total from accounts order by id')
      expect(rows.map(row => Number(row.total))).toEqual([2, 2])
      expect(calls).toBeGreaterThan(2)
      return Promise.all(transfers.map(notesOf))
    }

    it('is run again when two of them have locked each other out', async () => {
      await crossTransfers((tx, _workflow, to) => add(tx, to))
    })

    it('keeps nothing of a call that was locked out, also of what it had sent along', async () => {
      const notes = await crossTransfers((tx, workflow, to) =>
        Promise.all([add(tx, to), insert(tx, workflow, 'transferred')]),
      )
      expect(notes).toEqual([['transferred'], ['transferred']])
    })

    it('keeps nothing of a call that was locked out, also of what its code wrote afterwards', async () => {
      const notes = await crossTransfers(async (tx, workflow, to) => {
        await add(tx, to).catch(() => insert(tx, workflow, 'not transferred').catch(() => {}))
        await insert(tx, workflow, 'done').catch(() => {})
      })
      expect(notes).toEqual([['done'], ['done']])
    })

    it('keeps nothing of a call that was locked out, also of what a query builder wrote on the connection', async () => {
      const notes = await crossTransfers(async (tx, workflow, to) => {
        const connection = tx.handle as { query(text: string): Promise<unknown> }
        try {
          await connection.query(`update accounts set total = total + 1 where id = ${to}`)
        } catch (error) {
          const note = `insert into ledger (workflow_id, note) values (${workflow.id}, 'not transferred')`
          await connection.query(note).catch(() => {})
          throw error
        }
      })
      expect(notes).toEqual([[], []])
    })
  })
})

forEachDatabaseSideBySide('a transactional step under a short lease', database => {
  const under = useGeneva(database, { workflows: [Booking, Plain], worker: { lease: 1000, heartbeat: 50 } })
  let plain: PlainConnection
  beforeAll(async () => {
    plain = await connectPlainly(database.name, under.url)
    await plain.query(ledger)
  })
  afterAll(() => plain.close())

  it('that takes its time keeps nobody else from working, and the worker keeps its lease', async () => {
    const began = gate()
    works.set(`${database.name} slow`, async tx => {
      await tx.query('select 1 as one')
      began.open()
      await pause(1200)
    })
    const wf = await under.geneva.start(Booking, { input: { work: `${database.name} slow` } })
    await began.passed
    const others = await Promise.all(Array.from({ length: 5 }, () => under.geneva.start(Plain)))
    for (const other of others) expect(await other.waitUntilFinished({ timeout: '10s' })).toBe('done')
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(await wf.history()).toMatchObject([{ attempt: 1, outcome: 'success' }, { step: 'after' }])
  })

  it('writes nothing when its claim is lost meanwhile', async () => {
    works.set(`${database.name} lost`, async (tx, workflow) => {
      const { id, execution } = workflow
      await insert(tx, workflow, `attempt ${execution.attempt}`)
      const steal = `update geneva_drive_active_executions set fence = fence + 1 where workflow_id = ${id}`
      if (execution.attempt > 1) return
      // A file has one writer, and that is this transaction.
      if (database.name === 'sqlite') await tx.query(steal)
      else await plain.query(steal)
    })
    const wf = await under.geneva.start(Booking, { input: { work: `${database.name} lost` } })
    await wf.waitUntilFinished({ timeout: '10s' })
    const rows = await plain.query('select note from ledger')
    expect(rows.map(row => row.note)).toEqual(['attempt 2'])
    expect(await wf.history()).toMatchObject([
      { step: 'book', outcome: 'recovered' },
      { step: 'book', outcome: 'success' },
      { step: 'after' },
    ])
  })
})
