/** Transactions whose statements go out together: all of them count, or none, whether they are sent for the first time or again. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { openMysql } from '../../src/store/mysql/mysql-database.ts'
import { openPostgres } from '../../src/store/postgres/postgres-database.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { Counted, raw, sql, Together } from '../../src/store/sql/sql.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-database.ts'
import { forEachDatabase, type TestDatabase } from '../support/databases.ts'

/** With one connection, so that what is prepared for one transaction is there for the next. */
async function open(name: TestDatabase['name'], url: string): Promise<Database> {
  if (name === 'postgres') return openPostgres({ url, poolSize: 1, preparedStatements: true })
  if (name === 'mysql') return openMysql({ url, poolSize: 1 })
  return openSqlite({ path: url.replace('sqlite:', ''), synchronous: 'normal' })
}

forEachDatabase('transactions that go out together', ({ name, isolated }) => {
  let database: Database
  const insert = (id: number) => sql`insert into notes (id) values (${id})`
  const guard = (id: number, count: number) => ({ select: sql`select id from notes where id = ${id}`, count })

  beforeAll(async () => {
    database = await open(name, (await isolated()).url)
    await database.run(raw('create table notes (id integer primary key)'))
  })
  beforeEach(async () => {
    await database.run(raw('delete from notes'))
  })
  afterAll(() => database.close())

  async function notes(): Promise<number[]> {
    const rows = await database.query(raw('select id from notes order by id'))
    return rows.map(row => Number(row.id))
  }

  it('are committed each time, and tell the time', async () => {
    const times: number[] = []
    for (let id = 1; id <= 4; id++) {
      const now = await database.transaction(transaction => transaction.commitIf(() => [guard(id, 0), insert(id)]))
      times.push(now ?? Number.NaN)
    }
    expect(await notes()).toEqual([1, 2, 3, 4])
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times.every(time => time > 1e15)).toBe(true)
  })

  it('write nothing when a guard does not hold, and the connection goes on', async () => {
    for (let round = 0; round < 3; round++) {
      const answer = await database.transaction(transaction =>
        transaction.commitIf(() => [guard(7, 0), insert(7), guard(8, 1), insert(8)]),
      )
      expect(answer).toBeNull()
      expect(await notes()).toEqual([])
    }
    expect(
      await database.transaction(transaction => transaction.commitIf(() => [guard(7, 0), insert(7)])),
    ).not.toBeNull()
    expect(await notes()).toEqual([7])
  })

  it('ask their guards before anything is written, also where both are one statement', async () => {
    const { together } = database.dialect
    const writes = (...ids: number[]) => {
      const all = ids.map(insert)
      return together === undefined ? all : [new Together(together(all), all)]
    }
    for (let round = 0; round < 3; round++) {
      const ids = [round * 10 + 1, round * 10 + 2]
      const write = () => database.transaction(tx => tx.commitIf(() => [guard(ids[0] ?? 0, 0), ...writes(...ids)]))
      expect(await write()).toBeGreaterThan(1e15)
      // The rows are there, so that to write them again would fail.
      expect(await write()).toBeNull()
    }
    expect(await notes()).toEqual([1, 2, 11, 12, 21, 22])
  })

  it('write nothing when a write is about other rows than it should be, alone or together with others', async () => {
    const { together, countsWrites } = database.dialect
    // Where it would take a round trip of its own to count them, nobody asks for it.
    expect(countsWrites).toBe(name === 'mysql' ? undefined : true)
    if (countsWrites === undefined) return
    const copy = (count: number) =>
      new Counted(sql`insert into notes (id) select id + ${10} from notes where id < ${10}`, count)
    const writes = (count: number, id: number) => {
      const all = [copy(count), insert(id)]
      return together === undefined ? all : [new Together(together(all), all)]
    }
    await database.run(insert(1))
    await database.run(insert(2))
    for (let round = 0; round < 3; round++) {
      for (const wrong of [0, 1, 3]) {
        expect(await database.transaction(tx => tx.commitIf(() => [copy(wrong), insert(50)]))).toBeNull()
        expect(await database.transaction(tx => tx.commitIf(() => [guard(1, 1), copy(wrong)]))).toBeNull()
        expect(await database.transaction(tx => tx.commitIf(() => [guard(1, 1), ...writes(wrong, 50)]))).toBeNull()
      }
      expect(await database.transaction(tx => tx.commitIf(() => [guard(1, 0), ...writes(2, 50)]))).toBeNull()
      expect(await notes()).toEqual([1, 2])
    }
    expect(await database.transaction(tx => tx.commitIf(() => [copy(2)]))).toBeGreaterThan(1e15)
    expect(await notes()).toEqual([1, 2, 11, 12])
    await database.run(raw('delete from notes where id > 10'))
    expect(await database.transaction(tx => tx.commitIf(() => [guard(1, 1), ...writes(2, 50)]))).toBeGreaterThan(1e15)
    expect(await notes()).toEqual([1, 2, 11, 12, 50])
  })

  it('write nothing when a statement fails, and say what has failed', async () => {
    const twice = () => database.transaction(transaction => transaction.commitWith([insert(1), insert(2), insert(2)]))
    for (let round = 0; round < 3; round++) {
      await expect(twice()).rejects.toThrow(/unique|duplicate/i)
      expect(await notes()).toEqual([])
    }
    await database.transaction(transaction => transaction.commitWith([insert(1), insert(2)]))
    expect(await notes()).toEqual([1, 2])
  })

  it('come after what the transaction has read and written before', async () => {
    for (let round = 1; round <= 3; round++) {
      await database.transaction(async transaction => {
        const before = await transaction.query(sql`select id from notes where id < ${100}`)
        await transaction.run(insert(10 * round))
        await transaction.commitWith([insert(10 * round + before.length + 1)])
      })
    }
    expect(await notes()).toEqual([10, 11, 20, 23, 30, 35])
  })

  it('may be empty', async () => {
    await database.transaction(transaction => transaction.commitWith([]))
    expect(await database.transaction(transaction => transaction.commitIf(() => []))).toBeGreaterThan(1e15)
  })

  const long = 'x'.repeat(500_000)
  const longNote = (id: number) => sql`insert into long_notes (id, note) values (${id}, ${long})`
  const longNotes = async () => {
    const rows = await database.query(raw('select id from long_notes order by id'))
    return rows.map(row => Number(row.id))
  }

  it('are committed whole, or not at all, also where they are longer than what a server takes at once', async () => {
    await database.run(
      raw(`create table long_notes (id integer primary key, note ${name === 'mysql' ? 'longtext' : 'text'})`),
    )
    const ids = Array.from({ length: 50 }, (_, index) => index + 1)
    const failing = database.transaction(tx => tx.commitWith([...ids, 1].map(longNote)))
    await expect(failing).rejects.toThrow()
    expect(await longNotes()).toEqual([])
    await database.transaction(tx => tx.commitWith(ids.map(longNote)))
    expect(await longNotes()).toEqual(ids)
    await database.run(raw('delete from long_notes'))
    expect(await database.transaction(tx => tx.commitIf(() => ids.map(longNote)))).toBeGreaterThan(1e15)
    expect(await longNotes()).toEqual(ids)
  })

  it('tell what has failed first, however many statements are under way, and whoever waits for them', async () => {
    const missing = raw('select id from no_such_table')
    const reason = (error: Error) => error.message
    const alone = await database.query(missing).catch(reason)
    for (let round = 0; round < 5; round++) {
      const failing = database.transaction(async tx => {
        const answersLate = async () => Promise.all([(async () => tx.query(missing))()])
        await Promise.all([answersLate(), tx.query(raw('select id from notes')), tx.query(raw('select id from notes'))])
      })
      expect(await failing.catch(reason)).toBe(alone)
    }
  })

  it('keep their order, whatever is on its way when the next are asked for', async () => {
    await database.run(raw('delete from long_notes'))
    await database.transaction(async tx => {
      const first = Promise.all(Array.from({ length: 30 }, (_, index) => tx.run(longNote(index + 1))))
      await new Promise(resolve => setImmediate(resolve))
      await Promise.all([first, tx.commitWith([raw('delete from long_notes where id > 1')])])
    })
    expect(await longNotes()).toEqual([1])
  })

  it('fail for good where a row is longer than what a server takes at once, and the next ones go through', async () => {
    const limit = name === 'mysql' ? await database.query(raw('select @@max_allowed_packet as bytes')) : []
    const note = 'x'.repeat(Number(limit[0]?.bytes ?? 16 * 1024 * 1024))
    for (let id = 101; id <= 103; id++) {
      const tooLong = sql`insert into long_notes (id, note) values (${id}, ${note})`
      const failure = await database
        .transaction(tx => tx.commitWith([tooLong]))
        .then(
          () => 'none',
          error => database.dialect.classify(error),
        )
      expect(failure).toBe(name === 'mysql' ? 'lasting' : 'none')
      await database.transaction(tx => tx.commitWith([insert(id)]))
    }
    expect(await notes()).toEqual([101, 102, 103])
  })
})
