/** Starting twice with one key: the same workflow for the same request, and a conflict for another. */
import { expect, it } from 'vitest'
import { defineHero, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly, countRows } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'

const Orders = defineHero('Order', { id: (order: { id: number }) => order.id, load: id => ({ id }) })

class Invoice extends Workflow<{ id: number }, { currency: string; lines?: readonly number[]; due?: Date }> {
  static {
    this.heroes(Orders)
    this.allowMultiple()
    this.step('send', { wait: '1 hour' })
  }
  send() {}
}

class Strict extends Workflow<{ id: number }, { note?: string }> {
  static {
    this.heroes(Orders)
    this.step('send', { wait: '1 hour' })
  }
  send() {}
}

class Nothing extends Workflow {}

forEachDatabase('a start with an idempotency key', database => {
  const under = useGeneva(database, { workflows: [Invoice, Strict, Nothing] })
  const hero = { id: 1 }

  it('returns the workflow that exists when hero and input are the same', async () => {
    const due = new Date(86_400_000)
    const input = { currency: 'EUR', lines: [1, 2], due }
    const first = await under.geneva.start(Invoice, { hero, input }, { idempotencyKey: 'k1', tags: ['first'] })
    const reordered = { due: new Date(86_400_000), lines: [1, 2], currency: 'EUR' }
    const again = await under.geneva.start(
      Invoice,
      { hero: Orders.ref(1), input: reordered },
      { idempotencyKey: 'k1', tags: ['second'], delay: '1 day' },
    )
    expect(again.id).toBe(first.id)
    expect(await again.tags()).toEqual(['first'])
    expect(await again.history()).toHaveLength(1)
  })

  it('is a conflict when the input is another, or the hero', async () => {
    const first = await under.geneva.start(Invoice, { hero, input: { currency: 'EUR' } }, { idempotencyKey: 'k2' })
    for (const what of [
      { hero, input: { currency: 'USD' } },
      { hero, input: { currency: 'EUR', lines: [] } },
      { hero: { id: 2 }, input: { currency: 'EUR' } },
    ]) {
      const again = under.geneva.start(Invoice, what, { idempotencyKey: 'k2' })
      await expect(again).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT', workflowId: first.id })
    }
  })

  it('returns the workflow also after it has ended', async () => {
    const first = await under.geneva.start(Strict, { hero: { id: 9 } }, { idempotencyKey: 'ended' })
    await first.cancel()
    const again = await under.geneva.start(Strict, { hero: { id: 9 } }, { idempotencyKey: 'ended' })
    expect(again.id).toBe(first.id)
    expect(again.state).toBe('canceled')
  })

  it('asks for its own workflow before it asks who is active', async () => {
    const first = await under.geneva.start(Strict, { hero }, { idempotencyKey: 'mine' })
    expect((await under.geneva.start(Strict, { hero }, { idempotencyKey: 'mine' })).id).toBe(first.id)
    const other = under.geneva.start(Strict, { hero }, { idempotencyKey: 'other' })
    await expect(other).rejects.toMatchObject({ code: 'ALREADY_ACTIVE', workflowId: first.id })
  })

  it('is for each class on its own, and tells keys apart byte by byte', async () => {
    const keys = ['key', 'Key', 'key ', 'këy', '🔑']
    const started = await Promise.all(
      keys.map(idempotencyKey =>
        under.geneva.start(Invoice, { hero, input: { currency: idempotencyKey } }, { idempotencyKey }),
      ),
    )
    started.push((await under.geneva.start(Nothing, {}, { idempotencyKey: 'key' })) as never)
    expect(new Set(started.map(wf => wf.id)).size).toBe(6)
  })

  it('is made from type, hero and input with identity content', async () => {
    const start = (id: number, note?: string) =>
      under.geneva.start(
        Invoice,
        { hero: { id }, input: { currency: 'EUR', ...(note ? { lines: [note.length] } : {}) } },
        { identity: 'content' },
      )
    const first = await start(20)
    expect((await start(20)).id).toBe(first.id)
    expect((await start(21)).id).not.toBe(first.id)
    expect((await start(20, 'other')).id).not.toBe(first.id)
  })

  it('starts one workflow when twenty ask at once, from two processes', async () => {
    const other = under.another({ workflows: [Invoice, Strict, Nothing] })
    await other.migrate()
    const connection = await connectPlainly(database.name, under.url)
    const before = await countRows(connection)
    const handles = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? other : under.geneva).start(
          Invoice,
          { hero, input: { currency: 'EUR' } },
          { idempotencyKey: 'storm', tags: ['storm'] },
        ),
      ),
    )
    expect(new Set(handles.map(wf => wf.id)).size).toBe(1)
    const after = await countRows(connection)
    const grown = Object.fromEntries(
      Object.keys(after).map(table => [table, (after[table] ?? 0) - (before[table] ?? 0)]),
    )
    expect(grown).toEqual({ workflows: 1, active_executions: 1, step_executions: 0, events: 2, tags: 1 })
    await connection.close()
  })

  it('holds for many keys that are asked for from both ends at once', async () => {
    const heroes = Array.from({ length: 200 }, (_, index) => ({ id: 5000 + index }))
    const started = await Promise.all(
      [...heroes, ...heroes.toReversed()].map(one =>
        under.geneva.start(Invoice, { hero: one, input: { currency: 'EUR' } }, { idempotencyKey: `both-${one.id}` }),
      ),
    )
    const ids = started.map(({ id }) => id)
    expect(new Set(ids).size).toBe(200)
    expect(ids.slice(200)).toEqual(ids.slice(0, 200).toReversed())
  })

  it.each([
    { idempotencyKey: '' },
    { idempotencyKey: 'x'.repeat(192) },
    { idempotencyKey: 'a\0b' },
    { idempotencyKey: 'a\udc00' },
    { idempotencyKey: 7 },
    { identity: 'hero' },
    { idempotencyKey: 'a', identity: 'content' },
  ])('is refused: %o', async options => {
    const start = under.geneva.start(Invoice, { hero, input: { currency: 'EUR' } }, options as object)
    await expect(start).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})
