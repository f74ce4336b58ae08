/** Claims under limits: never more than there is room for, found by index, and nobody else pays for it. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LaneLooks } from '../../src/store/lane-looks.ts'
import type { LimitDeclaration, StoredLimits } from '../../src/store/limit-store.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { raw } from '../../src/store/sql/sql.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import type { ClaimLimits, ClaimRequest } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { openRecorded } from '../support/open-recorded.ts'
import { finishedChange, registerWorker, startSome } from '../support/open-store.ts'
import { planners } from '../support/planners.ts'
import { explain, type Recording } from '../support/recording-database.ts'

const none: StoredLimits = { concurrency: null, rate: null }
const large = 3000
const small = 250

function declared(scope: 'queue' | 'class', name: string, more: Partial<LimitDeclaration>): LimitDeclaration {
  return { scope, name, limits: none, perKey: null, ...more }
}

forEachDatabase('a claim under limits', database => {
  const planner = planners[database.name]
  let real: Database
  let recording: Recording
  let store: SqlStore
  const lanes = new LaneLooks()

  function limits(handler: string, queue: string): ClaimLimits {
    return {
      keys: [
        { scope: 'queue', name: queue },
        { scope: 'class', name: handler },
      ],
      classes: new Map([[handler, handler]]),
      laned: new Set([handler]),
      lanes,
    }
  }

  function request(handler: string, queue: string, limit: number): ClaimRequest {
    const sources = [{ queue, handler, generation: 1 }]
    return { workerId: 'w', sources, limit, limited: limits(handler, queue) }
  }

  beforeAll(async () => {
    ;({ real, recording, store } = await openRecorded(database))
    await registerWorker(store, 'w')
    await store.limits.declare([
      declared('queue', 'narrow', { limits: { concurrency: 5, rate: null } }),
      declared('class', 'Keyed', { perKey: { concurrency: 2, rate: null } }),
      declared('class', 'Many', { perKey: { concurrency: 1, rate: null } }),
      declared('class', 'Kept', { perKey: { concurrency: 1, rate: null } }),
    ])
    for (let i = 0; i < large; i += 500) {
      await startSome(store, 500, { lane: 'big', first: { handler: 'Keyed', queue: 'keyed', lane: 'big' } })
    }
    for (const lane of ['one', 'two', 'three']) {
      await startSome(store, 3, { lane, first: { handler: 'Keyed', queue: 'keyed', lane } })
    }
    for (let i = 0; i < small; i++) {
      const lane = `lane ${String(i).padStart(4, '0')}`
      await startSome(store, 1, { lane, first: { handler: 'Many', queue: 'many', lane } })
    }
    await startSome(store, 40, { first: { queue: 'narrow' } })
    await startSome(store, 200, { first: { queue: 'free' } })
    for (const statement of planner.analyze) await real.query(raw(statement))
  })
  afterAll(() => store.close())

  it('takes what there is room for, also when many ask at once, and a place that falls free is taken again', async () => {
    const narrow = () => store.claim(request('Sample', 'narrow', 3))
    const all = (await Promise.all(Array.from({ length: 6 }, narrow))).flat()
    expect(all.length).toBe(5)
    expect(await narrow()).toEqual([])
    await store.change(
      all.slice(0, 2).map(item => ({ workflowId: item.workflow.id })),
      finishedChange,
    )
    expect((await narrow()).length).toBe(2)
  })

  it('takes of each lane what its key allows, past a long line, and finds all of it by index', async () => {
    recording.take()
    const claimed = await store.claim(request('Keyed', 'keyed', 20))
    const count = (lane: string) => claimed.filter(({ execution }) => execution.lane === lane).length
    expect(['big', 'one', 'two', 'three'].map(count)).toEqual([2, 2, 2, 2])
    const statements = recording.take().filter(({ parts }) => /^\s*(select|with|update)/i.test(parts[0] ?? ''))
    const plans = await Promise.all(
      statements.map(async statement => ({
        text: statement.parts.join('?'),
        plan: await explain(real, statement, planner.explain),
      })),
    )
    const ofRows = plans.filter(({ text }) => text.includes('active_executions') && !text.includes('count(*)'))
    expect(ofRows.length).toBeGreaterThan(4)
    expect(ofRows.filter(({ plan }) => plan.some(line => planner.scan.test(line)))).toEqual([])
  })

  it('comes to every lane, however many there are', async () => {
    const seen = new Set<string>()
    for (let round = 0; round < 40 && seen.size < small; round++) {
      for (const { execution, workflow } of await store.claim(request('Many', 'many', 20))) {
        seen.add(execution.lane)
        await store.change([{ workflowId: workflow.id }], finishedChange)
      }
    }
    expect(seen.size).toBe(small)
  })

  it('takes what is due, however many lanes wait with a priority that puts them before it', async () => {
    const at = (lane: string) => ({ handler: 'Kept', queue: 'kept', lane })
    for (const lane of ['a', 'b', 'c', 'd']) {
      await startSome(store, 1, { lane, first: { ...at(lane), priority: 80, due: { inMs: 100_000 } } })
      await startSome(store, 1, { lane, first: { ...at(lane), generation: 2 } })
    }
    await startSome(store, 1, { lane: 'e', first: at('e') })
    const claimed = await store.claim(request('Kept', 'kept', 2))
    expect(claimed.map(({ execution }) => execution.lane)).toEqual(['e'])
  })

  it('of one workflow finds it in whatever lane it stands', async () => {
    const at = (lane: string) => ({ handler: 'Kept', queue: 'single', lane })
    await startSome(store, 1, { lane: 'a', first: at('a') })
    const [own = ''] = await startSome(store, 1, { lane: 'b', first: at('b') })
    const claimed = await store.claim({ ...request('Kept', 'single', 1), workflowId: own })
    expect(claimed.map(({ workflow }) => workflow.id)).toEqual([own])
  })

  it('is refused when the limits have changed since they were read', async () => {
    const { revision } = await store.limits.read()
    const free = { workerId: 'w', sources: [{ queue: 'free', handler: 'Sample', generation: 1 }], limit: 1, revision }
    expect((await store.claim(free)).length).toBe(1)
    await store.limits.pause('elsewhere', { by: null, reason: null })
    await expect(store.claim(free)).rejects.toThrow('The limits have changed')
    expect((await store.claim({ ...free, revision: revision + 1 })).length).toBe(1)
  })

  it('is paid for by nobody else: a claim without limits sends five statements, and asks for limits in one of them', async () => {
    recording.take()
    const sources = [{ queue: 'free', handler: 'Sample', generation: 1 }]
    const claimed = await store.claim({ workerId: 'w', sources, limit: 10 })
    const sent = recording.take().map(({ parts }) => parts.join('?'))
    expect(claimed.length).toBe(10)
    // PostgreSQL is told how to look, beside that.
    expect(sent.filter(text => !text.startsWith('set local')).length).toBe(5)
    expect(sent.filter(text => text.includes('geneva_drive_limits'))).toEqual([
      expect.stringContaining('from geneva_drive_workers'),
    ])
    await store.change(
      claimed.map(item => ({ workflowId: item.workflow.id, slots: [''] })),
      finishedChange,
      { workerId: 'w' },
    )
    const finish = recording.take().map(({ parts }) => parts.join('?'))
    expect(finish.filter(text => text.includes('geneva_drive_limits')).length).toBe(1)
  })
})
