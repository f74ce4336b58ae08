/** Changes that are decided on without a look: written if everything is as the worker knows it, and not at all otherwise. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { factsOfClaim } from '../../src/engine/assume.ts'
import type { AssumedFacts, WorkflowChange } from '../../src/store/change.ts'
import type { ClaimedExecution } from '../../src/store/records.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import {
  changeOf,
  factsOf,
  finishedChange,
  openSameStore,
  registerWorker,
  sampleSource,
  startSome,
} from '../support/open-store.ts'
import { connectPlainly } from '../support/plain-sql.ts'

forEachDatabase('assumed changes', database => {
  let url = ''
  let store: Store
  /** As another process would have it. */
  let other: Store
  let workers = 0
  let worker = ''
  let revision = 0

  beforeAll(async () => {
    url = (await database.isolated()).url
    store = await openSameStore(url)
    other = await openSameStore(url)
  })
  beforeEach(async () => {
    worker = await registerWorker(store, `worker-${++workers}`)
    // What an earlier test has given back is not for this one.
    while ((await store.claim({ workerId: worker, sources: [sampleSource], limit: 100 })).length > 0);
  })
  afterAll(async () => {
    await store.close()
    await other.close()
  })

  async function claim(count = 1): Promise<AssumedFacts[]> {
    const ids = await startSome(store, count)
    const claimed = await store.claim({ workerId: worker, sources: [sampleSource], limit: count })
    expect(claimed.map(({ workflow }) => workflow.id).toSorted()).toEqual(ids.toSorted())
    revision = claimed[0]?.revision ?? 0
    return claimed.map(factsOfClaim)
  }

  const write = (facts: readonly AssumedFacts[], by: number | null = null) =>
    store.changeAssumed(facts, facts.map(finishedChange), { workerId: worker, revision: by })

  async function expectUntouched(facts: readonly AssumedFacts[]): Promise<void> {
    for (const { workflow } of facts) {
      expect(await store.history(workflow.id)).toEqual([])
      expect((await store.findWorkflow(workflow.id))?.workflow.state).not.toBe('finished')
    }
  }

  it('are written as a look would have had them, at the time that is told', async () => {
    const facts = await claim(3)
    const now = await write(facts)
    expect(now).not.toBeNull()
    for (const { workflow, active } of facts) {
      const [row] = await store.history(workflow.id)
      const {
        slot,
        queue,
        handler,
        lane,
        generation,
        priority,
        fence,
        failures,
        crashes,
        startMark,
        heldFrom,
        ...kept
      } = active[0] as ClaimedExecution['execution']
      const { input, ...shown } = kept
      expect(row).toMatchObject({ ...shown, state: 'completed', outcome: 'success', endedAt: now })
      expect(await store.activeExecutions(workflow.id)).toEqual([])
      const after = (await store.findWorkflow(workflow.id))?.workflow
      expect(after).toMatchObject({ state: 'finished', endedAt: now, version: workflow.version + 1 })
    }
  })

  it.each([
    ['the workflow has changed', async ({ workflow }: AssumedFacts) => void (await rename(workflow.id))],
    ['the claim is lost', async ({ workflow }: AssumedFacts) => void (await release(workflow.id))],
    ['the step is told to stop', async ({ workflow }: AssumedFacts) => void (await tellToStop(workflow.id))],
    ['somebody waits for the workflow', async ({ workflow }: AssumedFacts) => void (await watch(workflow.id))],
    ['the worker was buried', async () => void (await other.retireWorker(worker))],
  ])('write nothing at all, not even for others, when %s', async (_, happen) => {
    const facts = await claim(3)
    await happen(facts[1] as AssumedFacts)
    expect(await write(facts)).toBeNull()
    await expectUntouched(facts)
  })

  it('write nothing where a counter is there that nobody should have begun', async () => {
    const facts = (await claim(2)).map(fact => ({ ...fact, complete: false, uncounted: ['join', 'other'] }))
    const [first] = facts
    const count = (open: number) => ({ inserted: [{ node: 'join', open }], updated: [], removed: [], cleared: false })
    await other.change([{ workflowId: first?.workflow.id ?? '' }], ({ workflow: { id } }) =>
      changeOf(id, { fanIns: count(1) }),
    )
    expect(await write(facts)).toBeNull()
    await expectUntouched(facts)
    expect(await write(facts.slice(1))).not.toBeNull()
  })

  describe('that count down', () => {
    const down = (leaves: 'some' | 'none') => [{ node: 'join', by: 3, leaves }]
    const fanIns = (more: Partial<WorkflowChange['fanIns']>) => ({
      inserted: [],
      updated: [],
      removed: [],
      cleared: false,
      ...more,
    })
    const open = async (workflowId: string) =>
      (await factsOf(other, { workflowId, withLatest: true })).fanIns.get('join')

    /** Claimed, with a counter that somebody else has written. */
    async function claimCounted(count: number): Promise<AssumedFacts[]> {
      const facts = await claim(2)
      for (const { workflow } of facts) {
        await other.change([{ workflowId: workflow.id }], ({ workflow: { id } }) =>
          changeOf(id, { fanIns: fanIns({ inserted: [{ node: 'join', open: count }] }) }),
        )
      }
      return facts.map(fact => ({ ...fact, complete: false, counted: down('some'), fanIns: new Map([['join', 900]]) }))
    }

    const report = ({ workflow, active }: AssumedFacts) => {
      const { endings, removals, events } = finishedChange({ workflow, active } as AssumedFacts)
      const updated = [{ node: 'join', open: 897, by: 3 }]
      return changeOf(workflow.id, { endings, removals, events, fanIns: fanIns({ updated }) })
    }
    const count = (facts: readonly AssumedFacts[]) =>
      store.changeAssumed(facts, facts.map(report), { workerId: worker, revision: null })

    it('take what they have counted from what is there, whatever others have counted meanwhile', async () => {
      const facts = await claimCounted(7)
      expect(await count(facts)).not.toBeNull()
      for (const { workflow, active } of facts) {
        expect(await open(workflow.id)).toBe(4)
        expect((await store.history(workflow.id)).map(({ id }) => id)).toEqual([active[0]?.id])
        expect(await store.activeExecutions(workflow.id)).toEqual([])
      }
    })

    it.each([
      ['these were the last', 3],
      ['fewer were open', 2],
    ])('write nothing where %s, which somebody has to look at', async (_, left) => {
      const facts = await claimCounted(left)
      expect(await count(facts)).toBeNull()
      await expectUntouched(facts)
      expect(await open(facts[0]?.workflow.id ?? '')).toBe(left)
    })

    it.each([
      [2, false],
      [3, true],
      [4, false],
    ])('as the last of %i are written only where they are: %s', async (left, isRight) => {
      const facts = (await claimCounted(left)).map(fact => ({ ...fact, counted: down('none') }))
      const changes = facts.map(fact => ({ ...report(fact), fanIns: fanIns({ removed: [{ node: 'join' }] }) }))
      const now = await store.changeAssumed(facts, changes, { workerId: worker, revision: null })
      expect(now !== null).toBe(isRight)
      if (!isRight) await expectUntouched(facts)
      for (const { workflow } of facts) expect(await open(workflow.id)).toBe(isRight ? undefined : left)
    })

    it('write nothing where one of the counters is gone', async () => {
      const facts = await claimCounted(7)
      await other.change([{ workflowId: facts[1]?.workflow.id ?? '' }], ({ workflow: { id } }) =>
        changeOf(id, { fanIns: fanIns({ removed: [{ node: 'join' }] }) }),
      )
      expect(await count(facts)).toBeNull()
      await expectUntouched(facts)
      expect(await open(facts[0]?.workflow.id ?? '')).toBe(7)
    })
  })

  it('write nothing where a step would begin by limits that have changed', async () => {
    const facts = await claim()
    expect(await write(facts, revision + 1)).toBeNull()
    await expectUntouched(facts)
    expect(await write(facts, revision)).not.toBeNull()
  })

  it.each([1, 3])('wait for whoever holds one of %i workflows, and then see what it has become', async count => {
    const all = await claim(count)
    const facts = all[Math.floor(count / 2)]
    if (facts === undefined) throw new Error('nothing was claimed')
    let late: Promise<number | null> | null = null
    await other.change([{ workflowId: facts.workflow.id }], found => {
      late = write(all)
      return changeOf(facts.workflow.id, { update: { ...finishedChange(found).update, state: 'paused' } as never })
    })
    expect(await late).toBeNull()
    await expectUntouched(all)
  })

  /** In a file nobody can hold one row only. */
  const ends = database.name === 'sqlite' ? [] : (['commit', 'rollback'] as const)
  it.each(ends)('wait for whoever buries the worker, and go by its %s', async end => {
    const facts = await claim()
    const plain = await connectPlainly(database.name, url)
    try {
      await plain.query('begin')
      await plain.query(`select id from geneva_drive_workers where id = '${worker}' for update`)
      await plain.query(`update geneva_drive_workers set state = 'dead' where id = '${worker}'`)
      const late = write(facts)
      expect(await Promise.race([late, pause(100, 'waits')])).toBe('waits')
      await plain.query(end)
      if (end === 'rollback') expect(await late).not.toBeNull()
      else {
        expect(await late).toBeNull()
        await expectUntouched(facts)
      }
    } finally {
      await plain.close()
    }
  })

  it('of one row win once, however many try', async () => {
    const facts = await claim()
    const answers = await Promise.all([write(facts), write(facts), write(facts)])
    expect(answers.filter(answer => answer !== null)).toHaveLength(1)
    expect(await store.history(facts[0]?.workflow.id ?? '')).toHaveLength(1)
  })

  async function rename(workflowId: string): Promise<void> {
    await other.change([{ workflowId }], found =>
      changeOf(workflowId, { update: { ...finishedChange(found).update, state: 'ready', blockedBy: 'x' } as never }),
    )
  }

  async function release(workflowId: string): Promise<void> {
    await other.change([{ workflowId }], ({ active: [row] }) => {
      if (row === undefined) return null
      const move = { slot: row.slot, state: 'scheduled', fence: row.fence + 1, heldFrom: null, due: null } as const
      return changeOf(workflowId, { moves: [{ ...move, input: null, progress: null }] })
    })
  }

  async function tellToStop(workflowId: string): Promise<void> {
    await other.change([{ workflowId }], () => changeOf(workflowId, { stops: [{ slot: '' }] }))
  }

  async function watch(workflowId: string): Promise<void> {
    const [watcher = ''] = await startSome(other, 1, { first: null })
    const [timer = ''] = await other.takeIds(1)
    await other.watch(workflowId, { workflowId: watcher, node: 'one' }, timer)
  }
})
