/** A Geneva that only looks: it tells what is there, and neither starts nor runs anything with code that nobody was told of. */
import { expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Parcel extends Workflow {
  static {
    this.named('parcel')
    this.step('send')
  }
  async send() {}
}

forEachDatabase('a Geneva that only looks', database => {
  const under = useGeneva(database, { workflows: [Parcel] })

  it('lists what is there, and refuses to start workflows and workers', async () => {
    const { id } = await under.geneva.start(Parcel)
    const looking = new Geneva({ database: { url: under.url }, workflows: [Parcel] })
    try {
      looking.onlyLook()
      expect((await looking.list()).items.map(workflow => workflow.id)).toEqual([id])
      const refusal = { code: 'INVALID_ARGUMENT', message: expect.stringContaining('only looks') }
      await expect(looking.start(Parcel)).rejects.toMatchObject(refusal)
      await expect(looking.startMany(Parcel, [{}])).rejects.toMatchObject(refusal)
      await expect(looking.startWorker()).rejects.toMatchObject(refusal)
      await expect(looking.runDue()).rejects.toMatchObject(refusal)
      expect((await looking.list()).items).toHaveLength(1)
    } finally {
      await looking.close()
    }
  })
})
