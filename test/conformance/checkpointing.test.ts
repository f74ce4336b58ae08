/** Checkpoints: durable under the claim alone, never backwards, and never between another's look and its write. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ChangeDraft } from '../../src/engine/change-draft.ts'
import { decideTakeover } from '../../src/engine/decide-recovery.ts'
import type { ActiveExecution, Progress } from '../../src/store/records.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { openSameStore, registerWorker, sampleSource, startSome } from '../support/open-store.ts'
import { chain, decided, planFor } from '../unit/engine/facts.ts'

forEachDatabase('checkpointing', database => {
  let store: Store
  let other: Store
  let worker = ''

  beforeAll(async () => {
    const { url } = await database.isolated()
    store = await openSameStore(url)
    other = await openSameStore(url)
    worker = await registerWorker(store, 'worker')
  })
  afterAll(async () => {
    await store.close()
    await other.close()
  })

  async function claimOne(options: Parameters<typeof startSome>[2] = {}): Promise<ActiveExecution> {
    const [workflowId = ''] = await startSome(store, 1, options)
    return claim(workflowId)
  }

  async function claim(workflowId: string): Promise<ActiveExecution> {
    const [claimed] = await store.claim({ workerId: worker, sources: [sampleSource], limit: 10, workflowId })
    if (claimed === undefined) throw new Error('Nothing was claimed.')
    return claimed.execution
  }

  const at = (count: number, more: Partial<Progress> = {}): Progress => ({
    cursor: `${count}`,
    completedIterations: count,
    total: null,
    runs: 1,
    ...more,
  })

  const rowOf = async ({ workflowId }: ActiveExecution) => (await other.activeExecutions(workflowId))[0]

  /** Lets the row go as a step does that stops between two items. */
  const suspend = (execution: ActiveExecution, progress: Progress) =>
    store.change([{ workflowId: execution.workflowId }], facts => {
      const draft = new ChangeDraft(facts)
      draft.move(execution, 'suspended', { progress, due: { inMs: 0 } })
      return draft.build()
    })

  it('is seen by others at once', async () => {
    const execution = await claimOne()
    expect(execution.progress).toEqual({ cursor: null, completedIterations: 0, total: null, runs: 1 })
    expect(await store.checkpoint(execution, at(3, { total: 9 }))).toBe(true)
    expect((await rowOf(execution))?.progress).toEqual(at(3, { total: 9 }))
    expect((await other.heldBy(worker)).find(row => row.execution.id === execution.id)?.execution.progress).toEqual(
      at(3, { total: 9 }),
    )
  })

  it('may be repeated', async () => {
    const execution = await claimOne()
    for (let i = 0; i < 3; i++) expect(await store.checkpoint(execution, at(3))).toBe(true)
    expect(await store.checkpoint(execution, at(3, { cursor: '"further"' }))).toBe(true)
    expect((await rowOf(execution))?.progress.cursor).toBe('"further"')
  })

  it.each([null, 'null', '"ä\\u0000"', '{"$geneva":"date","value":"2026-11-15T12:00:00.000Z"}'])(
    'keeps the cursor as it was encoded: %s',
    async cursor => {
      const execution = await claimOne()
      await store.checkpoint(execution, at(1, { cursor }))
      expect((await rowOf(execution))?.progress.cursor).toBe(cursor)
      await suspend(execution, at(2, { cursor }))
      expect((await rowOf(execution))?.progress.cursor).toBe(cursor)
    },
  )

  it('never goes back, so that a write that comes late takes nothing away', async () => {
    const execution = await claimOne()
    await store.checkpoint(execution, at(5))
    expect(await store.checkpoint(execution, at(4))).toBe(false)
    expect((await rowOf(execution))?.progress).toEqual(at(5))
  })

  it('is refused when the claim is another, or the row has ended', async () => {
    const execution = await claimOne()
    await store.checkpoint(execution, at(1))
    expect(await store.checkpoint({ ...execution, fence: execution.fence + 1 }, at(2))).toBe(false)
    expect(await store.checkpoint({ ...execution, id: (await claimOne()).id }, at(2))).toBe(false)
    await suspend(execution, at(2))
    expect(await store.checkpoint(execution, at(3))).toBe(false)
    const again = await claim(execution.workflowId)
    expect(await store.checkpoint(execution, at(3))).toBe(false)
    expect((await rowOf(execution))?.progress).toEqual(at(2, { runs: 2 }))
    await store.change([{ workflowId: execution.workflowId }], facts => {
      const draft = new ChangeDraft(facts)
      draft.end(again, 'completed', 'success')
      draft.moveWorkflow('finished')
      return draft.build()
    })
    expect(await store.checkpoint(again, at(3))).toBe(false)
    expect((await other.history(execution.workflowId))[0]?.progress).toEqual(at(2, { runs: 2 }))
  })

  it('shows that the step has not crashed, and so does a stop in good order', async () => {
    const first = await claimOne({ first: { crashes: 2 } })
    await store.checkpoint(first, at(1))
    expect((await rowOf(first))?.crashes).toBe(0)
    const second = await claimOne({ first: { crashes: 2 } })
    await suspend(second, at(1))
    expect((await rowOf(second))?.crashes).toBe(0)
  })

  it('is part of what the next claim finds, which remembers when the step first began', async () => {
    const execution = await claimOne()
    await suspend(execution, at(7))
    const again = await claim(execution.workflowId)
    expect(again).toMatchObject({ id: execution.id, attempt: 1, startedAt: execution.startedAt })
    expect(again.progress).toEqual(at(7, { runs: 2 }))
    expect((await other.events(execution.workflowId)).at(-1)).toMatchObject({ type: 'step.started', from: 'suspended' })
  })

  it('that was accepted is never lost to a takeover at the same moment', async () => {
    for (let round = 0; round < 25; round++) {
      const execution = await claimOne()
      let accepted = 0
      let isOver = false
      // The worker is believed dead, and writes on.
      const writing = (async () => {
        for (; await store.checkpoint(execution, at(accepted + 1)); accepted++) await nextTurn()
      })()
      while (accepted < round % 5) await nextTurn()
      const [nextId = ''] = await other.takeIds(1)
      const taken = other
        .change([{ workflowId: execution.workflowId, lockRows: true }], facts => {
          const current = facts.active[0]
          if (!current) return null
          const plan = planFor(chain('one'), { takeId: () => nextId })
          return decided(facts, draft => decideTakeover(draft, current, plan))
        })
        .then(() => {
          isOver = true
        })
      await Promise.all([writing, taken])
      expect(isOver).toBe(true)
      expect((await rowOf(execution))?.progress.completedIterations).toBe(accepted)
      expect((await other.history(execution.workflowId))[0]?.progress.completedIterations).toBe(accepted)
    }
  })

  it('in a transaction commits with what the application writes, or not at all', async () => {
    const execution = await claimOne()
    const tag = (transaction: { query(text: string): Promise<unknown> }, name: string) =>
      transaction.query(`insert into geneva_drive_tags (tag, workflow_id) values ('${name}', ${execution.workflowId})`)
    const done = await store.checkpointWith(execution, at(1), async transaction => {
      await tag(transaction, 'one')
      return 'result'
    })
    expect(done).toEqual({ result: 'result' })
    await expect(
      store.checkpointWith(execution, at(2), async transaction => {
        await tag(transaction, 'two')
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    const lost = { ...execution, fence: execution.fence + 1 }
    expect(await store.checkpointWith(lost, at(2), transaction => tag(transaction, 'three'))).toBe('lost')
    expect(await other.tags(execution.workflowId)).toEqual(['one'])
    expect((await rowOf(execution))?.progress).toEqual(at(1))
  })
})
