/** What has ended long ago is removed: with all that belongs to it, a family whole, and nothing that somebody still needs. */
import { describe, expect, it } from 'vitest'
import { type Child, type Decision, defineJob, type Signal, Workflow } from '../../src/index.ts'
import { forEachDatabaseSideBySide, type TestDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { type GenevaUnderTest, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const day = 86_400_000

class Plain extends Workflow<null, { n?: number }> {
  static {
    this.step('one')
    this.step('two')
  }
  one() {
    return this.input.n ?? 0
  }
  two() {}
}

class Offspring extends Workflow<null, { linger: boolean }> {
  static {
    this.step('work')
  }
  work() {
    if (this.input.linger) this.pause('not yet')
  }
}

class Parent extends Workflow<null, { linger: boolean }> {
  static {
    this.child('kid', { workflow: Offspring, start: wf => ({ input: { linger: wf.input.linger } }) })
    this.step('after')
  }
  kid(_: Child<Offspring>) {}
  after() {}
}

/** Waits for a workflow that is not its child. */
class Onlooker extends Workflow<null, { id: string }> {
  static {
    this.step('hold', { wait: '100 days' })
  }
  hold() {}
}

/** What people say, and what is sent to it, is kept with names and payloads. */
class Asking extends Workflow {
  static {
    this.human('agree')
    this.waitFor('paid')
    this.step('ship', { onException: 'dlq' })
  }
  agree(_: Decision) {}
  paid(_: Signal<{ cents: number }>) {}
  ship() {
    throw new Error('no courier')
  }
}

const note = defineJob('note', async () => {})
const belongings = [
  'workflows',
  'active_executions',
  'step_executions',
  'events',
  'tags',
  'graphs',
  'fan_ins',
  'watches',
  'decisions',
  'signals',
  'dead_letters',
]

async function countAll(database: TestDatabase, under: GenevaUnderTest): Promise<Record<string, number>> {
  const plain = await connectPlainly(database.name, under.url)
  const counts: Record<string, number> = {}
  for (const table of belongings) {
    const [row] = await plain.query(`select count(*) as count from geneva_drive_${table}`)
    counts[table] = Number(row?.count)
  }
  await plain.close()
  return counts
}

forEachDatabaseSideBySide('retention', database => {
  const workflows = [Plain, Offspring, Parent, Onlooker, Asking]

  describe('prune', () => {
    const under = useGeneva(database, { workflows, jobs: [note] })

    it('removes what has ended long enough ago, and nothing that is younger or goes on', async () => {
      const { geneva } = under
      const old = await geneva.start(Plain, {}, { tags: ['x', 'y'], idempotencyKey: 'once' })
      const open = await geneva.start(Onlooker, { input: { id: '' } })
      await under.runDue()
      expect(await geneva.prune({ olderThan: '1 day' })).toEqual({ workflows: 0, complete: true })
      await under.setClock(2 * day)
      const young = await geneva.start(Plain)
      await under.runDue()
      expect(await geneva.prune({ olderThan: '1 day', dryRun: true })).toEqual({ workflows: 1, complete: true })
      expect(await geneva.find(old.id)).not.toBeNull()
      expect(await geneva.prune({ olderThan: '1 day' })).toEqual({ workflows: 1, complete: true })
      expect(await geneva.find(old.id)).toBeNull()
      expect((await geneva.find(young.id))?.state).toBe('finished')
      expect((await geneva.find(open.id))?.state).toBe('ready')
      await under.runDue()
      const again = await geneva.start(Plain, {}, { idempotencyKey: 'once' })
      expect(again.id).not.toBe(old.id)
    })

    it('leaves nothing behind of what it removes', async () => {
      const { geneva } = under
      await geneva.list({ state: 'active' }).then(async page => {
        for await (const workflow of page) await workflow.cancel()
      })
      await geneva.startGraph(
        geneva.build(w => {
          const a = w.node('a', { job: note, args: {} })
          const b = w.node('b', { job: note, args: {}, dependsOn: null })
          w.node('c', { job: note, args: {}, dependsOn: [a, b] })
        }),
      )
      await geneva.start(Parent, { input: { linger: false } })
      const asking = await geneva.start(Asking)
      await under.runDue()
      await asking.decide('agree', { decision: 'confirmed', by: 'ann', comment: 'she is my aunt' })
      await under.runDue()
      await asking.signal('paid', { cents: 900 }, { by: 'bank' })
      await asking.signal('paid', { cents: 901 }, { by: 'bank' })
      await under.runDue()
      expect(await countAll(database, under)).toMatchObject({ decisions: 1, signals: 2, dead_letters: 1 })
      await asking.cancel()
      await waitFor(async () => {
        await under.runDue()
        return (await geneva.list({ state: 'active' })).items.length === 0
      })
      await under.setClock(9 * day)
      await geneva.prune({ olderThan: '1 day' })
      expect(await countAll(database, under)).toEqual(Object.fromEntries(belongings.map(table => [table, 0])))
    })

    it('takes only the states that are asked for', async () => {
      const { geneva } = under
      const canceled = await geneva.start(Onlooker, { input: { id: '' } })
      await canceled.cancel()
      const finished = await geneva.start(Plain)
      await under.runDue()
      await under.setClock(20 * day)
      expect(await geneva.prune({ olderThan: '1 day', states: 'canceled' })).toMatchObject({ workflows: 1 })
      expect(await geneva.find(canceled.id)).toBeNull()
      expect(await geneva.find(finished.id)).not.toBeNull()
    })

    it('stops at the limit and goes on from there, and a page is no limit', async () => {
      const { geneva } = under
      await geneva.prune({ olderThan: 0 })
      await geneva.startMany(
        Plain,
        Array.from({ length: 450 }, () => ({})),
      )
      await under.runDue({ concurrency: 100 })
      await under.setClock(40 * day)
      expect(await geneva.prune({ olderThan: '1 day', limit: 10 })).toEqual({ workflows: 10, complete: false })
      expect(await geneva.prune({ olderThan: '1 day', dryRun: true })).toEqual({ workflows: 440, complete: true })
      expect(await geneva.prune({ olderThan: '1 day' })).toEqual({ workflows: 440, complete: true })
      expect((await countAll(database, under)).events).toBe(0)
    })

    it('refuses states that do not last, and limits that are none', async () => {
      const wrong = { olderThan: '1 day', states: 'paused' } as never
      await expect(under.geneva.prune(wrong)).rejects.toThrow('cannot be removed while they are "paused"')
      await expect(under.geneva.prune({ olderThan: '1 day', limit: 0 })).rejects.toThrow('above 0')
    })
  })

  describe('families', () => {
    const under = useGeneva(database, { workflows })

    it('stay whole until all of them have ended long enough ago, and then go together', async () => {
      const { geneva } = under
      const parent = await geneva.start(Parent, { input: { linger: true } })
      await under.runDue()
      const child = (await geneva.list(Offspring)).items[0]
      expect(child?.state).toBe('paused')
      await parent.cancel()
      await waitFor(async () => {
        await under.runDue()
        return (await parent.refresh()).state === 'canceled' && (await child?.refresh())?.state === 'canceled'
      })
      const again = await geneva.start(Parent, { input: { linger: false } })
      await waitFor(async () => {
        await under.runDue()
        return (await again.refresh()).state === 'finished'
      })
      await under.setClock(3 * day)
      expect(await geneva.prune({ olderThan: '1 day', limit: 1 })).toEqual({ workflows: 2, complete: false })
      expect(await geneva.prune({ olderThan: '1 day' })).toEqual({ workflows: 2, complete: true })
    })

    it('with a member that goes on are left alone', async () => {
      const { geneva } = under
      const parent = await geneva.start(Parent, { input: { linger: true } })
      await under.runDue()
      const plain = await connectPlainly(database.name, under.url)
      // As if the parent had not waited for its child.
      await plain.query(`delete from geneva_drive_active_executions where workflow_id = ${parent.id}`)
      await plain.query(`update geneva_drive_workflows set state = 'finished', ended_at = 1 where id = ${parent.id}`)
      await plain.close()
      expect(await geneva.prune({ olderThan: '1 day' })).toEqual({ workflows: 0, complete: true })
      expect(await geneva.find(parent.id)).not.toBeNull()
    })

    it('that a workflow which goes on wants to know of are left alone', async () => {
      const { geneva } = under
      const watched = await geneva.start(Plain)
      await under.runDue()
      const onlooker = await geneva.start(Onlooker, { input: { id: watched.id } })
      const store = await geneva.openedStore()
      const [timerId = ''] = await store.takeIds(1)
      await store.watch(watched.id, { workflowId: onlooker.id, node: 'hold' }, timerId)
      await under.setClock(6 * day)
      expect(await geneva.prune({ olderThan: '1 day' })).toEqual({ workflows: 0, complete: true })
      await onlooker.cancel()
      expect((await geneva.prune({ olderThan: '1 day' })).workflows).toBe(1)
    })
  })

  describe('a workflow with much history', () => {
    const under = useGeneva(database, { workflows })

    it('is removed in several transactions, and its row last', async () => {
      const { geneva } = under
      const workflow = await geneva.start(Plain)
      await under.runDue()
      const plain = await connectPlainly(database.name, under.url)
      const rows = Array.from({ length: 2500 }, () => `(${workflow.id}, 'note', 0)`).join(', ')
      await plain.query(`insert into geneva_drive_events (workflow_id, type, at) values ${rows}`)
      await plain.close()
      await under.setClock(2 * day)
      expect(await geneva.prune({ olderThan: '1 day' })).toEqual({ workflows: 1, complete: true })
      expect((await countAll(database, under)).events).toBe(0)
    })
  })

  describe('by itself', () => {
    const under = useGeneva(database, { workflows, retention: { finished: '20 ms' } })

    it('a worker removes what the options name, and keeps the rest', async () => {
      const { geneva } = under
      const kept = await geneva.start(Onlooker, { input: { id: '' } })
      await kept.cancel()
      const gone = await geneva.start(Plain)
      await under.runDue()
      expect(await geneva.find(gone.id)).not.toBeNull()
      const worker = await geneva.startWorker({ poll: 20, grace: 0, lease: 500 })
      await waitFor(async () => (await geneva.find(gone.id)) === null, 25_000)
      await worker.stop()
      expect((await geneva.find(kept.id))?.state).toBe('canceled')
    })

    it('options that make no sense are refused at once', () => {
      expect(() => under.another({ retention: { paused: '1 day' } as never })).toThrow('retention')
      expect(() => under.another({ retention: { finished: '1 day', paused: '1 day' } as never })).toThrow('"paused"')
    })
  })
})
