/** Finding workflows again: by id, hero, state, step and tag, a page at a time, and what can be asked of one. */
import { expect, it } from 'vitest'
import { defineHero, defineJob, type StateFilter, Workflow, type WorkflowPage } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
const Users = defineHero('User', { id: (user: { id: string }) => user.id, load: id => ({ id }) })

class Journey extends Workflow<{ id: string }, { gate?: string; fails?: boolean }> {
  static {
    this.heroes(Users)
    this.step('depart')
    this.step('arrive', { wait: '1 day' })
    this.step('unpack')
  }
  async depart() {
    if (this.input.fails && this.execution.attempt === 1) throw new Error('missed the train')
    if (this.input.gate) await gates.stop(this.input.gate, this.signal)
    return 'departed'
  }
  arrive() {}
  unpack() {}
}

class Errand extends Workflow<null, { what: unknown }> {
  static {
    this.step('run', { wait: '1 day' })
  }
  run() {}
}

class Stroll extends Workflow<{ id: string }> {
  static {
    this.heroes(Users)
    this.step('walk', { wait: '1 day' })
  }
  walk() {}
}

const greet = defineJob('greet', async () => {})

const wrongIds = [
  '999999999',
  'x',
  '',
  '-1',
  '0',
  '01',
  '1.5',
  '1e3',
  ' 1',
  '1; drop table geneva_drive_workflows',
  "' or 1=1 --",
  '9223372036854775808',
  '9'.repeat(300),
  'a\0b',
  '0190f5fe-7c00-7a00-8000-0123456789ab',
]

forEachDatabase('a query', database => {
  const under = useGeneva(database, { workflows: [Journey, Errand, Stroll], jobs: [greet], worker: true })
  const gate = `${database.name} queries`

  async function ids(filter: object): Promise<string[]> {
    return (await under.geneva.list(Journey, filter)).items.map(wf => wf.id)
  }

  it('by state finds each workflow in its state', async () => {
    const start = (id: string, input: object = {}) => under.geneva.start(Journey, { hero: { id }, input })
    const ready = await start('ready')
    const performing = await start('performing', { gate })
    const paused = await start('paused', { fails: true })
    const finished = await start('finished')
    const canceled = await start('canceled')
    const rolling = await start('rolling', { gate: `${gate} rolling` })
    await Promise.all([gates.arrived(gate), gates.arrived(`${gate} rolling`)])
    for (const wf of [ready, finished, canceled]) {
      await waitFor(async () => (await wf.currentExecutions())[0]?.step === 'arrive')
    }
    await waitFor(async () => (await paused.refresh()).state === 'paused')
    await finished.skip('arrive')
    await finished.waitUntilFinished({ timeout: '10s' })
    await canceled.cancel()
    await rolling.cancel()

    const by: Record<string, readonly [StateFilter | StateFilter[], string[]]> = {
      ready: ['ready', [ready.id]],
      performing: ['performing', [performing.id]],
      paused: ['paused', [paused.id]],
      rolling_back: ['rolling_back', [rolling.id]],
      finished: ['finished', [finished.id]],
      canceled: ['canceled', [canceled.id]],
      active: ['active', [rolling.id, paused.id, performing.id, ready.id]],
      several: [
        ['paused', 'finished'],
        [finished.id, paused.id],
      ],
      mixed: [
        ['ready', 'performing'],
        [performing.id, ready.id],
      ],
      none: [[], []],
    }
    for (const [state, expected] of Object.values(by)) {
      expect((await ids({ state })).toSorted()).toEqual(expected.toSorted())
    }
    expect(await ids({})).toHaveLength(6)
    expect((await under.geneva.find(performing.id))?.state).toBe('performing')
  })

  it('by step finds what stands there, also after a failure', async () => {
    const standing = async (at: 'depart' | 'arrive' | 'unpack') => {
      const page = await under.geneva.list(Journey, { at })
      return page.items.map(wf => wf.hero?.id).toSorted()
    }
    expect(await standing('depart')).toEqual(['paused', 'performing', 'rolling'])
    expect(await standing('arrive')).toEqual(['ready'])
    expect(await standing('unpack')).toEqual([])
    gates.open(gate)
    gates.open(`${gate} rolling`)
    await waitFor(async () => (await standing('arrive')).length === 2)
  })

  it('by hero finds its workflow: the active one, else the one that was started last', async () => {
    const hero = { id: 'traveller' }
    expect(await under.geneva.find(Journey, { hero })).toBeNull()
    const store = await under.geneva.openedStore()
    const elsewhere = under.another()
    // Each instance has its own block of ids, so the highest id is not always the latest.
    for (const geneva of [elsewhere, under.geneva, elsewhere]) {
      const wf = await geneva.start(Journey, { hero }, { delay: '1 day' })
      await wf.cancel()
      expect((await under.geneva.find(Journey, { hero: Users.ref('traveller') }))?.id).toBe(wf.id)
      await waitFor(async () => (await store.now()) / 1000 > wf.createdAt.getTime() + 1)
    }
    const active = await under.geneva.start(Journey, { hero }, { delay: '1 day' })
    expect((await under.geneva.find(Journey, { hero }))?.id).toBe(active.id)
    expect(await ids({ hero })).toHaveLength(4)
    expect(await ids({ hero, state: 'active' })).toEqual([active.id])
  })

  it('for a hero that was not given never finds the workflow of another', async () => {
    const missing = { hero: undefined } as unknown as { hero: { id: string } }
    await expect(under.geneva.find(Journey, missing)).rejects.toMatchObject({ code: 'HERO_TYPE' })
    await expect(under.geneva.find(Journey, {} as typeof missing)).rejects.toMatchObject({ code: 'HERO_TYPE' })
    await expect(under.geneva.list({ hero: { id: 'x' } } as object)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('by the reference of a hero finds its workflows, of whatever class and of graphs without one', async () => {
    const hero = Users.ref('everything')
    const journey = await under.geneva.start(Journey, { hero }, { delay: '1 day' })
    const stroll = await under.geneva.start(Stroll, { hero: { id: 'everything' } })
    await stroll.cancel()
    const graph = under.geneva.build(w => w.node('greet', { job: greet, args: {}, wait: '1 day' }))
    const built = await under.geneva.startGraph(graph, { hero })
    await under.geneva.start(Journey, { hero: { id: 'somebody else' } }, { delay: '1 day' })
    const found = async (filter: object) => (await under.geneva.list({ hero, ...filter })).items.map(wf => wf.id)
    expect(await found({})).toEqual([built.id, stroll.id, journey.id].toSorted((a, b) => Number(b) - Number(a)))
    expect(await found({ state: 'active' })).not.toContain(stroll.id)
    expect(await found({ state: 'canceled' })).toEqual([stroll.id])
    expect(await found({ at: 'greet' })).toEqual([built.id])
    expect((await under.geneva.list({ hero, limit: 1 })).nextCursor).not.toBeNull()
    const all: string[] = []
    for await (const wf of await under.geneva.list({ hero, limit: 1 })) all.push(wf.id)
    expect(all).toHaveLength(3)
    expect((await under.geneva.find({ hero }))?.id).toBe(built.id)
    await built.cancel()
    expect((await under.geneva.find({ hero }))?.id).toBe(journey.id)
    expect(await under.geneva.find({ hero: Users.ref('nobody') })).toBeNull()
  })

  it.each([[{ id: 'x' }], [null], ['User:x'], [{ heroType: 'User', id: 'x' }]])(
    'by the hero %o without a class is refused: nobody can tell its type',
    async hero => {
      for (const look of [under.geneva.list({ hero } as object), under.geneva.find({ hero } as never)])
        await expect(look).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: /by reference, like Orders\.ref/,
        })
    },
  )

  it('by id finds the workflow, of the class that was asked for', async () => {
    const wf = await under.geneva.start(Errand, { input: { what: 'milk' } })
    expect((await under.geneva.find(wf.id))?.type).toBe('Errand')
    expect((await under.geneva.find(Errand, wf.id))?.id).toBe(wf.id)
    expect(await under.geneva.find(Journey, wf.id)).toBeNull()
  })

  it.each(wrongIds)('by the wrong id %j finds nothing and breaks nothing', async id => {
    expect(await under.geneva.find(id)).toBeNull()
    expect(await under.geneva.find(Errand, id)).toBeNull()
  })

  it('by tag finds what was started with it', async () => {
    const tags = ['vip', 'émile', '🎁', 'vip']
    const wf = await under.geneva.start(Errand, { input: { what: 1 } }, { tags })
    await under.geneva.start(Errand, { input: { what: 2 } }, { tags: ['VIP'] })
    expect((await wf.tags()).toSorted()).toEqual(['vip', 'émile', '🎁'].toSorted())
    for (const tag of ['vip', 'émile', '🎁']) {
      expect((await under.geneva.list(Errand, { tag })).items.map(item => item.id)).toEqual([wf.id])
    }
    expect((await under.geneva.list({ tag: 'nobody' })).items).toEqual([])
  })

  it('goes through all pages, newest first, by cursor and by iteration', async () => {
    const whats = Array.from({ length: 25 }, (_, index) => ({ input: { what: index } }))
    const started = await under.geneva.startMany(Errand, whats, { tags: ['pages'] })
    const newestFirst = started.map(wf => wf.id).toReversed()
    const pages: string[][] = []
    let cursor: string | null = null
    do {
      const page: WorkflowPage<Errand> = await under.geneva.list(Errand, {
        tag: 'pages',
        limit: 10,
        ...(cursor ? { cursor } : {}),
      })
      pages.push(page.items.map(wf => wf.id))
      cursor = page.nextCursor
    } while (cursor !== null)
    expect(pages.map(page => page.length)).toEqual([10, 10, 5])
    expect(pages.flat()).toEqual(newestFirst)
    const iterated: string[] = []
    for await (const wf of await under.geneva.list({ tag: 'pages', limit: 7 })) iterated.push(wf.id)
    expect(iterated).toEqual(newestFirst)
    expect((await under.geneva.list({ tag: 'pages', limit: 25 })).nextCursor).toBeNull()
  })

  it.each([
    { limit: 0 },
    { limit: 1001 },
    { limit: 2.5 },
    { limit: '10' },
    { cursor: 'x' },
    { cursor: '1 or 1=1' },
    { state: 'done' },
    { state: ['ready', 'nonsense'] },
    { tag: '' },
    { tag: 'a\0b' },
    { tag: 7 },
    { at: 'a\0b' },
    { at: '' },
  ])('with the filter %o is refused', async filter => {
    await expect(under.geneva.list(Errand, filter as object)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('of one workflow tells its position, its input and its history in order', async () => {
    const wf = await under.geneva.start(Journey, { hero: { id: 'told' } })
    await waitFor(async () => (await wf.currentExecutions())[0]?.step === 'arrive')
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'arrive', state: 'scheduled', attempt: 1 }])
    expect(await wf.nextNode()).toBe('unpack')
    await wf.skip('arrive')
    await wf.waitUntilFinished({ timeout: '10s' })
    expect((await wf.history()).map(execution => execution.step)).toEqual(['depart', 'arrive', 'unpack'])
    expect(await wf.currentExecutions()).toEqual([])
    expect(await wf.nextNode()).toBeNull()
    expect(await wf.output('depart')).toBe('departed')
    expect(await wf.output('arrive')).toBeUndefined()
    expect(await wf.output('nonsense' as 'arrive')).toBeUndefined()
    await expect(wf.output('a\0b' as 'arrive')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('of the input returns it as it was given', async () => {
    const what = {
      at: new Date(0),
      big: 2n ** 80n,
      bytes: new Uint8Array([0, 255]),
      text: 'naïve 🚂 \u0000',
      list: [null, -0],
    }
    const wf = await under.geneva.start(Errand, { input: { what } })
    expect(await wf.input()).toEqual({ what })
    expect(await (await under.geneva.find(Errand, wf.id))?.input()).toEqual({ what })
    expect(await (await under.geneva.start(Journey, { hero: { id: 'no input' } })).input()).toEqual({})
  })
})
