/** A worker that was taken for dead finds out by its heartbeat, begins a new life, and looks at once for what it missed. */
import { expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'

class Short extends Workflow {
  static {
    this.step('only')
  }
  async only() {
    return 'done'
  }
}

/** It looks by the clock so rarely, and hears so little, that only its new life can be what makes it look. */
const rare = { poll: '1 hour', lease: 1500, grace: 0 } as const

forEachDatabase('a worker that was taken for dead', database => {
  it('looks for work as soon as it lives again', async () => {
    const { url } = await database.isolated()
    const open = () => new Geneva({ database: { url, notify: false }, workflows: [Short] })
    await using resident = open()
    await using starter = open()
    await resident.migrate()
    await resident.startWorker(rare)
    const workflow = await starter.start(Short)
    const plain = await connectPlainly(database.name, url)
    const [worker] = await plain.query('select id from geneva_drive_workers')
    await plain.close()
    await (await starter.openedStore()).retireWorker(String(worker?.id))
    expect(await workflow.waitUntilFinished({ timeout: '15s' })).toBe('done')
  })
})
