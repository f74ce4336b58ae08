/** One active workflow for a hero and one active execution for a workflow: promised by the engine, enforced by the database. */
import { expect, it } from 'vitest'
import { defineHero, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'

interface Customer {
  readonly id: string
}

const Customers = defineHero('Customer', {
  id: (customer: Customer) => customer.id,
  load: (id): Customer => ({ id }),
})
const Suppliers = defineHero('Supplier', { id: (customer: Customer) => customer.id, load: (id): Customer => ({ id }) })

class Onboarding extends Workflow<Customer> {
  static {
    this.heroes(Customers)
    this.step('wait', { wait: '1 day' })
  }
  wait() {}
}

class Survey extends Workflow<Customer> {
  static {
    this.heroes(Customers)
    this.step('ask', { wait: '1 day' })
  }
  ask() {}
}

class Audit extends Workflow<Customer> {
  static {
    this.heroes(Suppliers)
    this.named('Onboarding of suppliers')
    this.step('ask', { wait: '1 day' })
  }
  ask() {}
}

class Newsletter extends Workflow<Customer> {
  static {
    this.heroes(Customers)
    this.allowMultiple()
    this.step('send', { wait: '1 day' })
  }
  send() {}
}

const workflows = [Onboarding, Survey, Audit, Newsletter]

forEachDatabase('uniqueness', database => {
  const under = useGeneva(database, { workflows })

  it('refuses a second active workflow of a class for one hero, and names the first', async () => {
    const wf = await under.geneva.start(Onboarding, { hero: { id: 'ann' } })
    const again = under.geneva.start(Onboarding, { hero: { id: 'ann' } })
    await expect(again).rejects.toMatchObject({ code: 'ALREADY_ACTIVE', workflowId: wf.id })
    await expect(again).rejects.toThrow(`Onboarding is already active for Customer ann as workflow ${wf.id}.`)
  })

  it('counts a paused workflow as active', async () => {
    const wf = await under.geneva.start(Onboarding, { hero: { id: 'paul' } })
    await wf.pause()
    await expect(under.geneva.start(Onboarding, { hero: { id: 'paul' } })).rejects.toMatchObject({ workflowId: wf.id })
  })

  it('allows a new one once the first has ended, however often', async () => {
    const ids = new Set<string>()
    for (let round = 0; round < 3; round++) {
      const wf = await under.geneva.start(Onboarding, { hero: { id: 'bob' } })
      ids.add(wf.id)
      await (round === 1 ? wf.skip('wait') : wf.cancel())
    }
    expect(ids.size).toBe(3)
  })

  it('is for each class on its own', async () => {
    await under.geneva.start(Onboarding, { hero: { id: 'eve' } })
    await under.geneva.start(Survey, { hero: { id: 'eve' } })
    await under.geneva.start(Audit, { hero: { id: 'eve' } })
    await expect(under.geneva.start(Survey, { hero: { id: 'eve' } })).rejects.toMatchObject({ code: 'ALREADY_ACTIVE' })
  })

  it('does not bind a class that allows several', async () => {
    const first = await under.geneva.start(Newsletter, { hero: { id: 'ann' } })
    const second = await under.geneva.start(Newsletter, { hero: { id: 'ann' } })
    expect(first.id).not.toBe(second.id)
  })

  it('does not bind a workflow that is started with allowMultiple, and is kept among the others', async () => {
    const hero = { id: 'several' }
    const start = (options = {}) => under.geneva.start(Onboarding, { hero }, options)
    const beside = await start({ allowMultiple: true })
    const first = await start()
    const another = await start({ allowMultiple: true })
    expect(new Set([beside.id, first.id, another.id]).size).toBe(3)
    await expect(start()).rejects.toMatchObject({ code: 'ALREADY_ACTIVE', workflowId: first.id })
    await first.cancel()
    const second = await start({ allowMultiple: false })
    await expect(start({ allowMultiple: false })).rejects.toMatchObject({ workflowId: second.id })
    expect((await under.geneva.list(Onboarding, { hero, state: 'active' })).items).toHaveLength(3)
    await expect(start({ allowMultiple: 'yes' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('binds those of a class that allows several which are started without that', async () => {
    const hero = { id: 'the one' }
    await under.geneva.start(Newsletter, { hero })
    const one = await under.geneva.start(Newsletter, { hero }, { allowMultiple: false })
    await under.geneva.start(Newsletter, { hero })
    const refused = under.geneva.start(Newsletter, { hero }, { allowMultiple: false })
    await expect(refused).rejects.toMatchObject({ code: 'ALREADY_ACTIVE', workflowId: one.id })
  })

  it('is said for all that one call starts, and by the name of the class', async () => {
    const hero = { id: 'many' }
    const holder = await under.geneva.start(Onboarding, { hero })
    const many = await under.geneva.startMany(Onboarding, [{ hero }, { hero }], { allowMultiple: true })
    expect(many).toHaveLength(2)
    const what = { hero: { type: 'Customer', id: 'many' } }
    const named = await under.geneva.startByName('Onboarding', what, { allowMultiple: true })
    expect(named.state).toBe('ready')
    await expect(under.geneva.startByName('Onboarding', what)).rejects.toMatchObject({ workflowId: holder.id })
  })

  it('tells heroes apart byte by byte', async () => {
    const ids = ['a', 'a ', 'A', 'ä', 'a\u0308', ' a', 'a\t', 'ａ', 'ß', 'ss', '1', '01', '1.0', 'İ', 'i']
    const started = await Promise.all(ids.map(id => under.geneva.start(Survey, { hero: { id } })))
    expect(new Set(started.map(wf => wf.id)).size).toBe(ids.length)
    for (const [index, id] of ids.entries()) {
      expect((await under.geneva.find(Survey, { hero: { id } }))?.id).toBe(started[index]?.id)
      expect((await under.geneva.list(Survey, { hero: { id } })).items).toHaveLength(1)
    }
  })

  it('holds when many start at once, from two processes', async () => {
    const other = under.another({ workflows })
    await other.migrate()
    for (const hero of [{ id: 'race 1' }, { id: 'race 2' }, { id: 'race 3' }]) {
      const attempts = Array.from({ length: 10 }, (_, index) =>
        (index % 2 ? other : under.geneva).start(Onboarding, { hero }),
      )
      const results = await Promise.allSettled(attempts)
      const won = results.filter(result => result.status === 'fulfilled')
      expect(won).toHaveLength(1)
      for (const result of results) {
        if (result.status === 'rejected')
          expect(result.reason).toMatchObject({ code: 'ALREADY_ACTIVE', workflowId: won[0]?.value.id })
      }
    }
  })

  it('of active workflows is kept by the database itself', async () => {
    const { id } = await under.geneva.start(Onboarding, { hero: { id: 'direct' } })
    const connection = await connectPlainly(database.name, under.url)
    const copy = (newId: number, state: string, multiple: number) =>
      connection.query(`insert into geneva_drive_workflows
        (id, type, hero_type, hero_id, hero_id_kind, state, allow_multiple, generation, finishing, crooked, open_letters, watched, lane, created_at)
        select ${newId}, type, hero_type, hero_id, hero_id_kind, '${state}', ${multiple}, generation, 0, 0, 0, 0, lane, created_at
        from geneva_drive_workflows where id = ${id}`)
    for (const state of ['ready', 'paused', 'rolling_back', 'dlq']) {
      await expect(copy(900_000_001, state, 0)).rejects.toThrow(/unique|duplicate/i)
    }
    await copy(900_000_002, 'finished', 0)
    await copy(900_000_003, 'canceled', 0)
    await copy(900_000_004, 'ready', 1)
    await connection.close()
  })

  it('of the active execution is kept by the database itself', async () => {
    const { id } = await under.geneva.start(Onboarding, { hero: { id: 'single' } })
    const connection = await connectPlainly(database.name, under.url)
    const columns = `slot, node, kind, attempt, ordinal, state, queue, handler, lane, generation, priority, created_at, due_at,
      fence, failures, crashes, start_mark, completed_iterations, runs, ancestry_hash, parents`
    const second = connection.query(`insert into geneva_drive_active_executions (workflow_id, id, ${columns})
      select workflow_id, 900000009, ${columns} from geneva_drive_active_executions where workflow_id = ${id}`)
    await expect(second).rejects.toThrow(/unique|duplicate/i)
    await connection.close()
  })

  it('of attempts is kept by the database itself', async () => {
    const wf = await under.geneva.start(Onboarding, { hero: { id: 'attempts' } })
    await wf.cancel()
    const connection = await connectPlainly(database.name, under.url)
    const columns = `workflow_id, node, kind, attempt, ordinal, state, outcome, created_at, due_at, ended_at,
      completed_iterations, runs, ancestry_hash, parents`
    const second = connection.query(`insert into geneva_drive_step_executions (id, ${columns})
      select 900000010, ${columns} from geneva_drive_step_executions where workflow_id = ${wf.id}`)
    await expect(second).rejects.toThrow(/unique|duplicate/i)
    await connection.close()
  })
})
