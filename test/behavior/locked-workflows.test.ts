/** What one transaction holds locked keeps nobody else waiting: neither starts, nor reports, nor take-overs. */
import { expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachServerAtOnce } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Lone extends Workflow {
  static {
    this.named('Lone')
    this.allowMultiple()
    this.step('only')
  }
  async only() {}
}

for (const [what, table, column] of [
  ['workflow', 'workflows', 'id'],
  ['row', 'active_executions', 'workflow_id'],
]) {
  forEachServerAtOnce(`taking over beside a locked ${what}`, database => {
    const under = useGeneva(database, { workflows: [Lone] })

    it('does not wait for it, and is made up for when it is free', async () => {
      const store = await under.geneva.openedStore()
      const locked = await under.geneva.start(Lone)
      const free = await under.geneva.start(Lone)
      await store.registerWorker({ id: 'dead', host: 'test', pid: 1, leaseMs: 1, handlers: ['Lone'] })
      const sources = [{ queue: 'default', handler: 'Lone', generation: 1 }]
      expect(await store.claim({ workerId: 'dead', sources, limit: 10 })).toHaveLength(2)
      const other = await connectPlainly(database.name, under.url)
      await other.query('begin')
      await other.query(`select * from geneva_drive_${table} where ${column} = '${locked.id}' for update`)
      const worker = await under.geneva.startWorker({ poll: 5, grace: 0, heartbeatThread: false, lease: '1s' })
      try {
        await free.waitUntilFinished({ timeout: '10s' })
        expect(await store.heldBy('dead')).toMatchObject([{ workflow: { id: locked.id } }])
        await other.query('rollback')
        await locked.waitUntilFinished({ timeout: '10s' })
        expect(under.errors).toEqual([])
      } finally {
        await other.close()
        await worker.stop()
      }
    })
  })
}
