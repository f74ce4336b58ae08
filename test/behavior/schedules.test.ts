/** Schedules: what is started when, what is made up for, and what people can do about it. */
import { describe, expect, it } from 'vitest'
import { defineHero, defineSchedule, type Geneva, type Schedule, type Tick, Workflow } from '../../src/index.ts'
import { forEachDatabaseSideBySide } from '../support/databases.ts'
import { type GenevaUnderTest, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const day = 86_400_000

class Report extends Workflow<null, { day?: Date }> {
  static {
    this.step('write')
  }
  write() {
    return this.input.day ?? null
  }
}

const Shops = defineHero('Shop', { id: (shop: { id: number }) => shop.id, load: id => ({ id: Number(id) }) })

class Closing extends Workflow<{ id: number }> {
  static {
    this.heroes(Shops)
    this.step('close', { wait: '10 days' })
  }
  close() {}
}

class Slow extends Workflow {
  static {
    this.step('wait', { wait: '10 days' })
  }
  wait() {}
}

/** Goes on as another workflow before it rests. */
class Polling extends Workflow<null, { rounds?: number }> {
  static {
    this.step('poll')
    this.step('rest', { wait: '10 days' })
  }
  poll() {
    const { rounds = 0 } = this.input
    if (rounds < 2) this.restart({ rounds: rounds + 1 })
  }
  rest() {}
}

function daily(name: string, catchUp: 'all' | 'latest' | 'none' = 'latest'): Schedule {
  return defineSchedule(name, {
    cron: '0 9 * * *',
    timeZone: 'Europe/Amsterdam',
    workflow: Report,
    start: (tick: Tick) => ({ input: { day: tick.at } }),
    catchUp,
  })
}

/** Sets the clock of the first instance to so many milliseconds after its next tick, and works. */
async function runAfter(under: GenevaUnderTest, name: string, ms: number): Promise<void> {
  const next = (await under.geneva.schedules.find(name))?.nextAt
  await under.setClock(0)
  const store = await under.geneva.openedStore()
  await under.setClock((next?.getTime() ?? 0) + ms - (await store.now()) / 1000)
  await under.runDue()
}

forEachDatabaseSideBySide('schedules', database => {
  describe('ticks', () => {
    const under = useGeneva(database, {
      workflows: [Report, Closing, Slow],
      schedules: [
        daily('all', 'all'),
        daily('latest'),
        daily('none', 'none'),
        defineSchedule('heroic', { every: day, catchUp: 'all', workflow: Closing, start: { hero: Shops.ref(7) } }),
        defineSchedule('single', { every: day, catchUp: 'all', workflow: Slow, overlap: 'skip' }),
      ],
    })

    it('are due at the time of the zone, and nothing is started before', async () => {
      const [status] = await under.geneva.schedules.list()
      expect(status).toMatchObject({ name: 'all', workflow: 'Report', cron: '0 9 * * *', started: 0, hasCode: true })
      const shown = status?.nextAt?.toLocaleTimeString('en-GB', { timeZone: 'Europe/Amsterdam' })
      expect(shown).toBe('09:00:00')
      await runAfter(under, 'all', -1000)
      expect((await under.geneva.schedules.find('all'))?.started).toBe(0)
    })

    it('start a workflow each, with what the tick says, and run it', async () => {
      const tick = (await under.geneva.schedules.find('all'))?.nextAt
      await runAfter(under, 'all', 100)
      const status = await under.geneva.schedules.find('all')
      expect(status).toMatchObject({ started: 1, lastTickAt: tick })
      const workflow = await under.geneva.find(status?.lastWorkflowId ?? '')
      expect(workflow?.state).toBe('finished')
      expect(await workflow?.output('write')).toEqual(tick)
      await under.runDue()
      expect((await under.geneva.schedules.find('all'))?.started).toBe(1)
    })

    it('that were missed are started later as `catchUp` says', async () => {
      const before = await startedByAll(under.geneva)
      await runAfter(under, 'all', 3 * day + 120_000)
      const after = await startedByAll(under.geneva)
      expect(after.all - before.all).toBe(4)
      expect(after.latest - before.latest).toBe(1)
      expect(after.none - before.none).toBe(0)
    })

    it('that meet an active workflow of their hero are left out and counted', async () => {
      const { started, skipped } = (await under.geneva.schedules.find('heroic')) ?? { started: 0, skipped: 0 }
      expect(started).toBe(1)
      expect(skipped).toBeGreaterThanOrEqual(3)
    })

    it('that meet the workflow of an earlier tick are left out where that is asked for', async () => {
      const { started, skipped } = (await under.geneva.schedules.find('single')) ?? { started: 0, skipped: 0 }
      expect(started).toBe(1)
      expect(skipped).toBeGreaterThanOrEqual(3)
      await under.geneva.cancel((await under.geneva.schedules.find('single'))?.lastWorkflowId ?? '')
      await runAfter(under, 'single', 1)
      expect((await under.geneva.schedules.find('single'))?.started).toBe(2)
    })
  })

  describe('ticks of a workflow that goes on as another', () => {
    const under = useGeneva(database, {
      workflows: [Polling],
      schedules: [defineSchedule('polling', { every: day, workflow: Polling, overlap: 'skip' })],
    })
    const look = () => under.geneva.schedules.find('polling')

    it('are left out while it goes on, under whatever id', async () => {
      await runAfter(under, 'polling', 1)
      expect(await look()).toMatchObject({ started: 1, skipped: 0 })
      await runAfter(under, 'polling', 1)
      expect(await look()).toMatchObject({ started: 1, skipped: 1 })
      const going = await under.geneva.find((await look())?.lastWorkflowId ?? '')
      expect(going?.state).toBe('ready')
      await going?.cancel()
      await runAfter(under, 'polling', 1)
      expect(await look()).toMatchObject({ started: 2, skipped: 1 })
    })
  })

  describe('requests', () => {
    const under = useGeneva(database, {
      workflows: [Report],
      schedules: [daily('paused', 'all'), daily('pressed')],
    })

    it('pause: nothing is started, and what fell into the pause is not made up for', async () => {
      await under.geneva.schedules.pause('paused', { by: 'ann', reason: 'holiday' })
      expect(await under.geneva.schedules.find('paused')).toMatchObject({
        paused: true,
        pausedBy: 'ann',
        pauseReason: 'holiday',
        nextAt: null,
      })
      await runAfter(under, 'pressed', 2 * day)
      expect((await under.geneva.schedules.find('paused'))?.started).toBe(0)
      await under.geneva.schedules.resume('paused')
      await under.runDue()
      expect(await under.geneva.schedules.find('paused')).toMatchObject({ started: 0, paused: false, pausedBy: null })
      await runAfter(under, 'paused', 1)
      expect((await under.geneva.schedules.find('paused'))?.started).toBe(1)
    })

    it('trigger: one workflow now, and the ticks stay as they are', async () => {
      const before = await under.geneva.schedules.find('pressed')
      const workflow = await under.geneva.schedules.trigger('pressed')
      await under.runDue()
      expect(await workflow.waitUntilFinished()).toBeInstanceOf(Date)
      expect(await workflow.tags()).toContain('schedule:pressed')
      expect(await under.geneva.schedules.find('pressed')).toEqual(before)
    })

    it('of a schedule that is not there are refused', async () => {
      await expect(under.geneva.schedules.pause('nobody')).rejects.toThrow('There is no schedule "nobody"')
      await expect(under.geneva.schedules.resume('nobody')).rejects.toThrow('There is no schedule "nobody"')
      await expect(under.geneva.schedules.trigger('nobody')).rejects.toThrow('no code for the schedule "nobody"')
      expect(await under.geneva.schedules.find('nobody')).toBeNull()
    })

    it('remove: refused while the code has it, done when it has not', async () => {
      await expect(under.geneva.schedules.remove('pressed')).rejects.toThrow('still in the code')
      const later = under.another({ workflows: [Report], schedules: [daily('paused', 'all')] })
      expect(await later.schedules.find('pressed')).toMatchObject({ hasCode: false })
      await later.schedules.remove('pressed')
      expect((await later.schedules.list()).map(({ name }) => name)).toEqual(['paused'])
    })
  })

  describe('deploys', () => {
    const under = useGeneva(database, { workflows: [Report], schedules: [daily('moved', 'all')] })

    it('a changed expression counts from the deploy on; counts and pauses stay', async () => {
      await runAfter(under, 'moved', 1)
      await under.setClock(0)
      const hourly = defineSchedule('moved', { cron: '30 * * * *', workflow: Report, catchUp: 'all' })
      const later = under.another({ workflows: [Report], schedules: [hourly] })
      const status = await later.schedules.find('moved')
      expect(status).toMatchObject({ cron: '30 * * * *', timeZone: 'UTC', started: 1 })
      expect(status?.nextAt?.getUTCMinutes()).toBe(30)
      expect(Number(status?.nextAt) - Date.now()).toBeLessThanOrEqual(3_600_000)
    })

    it('what the same code says again changes nothing', async () => {
      const before = await under.geneva.schedules.find('moved')
      const hourly = defineSchedule('moved', { cron: '30 * * * *', workflow: Report, catchUp: 'all' })
      const again = under.another({ workflows: [Report], schedules: [hourly] })
      expect(await again.schedules.find('moved')).toEqual(before)
    })
  })

  describe('a start that fails', () => {
    let broken = true
    const fragile = defineSchedule('fragile', {
      every: '1 day',
      workflow: Report,
      start: () => {
        if (broken) throw new Error('no connection to the shop')
        return {}
      },
    })
    const under = useGeneva(database, { workflows: [Report], schedules: [fragile, daily('other')] })

    it('keeps its tick due, is told and shown, and keeps no other schedule waiting', async () => {
      await runAfter(under, 'other', day)
      expect(await under.geneva.schedules.find('other')).toMatchObject({ started: 1 })
      expect(await under.geneva.schedules.find('fragile')).toMatchObject({
        started: 0,
        lastError: 'Error: no connection to the shop',
      })
      expect(under.errors.map(({ error }) => String(error))).toContain('Error: no connection to the shop')
      broken = false
      await waitFor(async () => {
        await under.runDue()
        return (await under.geneva.schedules.find('fragile'))?.started === 1
      })
      expect((await under.geneva.schedules.find('fragile'))?.lastError).toBeNull()
    })
  })

  describe('a start that fails in one process', () => {
    let meanwhile: () => Promise<unknown> = async () => {}
    const start = async () => {
      await meanwhile()
      throw new Error('no connection to the shop')
    }
    const under = useGeneva(database, {
      workflows: [Report],
      schedules: [defineSchedule('shared', { every: '1 day', workflow: Report, start })],
    })

    it('is not shown once another has started the tick', async () => {
      const healthy = under.another({
        workflows: [Report],
        schedules: [defineSchedule('shared', { every: '1 day', workflow: Report })],
      })
      const store = await healthy.openedStore()
      meanwhile = async () => {
        store.setClockOffset(1.5 * day)
        await healthy.runDue()
      }
      await runAfter(under, 'shared', 0.5 * day)
      expect(under.errors.map(({ error }) => String(error))).toContain('Error: no connection to the shop')
      expect(await healthy.schedules.find('shared')).toMatchObject({ started: 1, lastError: null })
    })
  })

  describe('a schedule that ticks faster than it can be registered', () => {
    const hasty = defineSchedule('hasty', { every: 1, workflow: Report, catchUp: 'all' })
    const under = useGeneva(database, { workflows: [Report], schedules: [hasty] })

    it('counts from the moment from which its first tick was counted', async () => {
      const store = await under.geneva.openedStore()
      const look = async () => (await store.schedules.list(['hasty'])).schedules[0]
      const added = await look()
      expect(added?.nextAt).toBe((added?.since ?? 0) + 1000)
      await under.geneva.schedules.pause('hasty')
      await under.geneva.schedules.resume('hasty')
      const resumed = await look()
      expect(resumed?.nextAt).toBe((resumed?.since ?? 0) + 1000)
    })
  })

  describe('workers', () => {
    const quick = defineSchedule('quick', { every: 20, workflow: Report, catchUp: 'all' })
    const under = useGeneva(database, { workflows: [Report], schedules: [quick] })

    it('several at once start every tick, and none twice', async () => {
      const others = [under.another(), under.another()]
      const workers = await Promise.all(
        [under.geneva, ...others].map(geneva => geneva.startWorker({ poll: 20, grace: 0 })),
      )
      await waitFor(async () => ((await under.geneva.schedules.find('quick'))?.started ?? 0) >= 20)
      await Promise.all(workers.map(worker => worker.stop()))
      const status = await under.geneva.schedules.find('quick')
      const page = await under.geneva.list(Report, { limit: 1000, tag: 'schedule:quick' })
      expect(page.items).toHaveLength(status?.started ?? -1)
    })
  })
})

async function startedByAll(geneva: Geneva): Promise<{ all: number; latest: number; none: number }> {
  const count = async (name: string) => (await geneva.schedules.find(name))?.started ?? 0
  return { all: await count('all'), latest: await count('latest'), none: await count('none') }
}
