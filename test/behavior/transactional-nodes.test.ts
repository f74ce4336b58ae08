/** Transactions wherever code runs: in tasks and branches, in compensations, in jobs of classes and of stored graphs, in the test kit. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Compensation, defineJob, type Transaction, Workflow } from '../../src/index.ts'
import { testGeneva } from '../../src/testing.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const insert = (tx: Transaction, note: string) => tx.query(`insert into ledger (note) values ('${note}')`)

/** Steps that throw, by what they write. */
const failing = new Set<string>()

async function write(tx: Transaction, note: string): Promise<string> {
  await insert(tx, note)
  if (failing.delete(note)) throw new Error(`${note} has failed`)
  return note
}

class Fan extends Workflow {
  static {
    this.task('task', { transaction: true })
    this.fork('both', { left: b => b.transactionalStep('left'), right: b => b.task('right', { transaction: true }) })
    this.transactionalStep('last', { dependsOn: ['task', 'left', 'right'], retry: { attempts: 2, backoff: () => 0 } })
  }
  task(tx: Transaction) {
    return write(tx, 'task')
  }
  left(tx: Transaction) {
    return write(tx, 'left')
  }
  right(tx: Transaction) {
    return write(tx, 'right')
  }
  last(tx: Transaction) {
    return write(tx, 'last')
  }
}

class Saga extends Workflow {
  static {
    this.transactionalStep('reserve', { compensate: { step: 'release', transaction: true, retry: 3 } })
    this.transactionalStep('charge', { compensate: 'refund', onException: 'rollback' })
  }
  reserve(tx: Transaction) {
    return write(tx, 'reserved')
  }
  async release(undo: Compensation<Saga['reserve']>, tx: Transaction) {
    await write(tx, `released what was ${undo.output}`)
  }
  async charge(tx: Transaction) {
    await write(tx, 'charged')
    throw new Error('declined')
  }
  async refund() {}
}

const note = defineJob('note', { transaction: true }, async ({ text }: { text: string }, job) => {
  await insert(job.transaction, job.undo === null ? text : `undone ${text}`)
  if (failing.delete(text)) throw new Error(`${text} has failed`)
  return text
})
const plainJob = defineJob('plain', async (_: Record<string, never>, job) => String(job.transaction))

class Jobs extends Workflow {
  static {
    this.job('one', { job: note, args: { text: 'one' } })
    this.eachJob('many', { job: note, items: () => [{ text: 'first' }, { text: 'second' }] })
  }
}

const workflows = [Fan, Saga, Jobs]

forEachDatabase('a transaction', database => {
  const under = useGeneva(database, { workflows, jobs: [note, plainJob] })
  let plain: PlainConnection
  beforeAll(async () => {
    plain = await connectPlainly(database.name, under.url)
    await plain.query('create table ledger (note varchar(100) not null)')
  })
  afterAll(() => plain.close())
  const notes = async () => {
    const rows = await plain.query('select note from ledger order by note')
    await plain.query('delete from ledger')
    return rows.map(row => row.note)
  }

  it('is there for tasks and in branches, and what waits for them goes on', async () => {
    failing.add('last')
    const wf = await under.geneva.start(Fan)
    await waitFor(async () => {
      await under.runDue()
      return (await wf.refresh()).state === 'finished'
    })
    expect(await notes()).toEqual(['last', 'left', 'right', 'task'])
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  })

  it('is there for a compensation, which is called again when it fails', async () => {
    failing.add('released what was reserved')
    const wf = await under.geneva.start(Saga)
    await under.runDue()
    await under.setClock(60_000)
    await under.runDue()
    await under.setClock(0)
    expect((await wf.refresh()).state).toBe('failed')
    expect(await notes()).toEqual(['released what was reserved', 'reserved'])
    expect((await wf.compensations()).map(({ step, outcome }) => `${step} ${outcome}`)).toEqual([
      'charge compensated',
      'reserve reattempted_by_exception',
      'reserve compensated',
    ])
  })

  it('is there for jobs of a class', async () => {
    const wf = await under.geneva.start(Jobs)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(await notes()).toEqual(['first', 'one', 'second'])
  })

  it('is there for jobs of a stored graph, and for those that undo them', async () => {
    const graph = under.geneva.build(w => {
      w.node('one', { job: note, args: { text: 'one' }, compensate: note })
      w.node('two', { job: note, args: { text: 'two' }, onException: 'rollback' })
    })
    const good = await under.geneva.startGraph(graph)
    await under.runDue()
    expect((await good.refresh()).state).toBe('finished')
    expect(await notes()).toEqual(['one', 'two'])
    failing.add('two')
    const bad = await under.geneva.startGraph(graph)
    await under.runDue()
    expect((await bad.refresh()).state).toBe('failed')
    expect(await notes()).toEqual(['one', 'undone one'])
  })

  it('is not there for a job that has not asked for it', async () => {
    const wf = await under.geneva.startGraph(under.geneva.build(w => w.node('plain', { job: plainJob, args: {} })))
    await under.runDue()
    expect((await wf.history())[0]?.error?.message).toContain('has no transaction')
  })
})

it('is there in the test kit', async () => {
  class Counting extends Workflow {
    static {
      this.transactionalStep('make')
      this.transactionalStep('count')
    }
    async make(tx: Transaction) {
      await tx.query('create table counted (n integer)')
      await tx.query('insert into counted (n) values (1)')
    }
    async count(tx: Transaction) {
      await tx.query('insert into counted (n) values (2)')
      const [row] = await tx.query('select sum(n) as total from counted')
      return Number(row?.total)
    }
  }
  const kit = await testGeneva({ workflows: [Counting] })
  const wf = await kit.start(Counting)
  kit.failNext('count')
  await kit.runDue()
  expect((await wf.refresh()).state).toBe('paused')
  await wf.resume()
  await kit.runDue()
  expect(await wf.output('count')).toBe(3)
  await kit.close()
})
