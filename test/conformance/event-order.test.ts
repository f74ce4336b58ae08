/** Reading events from a position: in order, nothing twice, nothing missed, however many write and roll back meanwhile. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Geneva } from '../../src/index.ts'
import type { EventPage, EventRead } from '../../src/store/event-store.ts'
import type { Store } from '../../src/store/store.ts'
import { databases, forEachDatabase } from '../support/databases.ts'
import { changeOf, makeOrder, openSameStore, startSome } from '../support/open-store.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { waitFor } from '../support/wait-for.ts'

const writers = 4
const rounds = 25

forEachDatabase('events in order', database => {
  const stores: Store[] = []
  let plain: PlainConnection

  beforeAll(async () => {
    const { url } = await database.isolated()
    for (let i = 0; i <= writers; i++) stores.push(await openSameStore(url))
    plain = await connectPlainly(database.name, url)
  })
  afterAll(async () => {
    await plain.close()
    await Promise.all(stores.map(store => store.close()))
  })

  it('a reader sees every event once, while several write in groups and some of them roll back', async () => {
    const reader = new Reader(stores[writers] as Store)
    let writing = true
    const all = Promise.all(stores.slice(0, writers).map((store, index) => write(store, index)))
    const done = all.finally(() => {
      writing = false
    })
    while (writing) {
      await reader.read()
      // A database that answers at once would leave the writers no turn.
      await nextTurn()
    }
    await done
    const stored = (await plain.query('select id from geneva_drive_events order by id')).map(row => Number(row.id))
    await waitFor(async () => {
      await reader.read()
      return reader.seen.length >= stored.length
    })
    expect(reader.seen).toEqual(stored)
    expect(stored.length).toBeGreaterThan(writers * rounds * 4)
  })

  it('types and a workflow narrow it down, and the position goes past the rest', async () => {
    const [store] = stores as [Store]
    const from = await store.lastEvent()
    const [first = '', second = ''] = await startSome(store, 2)
    const reader = new Reader(store, from, { workflowId: second, types: ['step.scheduled'] })
    await reader.read()
    expect(reader.types).toEqual(['step.scheduled'])
    const rest = new Reader(store, reader.position)
    await rest.read()
    expect(rest.seen).toEqual([])
    const other = new Reader(store, from, { workflowId: first })
    await other.read()
    expect(other.types).toEqual(['workflow.started', 'step.scheduled'])
  })

  it('a long stretch of numbers that retention has emptied is skipped', async () => {
    const [store] = stores as [Store]
    await startSome(store, 1500)
    const kept = await store.lastEvent()
    await startSome(store, 1)
    await plain.query(`delete from geneva_drive_events where id <= ${kept}`)
    const reader = new Reader(store)
    await waitFor(async () => {
      await reader.read()
      return reader.seen.length === 2
    })
    expect(reader.types).toEqual(['workflow.started', 'step.scheduled'])
  })
})

/** Where transactions write side by side, a lower number can be committed after a higher one. */
describe.each(databases.filter(({ name }) => name !== 'sqlite'))(
  'events that are committed late on $name',
  database => {
    let store: Store
    let geneva: Geneva
    let plain: PlainConnection
    let other: PlainConnection

    beforeAll(async () => {
      const { url } = await database.isolated()
      store = await openSameStore(url)
      geneva = new Geneva({ database: url })
      plain = await connectPlainly(database.name, url)
      other = await connectPlainly(database.name, url)
    })
    afterAll(async () => {
      await plain.close()
      await other.close()
      await geneva.close()
      await store.close()
    })

    const insertLate = async (connection = plain) => {
      await connection.query('begin')
      await connection.query(`insert into geneva_drive_events (workflow_id, type, at) values (1, 'tests.late', 0)`)
    }

    it('hold back what has a higher number, until they are there', async () => {
      await startSome(store, 1)
      await insertLate()
      await startSome(store, 1)
      const reader = new Reader(store)
      for (let i = 0; i < 5; i++) await reader.read()
      expect(reader.types).toEqual(['workflow.started', 'step.scheduled'])
      expect(reader.last.next).toBe('soon')
      await plain.query('commit')
      await reader.readUntil(5)
      expect(reader.types.slice(2)).toEqual(['tests.late', 'workflow.started', 'step.scheduled'])
    })

    it('hold back nothing once they are rolled back', async () => {
      const from = await store.lastEvent()
      await insertLate()
      await startSome(store, 1)
      const reader = new Reader(store, from)
      for (let i = 0; i < 5; i++) await reader.read()
      expect(reader.seen).toEqual([])
      await plain.query('rollback')
      await reader.readUntil(2)
      expect(reader.types).toEqual(['workflow.started', 'step.scheduled'])
    })

    it('hold back no page of events for ever once they are rolled back, though somebody writes at each look', async () => {
      const from = await store.lastEvent()
      await insertLate()
      await plain.query('rollback')
      await startSome(store, 1)
      let after = String(from)
      const types: string[] = []
      const [first, second] = [plain, other]
      await insertLate(first)
      for (let look = 0; look < 4; look++) {
        const page = await geneva.views.events({ after })
        types.push(...page.items.map(({ type }) => type))
        after = page.nextCursor ?? after
        // Who writes next has begun before this one ends, so that the table is never left alone.
        const [ending, beginning] = look % 2 === 0 ? [first, second] : [second, first]
        await insertLate(beginning)
        await ending.query('rollback')
      }
      await first.query('rollback')
      expect(types).toEqual(['workflow.started', 'step.scheduled'])
    })

    it('are known to be open until they are there', async () => {
      const after = await store.lastEvent()
      await insertLate()
      await startSome(store, 1)
      const upTo = await store.lastEvent()
      const first = await store.settleEvents({ after, upTo, memory: null })
      expect(first.settled).toBeLessThan(upTo)
      const open = { after, upTo, memory: first.memory }
      expect((await store.settleEvents(open)).settled).toBeLessThan(upTo)
      await plain.query('commit')
      await waitFor(async () => (await store.settleEvents(open)).settled === upTo)
    })
  },
)

class Reader {
  readonly #store: Store
  #read: EventRead
  readonly seen: number[] = []
  readonly types: string[] = []
  last: EventPage = { events: [], position: 0, memory: null, next: 'later' }

  constructor(store: Store, after = 0, more: Pick<EventRead, 'types' | 'workflowId'> = {}) {
    this.#store = store
    this.#read = { after, limit: 100, memory: null, ...more }
  }

  get position(): number {
    return this.#read.after
  }

  /** Until nothing more is there, or something has to be waited for. */
  async read(): Promise<void> {
    do {
      this.last = await this.#store.readEvents(this.#read)
      for (const { id, type } of this.last.events) {
        this.seen.push(Number(id))
        this.types.push(type)
      }
      this.#read = { ...this.#read, after: this.last.position, memory: this.last.memory }
    } while (this.last.next === 'at once')
  }

  async readUntil(count: number): Promise<void> {
    await waitFor(async () => {
      await this.read()
      return this.seen.length >= count
    })
  }
}

/** Starts in groups of several sizes, changes, and starts that are undone after their numbers were taken. */
async function write(store: Store, index: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const ids = await startSome(store, 1 + ((index + round) % 5))
    const undone = { check: () => fail() }
    if (round % 3 === 0) await store.start([await makeOrder(store)], undone).catch(() => {})
    await store.change(
      ids.map(workflowId => ({ workflowId })),
      ({ workflow }) => changeOf(workflow.id, { events: [{ workflowId: workflow.id, type: 'workflow.healed' }] }),
    )
  }
}

function fail(): never {
  throw new Error('undone')
}
