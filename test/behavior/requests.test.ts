/** The record of what people asked of queues, schedules and the store: who, why, when, and only what has changed something. */
import { expect, it } from 'vitest'
import { defineSchedule, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Sweep extends Workflow {
  static {
    this.allowMultiple()
    this.step('sweep')
  }
  async sweep() {}
}

const hourly = defineSchedule('hourly', { workflow: Sweep, every: '1 hour' })

forEachDatabase('requests', database => {
  const under = useGeneva(database, { workflows: [Sweep], schedules: [hourly] })
  const asked = async (about: 'queue' | 'schedule' | 'workflow') =>
    (await under.geneva.views.requests({ about })).items.map(({ id: _id, at: _at, ...rest }) => rest)
  const ann = { by: 'ann', reason: 'the provider is down' }

  it('tell who paused, resumed and limited a queue, newest first', async () => {
    const { queues } = under.geneva
    await queues.pause('mail', ann)
    await queues.limit('mail', { concurrency: 3 }, { by: 'bob' })
    await queues.resume('mail', { by: 'cy', reason: 'it is back' })
    expect(await asked('queue')).toEqual([
      { action: 'queue.resume', name: 'mail', by: 'cy', reason: 'it is back', detail: null },
      { action: 'queue.limit', name: 'mail', by: 'bob', reason: null, detail: { concurrency: 3, rate: null } },
      { action: 'queue.pause', name: 'mail', ...ann, detail: null },
    ])
  })

  it('tell who paused and resumed a schedule, and who had it removed', async () => {
    const { schedules } = under.geneva
    await schedules.pause('hourly', ann)
    await schedules.resume('hourly', { by: 'cy' })
    await under.another({ workflows: [Sweep] }).schedules.remove('hourly', { by: 'dee', reason: 'no longer needed' })
    expect((await asked('schedule')).map(({ action, by, reason }) => [action, by, reason])).toEqual([
      ['schedule.remove', 'dee', 'no longer needed'],
      ['schedule.resume', 'cy', null],
      ['schedule.pause', 'ann', ann.reason],
    ])
  })

  it('tell who removed workflows, how many, and of which kind', async () => {
    await under.geneva.startMany(Sweep, [{}, {}])
    await under.runDue()
    await under.geneva.prune({ olderThan: 0, dryRun: true, by: 'eve' })
    await under.geneva.prune({ olderThan: 0, states: 'finished', ...ann })
    await under.geneva.prune({ olderThan: 0, by: 'late' })
    expect(await asked('workflow')).toEqual([
      {
        action: 'workflow.prune',
        name: null,
        ...ann,
        detail: { removed: 2, olderThanMs: 0, states: ['finished'] },
      },
    ])
  })

  it('do not tell of what changed nothing', async () => {
    const before = await under.geneva.views.requests()
    await under.geneva.queues.resume('mail', ann)
    await under.geneva.queues.resume('never heard of', ann)
    await expect(under.geneva.schedules.pause('nothing', ann)).rejects.toThrow('There is no schedule')
    expect(await under.geneva.views.requests()).toEqual(before)
  })

  it('come in pages', async () => {
    const all = (await under.geneva.views.requests()).items
    const first = await under.geneva.views.requests({ limit: 2 })
    const rest = await under.geneva.views.requests({ cursor: first.nextCursor ?? '' })
    expect([...first.items, ...rest.items]).toEqual(all)
    expect(rest.nextCursor).toBeNull()
    await expect(under.geneva.views.requests({ cursor: "' or 1 = 1" })).rejects.toThrow('is not one that a page has')
  })
})
