/**
 * PostgreSQL passes word from the process that has made something due to those that may run it. The workers here would look
 * by themselves once in an hour.
 */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import type { DatabaseOptions } from '../../src/store/database-options.ts'
import { databases } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { waitFor } from '../support/wait-for.ts'

class TwoQueues extends Workflow {
  static {
    this.allowMultiple()
    this.step('first', { queue: 'front' })
    this.step('second', { queue: 'back' })
  }
  async first() {}
  async second() {}
}

const rarely = { poll: '1 hour', grace: 0 } as const

describe.each(databases.filter(({ name }) => name === 'postgres'))('word between processes on $name', database => {
  let url = ''
  let opened: Geneva[] = []

  beforeAll(async () => {
    url = (await database.isolated()).url
  })
  afterEach(async () => {
    await Promise.all(opened.map(geneva => geneva.close()))
    opened = []
  })

  /** Another instance, as another process would have it. */
  async function open(options: Partial<DatabaseOptions> = {}): Promise<Geneva> {
    const geneva = new Geneva({ database: { url, ...options }, workflows: [TwoQueues] })
    opened.push(geneva)
    await geneva.migrate()
    return geneva
  }

  /** The server's processes that listen. */
  async function listeners(): Promise<number[]> {
    const plain = await connectPlainly('postgres', url)
    const rows = await plain.query(
      `select pid from pg_stat_activity where datname = current_database() and query = 'listen geneva_drive_hints'`,
    )
    await plain.close()
    return rows.map(row => Number(row.pid))
  }

  const countListeners = (count: number) => waitFor(async () => (await listeners()).length === count)

  it('wakes the workers that serve the queue, at the start and at every step', async () => {
    const [starter, front, back] = [await open(), await open(), await open()]
    await front.startWorker({ ...rarely, queues: ['front'] })
    await back.startWorker({ ...rarely, queues: ['back'] })
    await countListeners(2)
    for (let round = 0; round < 3; round++) {
      const workflow = await starter.start(TwoQueues)
      await workflow.waitUntilFinished({ timeout: '10 s' })
    }
  })

  it('is heard again after the connection has broken', async () => {
    const [starter, other] = [await open(), await open()]
    await other.startWorker(rarely)
    await countListeners(1)
    const [lost = 0] = await listeners()
    const plain = await connectPlainly('postgres', url)
    await plain.query(`select pg_terminate_backend(${lost})`)
    await plain.close()
    // While nobody listens.
    const missed = await starter.start(TwoQueues)
    await waitFor(async () => (await listeners()).some(pid => pid !== lost))
    await missed.waitUntilFinished({ timeout: '10 s' })
    await (await starter.start(TwoQueues)).waitUntilFinished({ timeout: '10 s' })
  })

  it('is neither sent nor heard where that is switched off, or a pooler may stand between', async () => {
    const [silent, pooled] = [await open({ notify: false }), await open({ preparedStatements: false })]
    await silent.startWorker({ ...rarely, queues: ['elsewhere'] })
    await pooled.startWorker({ ...rarely, queues: ['elsewhere'] })
    for (const geneva of [silent, pooled]) expect((await geneva.openedStore()).hints).toBeUndefined()
    const other = await open()
    await other.startWorker({ ...rarely, queues: ['elsewhere'] })
    // By then theirs would be there too.
    await countListeners(1)
  })

  it('leaves no connection behind when the worker has stopped', async () => {
    const geneva = await open()
    const worker = await geneva.startWorker(rarely)
    await countListeners(1)
    await worker.stop()
    await countListeners(0)
  })
})
