/**
 * Behind a pooler that hands out one of the server's connections per transaction, everything works that does not need a session, and
 * nothing is left in sessions that others will have next. Without the option for it the engine refuses to begin.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Geneva, type Iteration, type Signal, type Transaction, Workflow } from '../../src/index.ts'
import type { DatabaseOptions } from '../../src/store/database-options.ts'
import { openPostgres } from '../../src/store/postgres/postgres-database.ts'
import { raw } from '../../src/store/sql/sql.ts'
import { databases } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { openPooler, type PoolerOptions, type TransactionPooler } from '../support/transaction-pooler.ts'

class Order extends Workflow {
  static {
    this.allowMultiple()
    this.step('check')
    this.transactionalStep('reserve')
    this.resumableStep('notify')
    this.each('pack', { items: () => [1, 2, 3] })
    this.step('ship', { queue: 'shipping' })
    this.waitFor('delivered')
  }
  async check() {}
  async reserve(transaction: Transaction) {
    await transaction.query('insert into reservations (workflow) values ($1)', [this.id])
  }
  async notify(iteration: Iteration<number>) {
    for await (const _ of iteration.over([1, 2, 3])) await iteration.checkpoint()
  }
  async pack(item: number) {
    return item
  }
  async ship() {}
  async delivered(_: Signal) {}
}

const clean = { statements: 0, channels: 0, settings: 0 }

describe.each(databases.filter(({ name }) => name === 'postgres'))('a pooler before $name', database => {
  let url = ''
  let pooler: TransactionPooler
  let opened: Geneva[] = []

  beforeEach(async () => {
    url = (await database.isolated()).url
  })
  afterEach(async () => {
    await Promise.all(opened.map(geneva => geneva.close()))
    opened = []
    await pooler.close()
  })

  async function begin(options: PoolerOptions): Promise<void> {
    pooler = await openPooler(url, options)
  }

  function open(options: Partial<DatabaseOptions> = {}, onError: (error: unknown) => void = () => {}): Geneva {
    const geneva = new Geneva({ database: { url: pooler.url, ...options }, workflows: [Order], onError })
    opened.push(geneva)
    return geneva
  }

  it('changes nothing with `preparedStatements: false`, and leaves nothing in the sessions of the server', async () => {
    await begin({ servers: 3, next: 'rested' })
    const errors: unknown[] = []
    const options = { preparedStatements: false }
    const [one, two, three] = [open(options), open(options, e => errors.push(e)), open(options, e => errors.push(e))]
    await Promise.all([one, two, three].map(geneva => geneva.migrate()))
    const plain = await connectPlainly('postgres', url)
    await plain.query('create table reservations (workflow text not null)')
    await two.startWorker({ queues: ['default'], grace: 0 })
    await three.startWorker({ queues: ['shipping'], grace: 0 })
    const workflows = await Promise.all(Array.from({ length: 40 }, () => one.start(Order)))
    await Promise.all(workflows.map(workflow => workflow.signal('delivered')))
    for (const workflow of workflows) await workflow.waitUntilFinished({ timeout: '30 s' })
    expect(await one.doctor()).toMatchObject({ ok: true, workflows: 40 })
    expect(await plain.query('select distinct workflow from reservations')).toHaveLength(40)
    await plain.close()
    expect(errors).toEqual([])
    await Promise.all(opened.map(geneva => geneva.close()))
    expect(await pooler.leftovers()).toEqual([clean, clean, clean])
  })

  it('gets what a transaction needs with every transaction', async () => {
    await begin({ servers: 2, next: 'rested' })
    const pooled = await openPostgres({ url: pooler.url, poolSize: 1, preparedStatements: false })
    const asked = raw(
      `select current_setting('enable_seqscan') as scan, current_setting('idle_in_transaction_session_timeout') as idle`,
    )
    const within = { scan: 'off', idle: '5s' }
    for (let round = 0; round < 2; round++) {
      expect(await pooled.transaction(transaction => transaction.query(asked))).toEqual([within])
      expect(await pooled.snapshot([asked])).toEqual([[within]])
      expect(await pooled.query(asked)).toEqual([{ scan: 'on', idle: '0' }])
    }
    await pooled.close()
  })

  it.each(['rested', 'used'] as const)(
    'is refused without it before anything is set, where the %s one comes next',
    async next => {
      await begin({ servers: 3, next })
      const error = await open()
        .migrate()
        .then(
          () => null,
          reason => reason,
        )
      expect(error).toMatchObject({ code: 'POOLED_CONNECTION' })
      expect(error.message).toContain('preparedStatements: false')
      expect(await pooler.leftovers()).toEqual([clean, clean, clean])
    },
  )

  it('is named by what it mixes up, where it went unseen', async () => {
    await begin({ servers: 6, next: 'rested', keeps: true })
    const geneva = open({ poolSize: 2, notify: false })
    await geneva.migrate()
    await geneva.start(Order)
    pooler.mix()
    const starts = async () => {
      // Each is mixed up by chance.
      for (let round = 0; round < 200; round++) await geneva.start(Order)
    }
    await expect(starts()).rejects.toMatchObject({ code: 'POOLED_CONNECTION', cause: { code: expect.anything() } })
  })
})
