/** However few connections a process may keep, whatever runs in it comes to its end. */
import { expect, it } from 'vitest'
import { Geneva, type Transaction, Workflow } from '../../src/index.ts'
import { forEachServerAtOnce } from '../support/databases.ts'
import { quickly } from '../support/use-geneva.ts'

class Book extends Workflow {
  static {
    this.named('SmallPoolBook')
    this.allowMultiple()
    this.step('first')
    this.transactionalStep('book')
  }
  async first() {
    return 7
  }
  async book(tx: Transaction) {
    await tx.query('select 1 as one')
    return this.output(this.first)
  }
}

forEachServerAtOnce('a pool of one connection', database => {
  it('is enough for transactional steps that ask for the output of another step', async ({ onTestFinished }) => {
    const { url } = await database.isolated()
    const geneva = new Geneva({ database: { url, poolSize: 1 }, workflows: [Book] })
    await geneva.migrate()
    const worker = await geneva.startWorker({ ...quickly, lease: '2s', heartbeatThread: false })
    const all = await geneva.startMany(Book, [{}, {}, {}])
    const ended = all.map(wf => wf.waitUntilFinished({ timeout: '8s' }).catch(String))
    onTestFinished(() => geneva.close())
    expect(await Promise.all(ended)).toEqual([7, 7, 7])
    expect(worker.healthy).toBe(true)
  })
})
