/** Many transactional steps at once keep others from writing, in a file, for as long as one takes. They must not add up. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type Transaction, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { GenevaUnderTest, quickly } from '../support/use-geneva.ts'

class Book extends Workflow {
  static {
    this.named('BusyBook')
    this.allowMultiple()
    this.transactionalStep('book')
  }
  async book(tx: Transaction) {
    await tx.query('select 1 as one')
    await pause(100)
  }
}

forEachDatabase('many transactional steps', database => {
  it('leave room for the heartbeats of the workers that run them', async () => {
    const under = new GenevaUnderTest(database, { workflows: [Book] })
    await under.open()
    try {
      const options = { ...quickly, lease: '2s', heartbeat: 100, heartbeatThread: false } as const
      const workers = [await under.geneva.startWorker(options), await under.another().startWorker(options)]
      const all = await under.geneva.startMany(
        Book,
        Array.from({ length: 30 }, () => ({})),
      )
      let unhealthy = 0
      const watch = setInterval(() => {
        for (const worker of workers) if (!worker.healthy) unhealthy++
      }, 20)
      await Promise.all(all.map(wf => wf.waitUntilFinished({ timeout: '30s' })))
      clearInterval(watch)
      expect(unhealthy).toBe(0)
    } finally {
      await under.close()
    }
  })
})
