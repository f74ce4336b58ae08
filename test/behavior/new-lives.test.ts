/** A worker that was taken for dead finds out by its heartbeat, begins a new life, and looks at once for what it missed. */
import { expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Short extends Workflow {
  static {
    this.step('only')
  }
  async only() {
    return 'done'
  }
}

/** It looks by the clock so rarely that only its new life can be what makes it look. */
const rare = { poll: '1 hour', lease: 1500, grace: 0 } as const

forEachDatabase('a worker that was taken for dead', database => {
  const under = useGeneva(database, { workflows: [Short], worker: rare })

  it('looks for work as soon as it lives again', async () => {
    const store = await under.geneva.openedStore()
    const another = new Geneva({ database: { url: under.url, notify: false }, workflows: [Short] })
    const plain = await connectPlainly(database.name, under.url)
    const [worker] = await plain.query('select id from geneva_drive_workers')
    await plain.close()
    await store.retireWorker(String(worker?.id))
    const workflow = await another.start(Short)
    expect(await workflow.waitUntilFinished({ timeout: '15s' })).toBe('done')
    await another.close()
  })
})
