/** Changes that pass over what others have locked: somebody gets it, and nobody decides on a part of it. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { WorkflowFacts } from '../../src/store/change.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { openSameStore, startSome } from '../support/open-store.ts'

forEachDatabase('changes that pass over what is locked', database => {
  const stores: Store[] = []
  beforeAll(async () => {
    const { url } = await database.isolated()
    for (let count = 0; count < 3; count++) stores.push(await openSameStore(url))
  })
  afterAll(() => Promise.all(stores.map(store => store.close())))

  it('never all pass over the same workflow, however many come at the same instant', async () => {
    const [first] = stores as [Store]
    for (let round = 0; round < 60; round++) {
      const [workflowId = ''] = await startSome(first, 1)
      const seen: WorkflowFacts[] = []
      const look = (facts: WorkflowFacts) => {
        seen.push(facts)
        return null
      }
      const target = { workflowId, lockRows: true, withLatest: true }
      await Promise.all(stores.map(store => store.change([target], look, { passesLocked: true })))
      expect(seen.length).toBeGreaterThan(0)
      expect(seen.every(({ active }) => active.length === 1)).toBe(true)
    }
  })
})
