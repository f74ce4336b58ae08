/** Starting: one, many together, none at all, and classes that have nothing to do. */
import { expect, it, vi } from 'vitest'
import { z } from 'zod'
import { defineHero, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly, countRows } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'

const Users = defineHero('User', { id: (user: { id: number }) => user.id, load: id => ({ id }) })
const Order = z.object({ coupon: z.string().max(8).optional(), gift: z.boolean().default(false) })

class Mailing extends Workflow<{ id: number }, { text?: string }> {
  static {
    this.heroes(Users)
    this.step('send')
  }
  send() {
    return this.hero.id
  }
}

class Nothing extends Workflow {}

class Checked extends Workflow<null, typeof Order> {
  static {
    this.input(Order)
    this.step('only')
  }
  only() {
    return this.input.gift
  }
}

class Unregistered extends Workflow {
  static {
    this.step('only')
  }
  only() {}
}

forEachDatabase('a start', database => {
  const under = useGeneva(database, { workflows: [Mailing, Nothing, Checked] })

  async function rows(): Promise<Record<string, number>> {
    const connection = await connectPlainly(database.name, under.url)
    const counts = await countRows(connection)
    await connection.close()
    return counts
  }

  it('writes the workflow, its first step and an event of each, and runs nothing by itself', async () => {
    const before = await rows()
    const wf = await under.geneva.start(Mailing, { hero: { id: 1 } })
    expect(wf).toMatchObject({ state: 'ready', type: 'Mailing', hero: { type: 'User', id: 1 } })
    expect(await rows()).toEqual({
      ...before,
      workflows: (before.workflows ?? 0) + 1,
      active_executions: (before.active_executions ?? 0) + 1,
      events: (before.events ?? 0) + 2,
    })
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'send', state: 'scheduled', startedAt: null }])
  })

  it('of a class without steps is finished at once', async () => {
    const wf = await under.geneva.start(Nothing)
    expect(wf.state).toBe('finished')
    expect(wf.finishedAt).toBeInstanceOf(Date)
    expect(await wf.history()).toEqual([])
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toBeUndefined()
    expect(await wf.events()).toMatchObject([{ type: 'workflow.started', to: 'finished' }])
  })

  it('of many is one transaction, in the order that was given', async () => {
    const wfs = await under.geneva.startMany(
      Mailing,
      Array.from({ length: 120 }, (_, index) => ({ hero: { id: 100 + index }, input: { text: `to ${index}` } })),
      { tags: ['mailing'] },
    )
    expect(wfs.map(wf => wf.hero?.id)).toEqual(Array.from({ length: 120 }, (_, index) => 100 + index))
    expect(new Set(wfs.map(wf => wf.id)).size).toBe(120)
    expect(await wfs[7]?.input()).toEqual({ text: 'to 7' })
    expect(await wfs[119]?.tags()).toEqual(['mailing'])
    await under.runDue()
    expect((await under.geneva.list(Mailing, { tag: 'mailing', state: 'finished', limit: 1000 })).items).toHaveLength(
      120,
    )
  })

  it('of many with one conflict starts none', async () => {
    const active = await under.geneva.start(Mailing, { hero: { id: 502 } }, { delay: '1 day' })
    const before = await rows()
    const heroes = [500, 501, 502, 503].map(id => ({ hero: { id } }))
    const many = under.geneva.startMany(Mailing, heroes, { tags: ['x'] })
    await expect(many).rejects.toMatchObject({ code: 'ALREADY_ACTIVE', workflowId: active.id })
    const twice = under.geneva.startMany(Mailing, [{ hero: { id: 600 } }, { hero: { id: 600 } }])
    await expect(twice).rejects.toMatchObject({ code: 'ALREADY_ACTIVE' })
    const wrong = under.geneva.startMany(Mailing, [{ hero: { id: 700 } }, { hero: { id: Number.NaN } }])
    await expect(wrong).rejects.toMatchObject({ code: 'HERO_TYPE' })
    expect(await rows()).toEqual(before)
  })

  it('of many that are none does nothing', async () => {
    const before = await rows()
    expect(await under.geneva.startMany(Mailing, [])).toEqual([])
    expect(await rows()).toEqual(before)
  })

  it.each([null, undefined, {}, 'abc', 7])('of many that are %o is refused', async whats => {
    await expect(under.geneva.startMany(Mailing, whats as [])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('is written together with others that are asked for at the same time', async () => {
    const store = await under.geneva.openedStore()
    const start = vi.spyOn(store, 'start')
    const heroes = Array.from({ length: 40 }, (_, index) => ({ hero: { id: 2000 + index } }))
    const [wfs, conflict] = await Promise.all([
      Promise.all(heroes.map(what => under.geneva.start(Mailing, what))),
      under.geneva.start(Mailing, { hero: { id: 502 } }).catch(error => error),
    ])
    expect(start.mock.calls.length).toBeLessThan(10)
    expect(start.mock.calls.flatMap(([orders]) => orders)).toHaveLength(41)
    start.mockRestore()
    expect(wfs.map(wf => wf.hero?.id)).toEqual(heroes.map(what => what.hero.id))
    expect(conflict).toMatchObject({ code: 'ALREADY_ACTIVE' })
  })

  it('checks the input by its schema, which may fill it in', async () => {
    const before = await rows()
    const refused = under.geneva.start(Checked, { input: { coupon: 'far too long' } })
    await expect(refused).rejects.toMatchObject({ code: 'INPUT_INVALID', issues: [{ path: 'coupon' }] })
    expect(await rows()).toEqual(before)
    const wf = await under.geneva.start(Checked, { input: { coupon: 'X' } })
    expect(await wf.input()).toEqual({ coupon: 'X', gift: false })
    const bare = await under.geneva.start(Checked)
    expect(await bare.input()).toEqual({ gift: false })
  })

  it('of a class that was not registered is refused', async () => {
    await expect(under.geneva.start(Unregistered)).rejects.toMatchObject({ code: 'UNKNOWN_WORKFLOW' })
    await expect(under.geneva.list(Unregistered)).rejects.toMatchObject({ code: 'UNKNOWN_WORKFLOW' })
    await expect(under.geneva.find(Unregistered, '1')).rejects.toMatchObject({ code: 'UNKNOWN_WORKFLOW' })
  })
})
