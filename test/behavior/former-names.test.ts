/** A class that was renamed: what was stored under its former name still holds its place. */
import { expect, it } from 'vitest'
import { defineHero, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const Users = defineHero('User', { id: (user: { id: number }) => user.id, load: id => ({ id }) })

class Old extends Workflow<{ id: number }, { n: number }> {
  static {
    this.named('former-name')
    this.heroes(Users)
    this.step('wait', { wait: '1 day' })
  }
  async wait() {}
}

class New extends Workflow<{ id: number }, { n: number }> {
  static {
    this.named('present-name', 'former-name')
    this.heroes(Users)
    this.step('wait', { wait: '1 day' })
  }
  async wait() {}
}

class Keyed extends Workflow<null, { tenant: string }> {
  static {
    this.named('former-keyed')
    this.jobOptions({ perKey: { key: wf => wf.input.tenant, concurrency: 1 } })
    this.step('load')
    this.step('index')
  }
  async load() {}
  async index() {}
}

class Unkeyed extends Workflow<null, { tenant: string }> {
  static {
    this.named('present-unkeyed', 'former-keyed')
    this.step('load')
    this.step('index')
  }
  async load() {}
  async index() {}
}

forEachDatabase('a renamed class', database => {
  const under = useGeneva(database, { workflows: [Old, Keyed] })

  it('has one active workflow for a hero, whatever its name was when that was started', async () => {
    const renamed = under.another({ workflows: [New] })
    const before = await under.geneva.start(Old, { hero: { id: 1 }, input: { n: 1 } })
    const second = renamed.start(New, { hero: { id: 1 }, input: { n: 1 } })
    await expect(second).rejects.toMatchObject({ code: 'ALREADY_ACTIVE', workflowId: before.id })
    await before.cancel()
    expect((await renamed.start(New, { hero: { id: 1 }, input: { n: 1 } })).type).toBe('present-name')
  })

  it('finds the workflow of an idempotency key that was used under the former name', async () => {
    const renamed = under.another({ workflows: [New] })
    const before = await under.geneva.start(Old, { hero: { id: 2 }, input: { n: 1 } }, { idempotencyKey: 'once' })
    const again = await renamed.start(New, { hero: { id: 2 }, input: { n: 1 } }, { idempotencyKey: 'once' })
    expect(again.id).toBe(before.id)
    const other = renamed.start(New, { hero: { id: 2 }, input: { n: 2 } }, { idempotencyKey: 'once' })
    await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
  })

  it('finds the workflow of the same content that was started under the former name, also after its end', async () => {
    const renamed = under.another({ workflows: [New] })
    const content = { identity: 'content' } as const
    const before = await under.geneva.start(Old, { hero: { id: 3 }, input: { n: 1 } }, content)
    expect((await renamed.start(New, { hero: { id: 3 }, input: { n: 1 } }, content)).id).toBe(before.id)
    await before.cancel()
    expect((await renamed.start(New, { hero: { id: 3 }, input: { n: 1 } }, content)).id).toBe(before.id)
    const [many] = await renamed.startMany(New, [{ hero: { id: 3 }, input: { n: 1 } }], content)
    expect(many?.id).toBe(before.id)
    expect((await renamed.start(New, { hero: { id: 3 }, input: { n: 2 } }, content)).type).toBe('present-name')
  })

  it('that has no limits per key any more still runs what stands in line by its key', async () => {
    const wfs = await under.geneva.startMany(
      Keyed,
      ['a', 'a', 'b'].map(tenant => ({ input: { tenant } })),
    )
    const [first] = wfs
    await under.runDue({ maxSteps: 1 })
    const renamed = under.another({ workflows: [New, Unkeyed] })
    await renamed.runDue()
    for (const wf of wfs) expect((await wf.refresh()).state).toBe('finished')
    const again = await renamed.rerun(first?.id ?? '', { from: 'load' })
    await renamed.runDue()
    expect((await again.refresh()).state).toBe('finished')
  })
})
