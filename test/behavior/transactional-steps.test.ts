/** A transactional step's own writes and its outcome are committed together: both or neither, exactly once. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Compensation, type Transaction, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

/** What a test does in the transaction of a step. */
type Work = (tx: Transaction, workflow: Workflow<any, any>) => unknown

const works = new Map<string, Work>()

const insert = (tx: Transaction, { id }: { id: string }, note: string) =>
  tx.query(`insert into ledger (workflow_id, note) values (${id}, '${note}')`)

class Booking extends Workflow<null, { work: string }> {
  static {
    this.transactionalStep('book')
    this.step('after')
  }
  async book(tx: Transaction) {
    return works.get(this.input.work)?.(tx, this) as string | undefined
  }
  async after() {
    return `after ${await this.output(this.book, 'nothing')}`
  }
}

forEachDatabase('a transactional step', database => {
  const under = useGeneva(database, { workflows: [Booking], worker: { lease: 1000, heartbeat: 50 } })
  let plain: PlainConnection
  beforeAll(async () => {
    plain = await connectPlainly(database.name, under.url)
    await plain.query('create table ledger (workflow_id bigint not null, note varchar(100) not null)')
  })
  afterAll(() => plain.close())

  let count = 0
  async function book(work: Work): Promise<WorkflowHandle<Booking>> {
    const name = `${database.name} ${++count}`
    works.set(name, work)
    return under.geneva.start(Booking, { input: { work: name } })
  }
  const notesOf = async ({ id }: { id: string }) => {
    const rows = await plain.query(`select note from ledger where workflow_id = ${id} order by note`)
    return rows.map(row => row.note)
  }

  it('commits its writes with its outcome, and goes on', async () => {
    const seen: unknown[] = []
    const wf = await book(async (tx, workflow) => {
      await insert(tx, workflow, 'one')
      seen.push(await notesOf(workflow))
      return 'booked'
    })
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('after booked')
    expect(seen).toEqual([[]])
    expect(await notesOf(wf)).toEqual(['one'])
    expect(await wf.history()).toMatchObject([
      { node: 'book', outcome: 'success', attempt: 1 },
      { node: 'after', outcome: 'success' },
    ])
  })
})
