/**
 * Starts inside transactions whose session is not ours: other isolation levels, other settings, races, and transactions
 * that fail or stay open for long.
 */
import { createPool } from 'mysql2/promise'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { defineHero, Geneva, Workflow } from '../../src/index.ts'
import { type DatabaseName, databases, forEachDatabase, type TestDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'
import { BetterSqlite } from './transactional-start/better-sqlite.ts'
import { type DriverConnection, type PlainDriver, plainDrivers } from './transactional-start/plain-drivers.ts'
import { DatabaseSync, pathOf } from './transactional-start/sqlite-library.ts'

interface Order {
  readonly id: string
}

const Orders = defineHero('Order', { id: (order: Order) => order.id, load: id => ({ id: String(id) }) })

class Parcel extends Workflow<Order, { wrapping: string }> {
  static {
    this.heroes(Orders)
    this.step('pack')
  }
  async pack() {
    return `packed with ${this.input.wrapping}`
  }
}

const oddText = `"it's" {a,b}, \\ \\' \\" ? é 🎁`
const input = { wrapping: oddText }
let made = 0
const newOrder = (): Order => ({ id: `${++made} ${oddText}` })

const driverOf = (database: TestDatabase) => plainDrivers[database.name][0] as PlainDriver
const begin = (database: TestDatabase) => (database.name === 'sqlite' ? 'begin immediate' : 'begin')

/** Connections of the application, closed after each test. */
function useConnections(database: TestDatabase, under: { readonly url: string }) {
  const open: DriverConnection[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map(connection => connection.close()))
  })
  return async () => {
    const connection = await driverOf(database).connect(under.url)
    open.push(connection)
    return connection
  }
}

forEachDatabase('a start in a transaction', database => {
  const under = useGeneva(database, { workflows: [Parcel], worker: true })
  const connect = useConnections(database, under)

  it('is found by a worker that runs already, soon after the commit', async () => {
    const connection = await connect()
    await connection.query(begin(database))
    const wf = await under.geneva.start(Parcel, { hero: newOrder(), input }, { transaction: connection.handle })
    await connection.query('commit')
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe(`packed with ${oddText}`)
  })

  it('is waited for by other work only where the file has one writer', async () => {
    const connection = await connect()
    const waiting = await under.geneva.start(Parcel, { hero: newOrder(), input }, { delay: '1h' })
    await connection.query(begin(database))
    const inside = await under.geneva.start(Parcel, { hero: newOrder(), input }, { transaction: connection.handle })
    const others = Promise.all([
      waiting.pause().then(() => waiting.cancel()),
      under.geneva.start(Parcel, { hero: newOrder(), input }).then(wf => wf.waitUntilFinished({ timeout: '10s' })),
    ])
    if (database.name !== 'sqlite') await others
    await connection.query('commit')
    await others
    expect((await under.geneva.find(waiting.id))?.state).toBe('canceled')
    await inside.waitUntilFinished({ timeout: '10s' })
  })

  it('leaves no savepoint behind, whether it succeeds or not', async () => {
    const connection = await connect()
    const taken = newOrder()
    const held = await under.geneva.start(Parcel, { hero: taken, input }, { delay: '1h' })
    for (const hero of [newOrder(), taken]) {
      await connection.query(begin(database))
      const transaction = connection.handle
      const started = under.geneva.startMany(Parcel, [{ hero, input }], { transaction })
      if (hero === taken) await expect(started).rejects.toMatchObject({ workflowId: held.id })
      else await started
      await expect(connection.query('release savepoint geneva_start')).rejects.toThrow(/savepoint/i)
      await connection.query('rollback')
    }
  })
})

forEachDatabase('a start in a transaction, with uuid keys,', database => {
  const isolated = { url: '' }
  const connect = useConnections(database, isolated)
  let geneva: Geneva

  beforeEach(async () => {
    isolated.url = (await database.isolated()).url
    geneva = new Geneva({ database: { url: isolated.url, keyType: 'uuid' }, workflows: [Parcel] })
    await geneva.migrate()
  })
  afterEach(() => geneva.close())

  it('is committed, rolled back and refused like any other', async () => {
    const hero = newOrder()
    const connection = await connect()
    const start = () => geneva.start(Parcel, { hero, input }, { transaction: connection.handle, tags: ['one', 'two'] })
    await connection.query(begin(database))
    const undone = await start()
    await connection.query('rollback')
    expect(await geneva.find(undone.id)).toBeNull()
    await connection.query(begin(database))
    const kept = await start()
    await expect(start()).rejects.toMatchObject({ code: 'ALREADY_ACTIVE', workflowId: kept.id })
    await connection.query('commit')
    await geneva.runDue()
    expect(await kept.waitUntilFinished({ timeout: '10s' })).toBe(`packed with ${oddText}`)
  })
})

forEachDatabase('an instance that was not used before', database => {
  const isolated = { url: '' }
  const connect = useConnections(database, isolated)

  it('starts in a transaction, or says at once that it must be opened before', async () => {
    isolated.url = (await database.isolated()).url
    const geneva = new Geneva({ database: isolated.url, workflows: [Parcel] })
    const connection = await connect()
    const start = () => geneva.start(Parcel, { hero: newOrder(), input }, { transaction: connection.handle })
    await connection.query(begin(database))
    // The transaction may hold the file that the tables have yet to be made in.
    if (database.name === 'sqlite') {
      await expect(start()).rejects.toThrow('await geneva.migrate()')
      await connection.query('rollback')
      await geneva.migrate()
      await connection.query(begin(database))
    }
    const wf = await start()
    await connection.query('commit')
    expect((await geneva.find(wf.id))?.state).toBe('ready')
    await geneva.close()
  })
})

/** The statements that look at the world before anything is started. */
const snapshots: Partial<Record<DatabaseName, readonly string[]>> = {
  postgres: ['begin isolation level repeatable read', 'select 1 from geneva_drive_workflows'],
  mysql: ['set session transaction isolation level repeatable read', 'start transaction with consistent snapshot'],
}

/** Two transactions can only be open at once on a server. */
for (const database of databases.filter(({ name }) => name !== 'sqlite')) {
  describe(`two transactions that start for one hero on ${database.name}`, () => {
    const under = useGeneva(database, { workflows: [Parcel] })
    const connect = useConnections(database, under)

    it.each([
      ['commits', 'the second is told about it'],
      ['is rolled back', 'the second wins'],
    ])('wait for each other: when the first %s, %s', async ends => {
      const [first, second, hero] = [await connect(), await connect(), newOrder()]
      const start = (connection: DriverConnection) =>
        under.geneva.start(Parcel, { hero, input }, { transaction: connection.handle })
      await first.query('begin')
      await second.query('begin')
      const winner = await start(first)
      const waiting = start(second)
      const settled = waiting.then(
        wf => wf.id,
        error => error,
      )
      await first.query(ends === 'commits' ? 'commit' : 'rollback')
      if (ends === 'commits') expect(await settled).toMatchObject({ code: 'ALREADY_ACTIVE', workflowId: winner.id })
      else expect(await settled).toEqual(expect.any(String))
      await second.query('commit')
      expect(await under.geneva.list(Parcel, { hero })).toMatchObject({
        items: [{ id: ends === 'commits' ? winner.id : (await waiting).id }],
      })
    })

    it('name the holder also to one whose snapshot is older', async () => {
      const [connection, hero] = [await connect(), newOrder()]
      for (const statement of snapshots[database.name] ?? []) await connection.query(statement)
      const winner = await under.geneva.start(Parcel, { hero, input }, { idempotencyKey: hero.id })
      const transaction = connection.handle
      const start = (options: object) => under.geneva.start(Parcel, { hero, input }, { transaction, ...options })
      await expect(start({})).rejects.toMatchObject({ code: 'ALREADY_ACTIVE', workflowId: winner.id })
      expect((await start({ idempotencyKey: hero.id })).id).toBe(winner.id)
      await connection.query('commit')
    })

    it('lock neither the holder nor the places beside it', async () => {
      const [before, taken, after] = ['place 1', 'place 2', 'place 3'].map((id): Order => ({ id }))
      const winner = await under.geneva.start(Parcel, { hero: taken as Order, input })
      const connection = await connect()
      await connection.query('begin')
      const refused = under.geneva.start(Parcel, { hero: taken as Order, input }, { transaction: connection.handle })
      await expect(refused).rejects.toMatchObject({ workflowId: winner.id })
      await under.geneva.start(Parcel, { hero: before as Order, input })
      await under.geneva.start(Parcel, { hero: after as Order, input })
      await winner.cancel()
      const retried = await under.geneva.start(
        Parcel,
        { hero: taken as Order, input },
        { transaction: connection.handle },
      )
      expect(retried.id).not.toBe(winner.id)
      await connection.query('commit')
    })
  })
}

for (const database of databases.filter(({ name }) => name === 'postgres')) {
  describe('a start in a transaction of PostgreSQL', () => {
    const under = useGeneva(database, { workflows: [Parcel] })
    const connect = useConnections(database, under)

    it('is refused when the transaction has failed before', async () => {
      const connection = await connect()
      await connection.query('begin')
      await expect(connection.query('select 1 / 0')).rejects.toThrow('division by zero')
      // The driver learns the state of the transaction with the end of the answer, a moment after the error: told at once,
      // the server itself refuses.
      const early = under.geneva.start(Parcel, { hero: newOrder(), input }, { transaction: connection.handle })
      await expect(early).rejects.toThrow('whose transaction has failed already')
      await waitFor(() => (connection.handle as { readyForQuery?: boolean }).readyForQuery)
      const started = under.geneva.start(Parcel, { hero: newOrder(), input }, { transaction: connection.handle })
      await expect(started).rejects.toThrow('whose transaction has failed already')
      await connection.query('rollback')
    })
  })
}

for (const database of databases.filter(({ name }) => name === 'mysql')) {
  describe('a start in a transaction of MySQL', () => {
    const under = useGeneva(database, { workflows: [Parcel] })
    const connect = useConnections(database, under)

    it.each(['NO_BACKSLASH_ESCAPES', 'ANSI', 'TRADITIONAL', ''])('stores every text under sql_mode %j', async mode => {
      const connection = await connect()
      await connection.query(`set session sql_mode = '${mode}', time_zone = '-07:00'`)
      await connection.query('begin')
      const wf = await under.geneva.start(Parcel, { hero: newOrder(), input }, { transaction: connection.handle })
      await connection.query('commit')
      expect(Math.abs(wf.createdAt.getTime() - Date.now())).toBeLessThan(60_000)
      await under.runDue()
      expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe(`packed with ${oddText}`)
    })

    it('does not need autocommit', async () => {
      const connection = await connect()
      await connection.query('set autocommit = 0')
      const start = () => under.geneva.start(Parcel, { hero: newOrder(), input }, { transaction: connection.handle })
      const undone = await start()
      await connection.query('rollback')
      const kept = await start()
      await connection.query('commit')
      expect(await under.geneva.find(undone.id)).toBeNull()
      expect((await under.geneva.find(kept.id))?.state).toBe('ready')
    })

    it('may stay open for long without keeping others from new ids', async () => {
      const [connection, other] = [await connect(), await connect()]
      await connection.query('begin')
      await under.geneva.start(Parcel, { hero: newOrder(), input }, { transaction: connection.handle })
      // As if thousands of blocks had been taken since; with the next one the oldest are swept out.
      await other.query('insert into geneva_drive_ids (block, taken) values (99999, 1)')
      await other.query('begin')
      await other.query('set session innodb_lock_wait_timeout = 1')
      await under.geneva.start(Parcel, { hero: newOrder(), input }, { transaction: other.handle })
      await other.query('commit')
      await connection.query('rollback')
    })

    it('is refused on a connection that was given back to its pool', async () => {
      const pool = createPool(under.url)
      const connection = await pool.getConnection()
      connection.release()
      const started = under.geneva.start(Parcel, { hero: newOrder(), input }, { transaction: connection })
      await expect(started).rejects.toThrow('given back to its pool')
      await pool.end()
    })
  })
}

for (const database of databases.filter(({ name }) => name === 'sqlite')) {
  describe('an application that writes to the SQLite file in the process of a worker', () => {
    const under = useGeneva(database, { workflows: [Parcel], worker: true })

    it('never finds the file locked by that worker, which could not go on while it waits', async () => {
      const handle = new DatabaseSync(pathOf(under.url), { timeout: 1000 })
      for (let round = 0; round < 120; round++) {
        const started = under.geneva.start(Parcel, { hero: newOrder(), input })
        // Begins at every possible moment of what goes on meanwhile.
        for (let moment = 0; moment < round % 60; moment++) await null
        handle.exec('begin immediate')
        const transaction = handle
        await under.geneva.start(Parcel, { hero: newOrder(), input }, { transaction })
        handle.exec(round % 2 ? 'commit' : 'rollback')
        await started
      }
      handle.close()
    })

    it('is refused with a transaction on another file, with or without workflows in it', async () => {
      const [workflows, none] = [await database.isolated(), await database.isolated()]
      const other = new Geneva({ database: workflows.url, workflows: [Parcel] })
      await other.migrate()
      for (const { url } of [workflows, none]) {
        const transaction = new DatabaseSync(pathOf(url))
        transaction.exec('begin immediate')
        const started = under.geneva.start(Parcel, { hero: newOrder(), input }, { transaction })
        await expect(started).rejects.toThrow('on another file than the one of the workflows')
        transaction.exec('rollback')
        transaction.close()
      }
      await other.close()
    })

    it('shares its own SQLite library with the worker', async () => {
      const { url } = await database.isolated()
      const geneva = new Geneva({ database: { url, driver: BetterSqlite }, workflows: [Parcel] })
      await geneva.startWorker({ poll: 5 })
      const transaction = new BetterSqlite(pathOf(url))
      transaction.exec('begin immediate')
      const wf = await geneva.start(Parcel, { hero: newOrder(), input }, { transaction })
      transaction.exec('commit')
      expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe(`packed with ${oddText}`)
      transaction.close()
      await geneva.close()
    })
  })
}
