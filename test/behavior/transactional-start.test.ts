/** A workflow started inside the application's own transaction, through every library that can be borrowed from. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineHero, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { borrowHandle } from '../../src/store/sql/handles/borrow-handle.ts'
import { raw } from '../../src/store/sql/sql.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly, countRows, type PlainConnection } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { type Application, notesTable } from './transactional-start/application.ts'
import { libraries } from './transactional-start/libraries.ts'

interface Order {
  readonly id: string
}

const Orders = defineHero('Order', { id: (order: Order) => order.id, load: id => ({ id: String(id) }) })

/** A text, because a driver that reads JSON by itself hands out texts and parsed texts alike. */
const Wrapping = z.string()

class Parcel extends Workflow<Order, typeof Wrapping> {
  static {
    this.heroes(Orders)
    this.input(Wrapping)
    this.step('pack')
  }
  async pack() {
    return `packed ${this.hero.id} with ${this.input}`
  }
}

/** Everything that some library takes for a placeholder, an escape or the end of a list. */
const oddText = `"it's" {a,b}, \\ \\? ?? $1 :name :: 100% é 🎁`

forEachDatabase('a start in a transaction of the application', database => {
  const under = useGeneva(database, { workflows: [Parcel] })
  let plain: PlainConnection
  let made = 0

  const newOrder = (): Order => ({ id: `${++made} ${oddText}` })
  const notes = async () => (await plain.query('select note from application_notes')).map(row => row.note)
  const clearNotes = () => plain.query('delete from application_notes')

  beforeAll(async () => {
    plain = await connectPlainly(database.name, under.url)
    await plain.query(notesTable)
  })
  afterAll(() => plain.close())

  describe.each(Object.entries(libraries[database.name]))('through %s', (_name, open) => {
    let application: Application

    beforeAll(async () => {
      await clearNotes()
      application = await open(under.url)
    })
    afterAll(() => application.close())

    it('exists when the transaction is committed, and runs to its end', async () => {
      const order = newOrder()
      const wf = await application.transaction(async transaction => {
        await application.note(transaction, 'ordered')
        const started = await under.geneva.start(
          Parcel,
          { hero: order, input: oddText },
          { transaction, tags: ['new', oddText] },
        )
        expect(await under.geneva.find(started.id)).toBeNull()
        return started
      })
      expect(await notes()).toEqual(['ordered'])
      expect((await under.geneva.find(wf.id))?.state).toBe('ready')
      await under.runDue()
      expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe(`packed ${order.id} with ${oddText}`)
      expect(await wf.tags()).toEqual(expect.arrayContaining(['new', oddText]))
    })

    it('leaves nothing behind when the transaction is rolled back', async () => {
      await clearNotes()
      const before = await countRows(plain)
      const rolledBack = application.transaction(async transaction => {
        await application.note(transaction, 'ordered')
        await under.geneva.start(Parcel, { hero: newOrder(), input: 'ribbon' }, { transaction, tags: ['gone'] })
        throw new Error('Out of stock.')
      })
      await expect(rolledBack).rejects.toThrow('Out of stock.')
      expect(await countRows(plain)).toEqual(before)
      expect(await notes()).toEqual([])
    })

    it('tells who is active for the hero already, and leaves the transaction usable', async () => {
      await clearNotes()
      const hero = newOrder()
      const winner = await under.geneva.start(Parcel, { hero, input: 'first' })
      const before = await countRows(plain)
      await application.transaction(async transaction => {
        await application.note(transaction, 'before')
        await expect(under.geneva.start(Parcel, { hero, input: 'second' }, { transaction })).rejects.toMatchObject({
          code: 'ALREADY_ACTIVE',
          workflowId: winner.id,
        })
        await application.note(transaction, 'after')
      })
      expect(await countRows(plain)).toEqual(before)
      expect((await notes()).sort()).toEqual(['after', 'before'])
    })

    it('finds the workflow of a repeated idempotency key, and refuses the key for another input', async () => {
      const hero = newOrder()
      const idempotencyKey = hero.id
      const start = (input: string, transaction?: object): Promise<WorkflowHandle<Parcel>> =>
        under.geneva.start(Parcel, { hero, input }, { idempotencyKey, ...(transaction && { transaction }) })
      const first = await start(oddText)
      await application.transaction(async transaction => {
        expect((await start(oddText, transaction)).id).toBe(first.id)
        await expect(start('other', transaction)).rejects.toMatchObject({
          code: 'IDEMPOTENCY_CONFLICT',
          workflowId: first.id,
        })
        const another = { hero: newOrder(), input: oddText }
        const options = { transaction, idempotencyKey: another.hero.id }
        const second = await under.geneva.start(Parcel, another, options)
        expect((await under.geneva.start(Parcel, another, options)).id).toBe(second.id)
      })
    })

    it('starts many or none, and keeps what the transaction did before', async () => {
      await clearNotes()
      const taken = newOrder()
      const winner = await under.geneva.start(Parcel, { hero: taken, input: 'first' })
      const before = await countRows(plain)
      const free = [newOrder(), newOrder()].map(hero => ({ hero, input: 'many' }))
      const started = await application.transaction(async transaction => {
        await application.note(transaction, 'kept')
        const many = [...free, { hero: taken, input: 'many' }]
        await expect(under.geneva.startMany(Parcel, many, { transaction })).rejects.toMatchObject({
          code: 'ALREADY_ACTIVE',
          workflowId: winner.id,
        })
        expect(await countRows(plain)).toEqual(before)
        return under.geneva.startMany(Parcel, free, { transaction })
      })
      expect(await notes()).toEqual(['kept'])
      expect(await countRows(plain)).toMatchObject({ workflows: (before.workflows ?? 0) + 2 })
      await under.runDue()
      const outputs = await Promise.all(started.map(wf => wf.waitUntilFinished({ timeout: '10s' })))
      expect(outputs).toEqual(free.map(({ hero }) => `packed ${hero.id} with many`))
    })

    it('runs on a handle that counts the rows it touches', async () => {
      await clearNotes()
      const placeholder = () => '?'
      await application.transaction(async transaction => {
        const executor = borrowHandle(transaction, { kind: database.name, placeholder })
        expect(await executor.run(raw(`insert into application_notes (note) values ('one'), ('two')`))).toBe(2)
        expect(await executor.run(raw(`delete from application_notes where note = 'one'`))).toBe(1)
      })
      expect(await notes()).toEqual(['two'])
    })

    it('may be one of several that are asked for at once', async () => {
      const orders = [newOrder(), newOrder(), newOrder(), newOrder()]
      const started = await application.transaction(transaction =>
        Promise.all(orders.map(hero => under.geneva.start(Parcel, { hero, input: 'together' }, { transaction }))),
      )
      expect(new Set(started.map(wf => wf.id)).size).toBe(orders.length)
      await under.runDue()
      const outputs = await Promise.all(started.map(wf => wf.waitUntilFinished({ timeout: '10s' })))
      expect(outputs).toEqual(orders.map(({ id }) => `packed ${id} with together`))
    })
  })
})
