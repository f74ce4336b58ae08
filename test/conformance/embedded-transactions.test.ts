/** The application's transactions in a file, where one writer keeps all others waiting: they may not stay open for ever. */
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import type { Database } from '../../src/store/sql/dialect.ts'
import { raw } from '../../src/store/sql/sql.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-database.ts'
import { gate, waitFor } from '../support/wait-for.ts'

let database: Database
let path = ''
beforeAll(async () => {
  path = join(await mkdtemp(join(inject('sqliteFolder'), 'transactions-')), 'app.db')
  database = await openSqlite({ path, synchronous: 'normal', userTransactionMs: 50 })
  await database.run(raw('create table notes (note text)'))
})
afterAll(() => database.close())

const notes = async () => (await database.query(raw('select note from notes order by note'))).map(row => row.note)

it('a transaction that stays open too long is undone, and what it does later reaches nobody', async () => {
  const late = gate()
  const outcome = gate<unknown>()
  const slow = database.userTransaction(async ({ transaction: { query, handle } }) => {
    await query(`insert into notes (note) values ('slow')`)
    await late.passed
    await query(`insert into notes (note) values ('late')`).catch(outcome.open)
    return handle
  })
  await expect(slow).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('was open for 50 ms and was undone'),
  })
  expect(await notes()).toEqual([])
  // The next one has a connection of its own.
  await database.userTransaction(async ({ transaction: { query } }) => {
    await query(`insert into notes (note) values ('next')`)
    late.open()
    expect(await outcome.passed).toBeInstanceOf(Error)
  })
  expect(await notes()).toEqual(['next'])
})

it('transactions take turns with each other and with those who write meanwhile', async () => {
  const order: string[] = []
  const book = (name: string) =>
    database.userTransaction(async ({ transaction: { query } }) => {
      order.push(`${name} begins`)
      await query(`insert into notes (note) values ('${name}')`)
      await new Promise(resolve => setTimeout(resolve, 5))
      order.push(`${name} ends`)
    })
  const first = book('first')
  await waitFor(() => order.length === 1)
  const writer = database.run(raw(`insert into notes (note) values ('own')`)).then(() => order.push('own'))
  await Promise.all([first.then(() => book('second')), book('third'), writer])
  expect(order).toEqual([
    'first begins',
    'first ends',
    'own',
    'third begins',
    'third ends',
    'second begins',
    'second ends',
  ])
})

it('a transaction that finds the file locked waits for its turn, and is not repeated once it has begun', async () => {
  const other = await openSqlite({ path, synchronous: 'normal' })
  const locked = gate()
  const release = gate()
  const holding = other.userTransaction(async () => {
    locked.open()
    await release.passed
  })
  await locked.passed
  let calls = 0
  const busy = Object.assign(new Error('database is locked'), { errcode: 5 })
  const waiting = database.userTransaction(async () => {
    calls++
    throw busy
  })
  release.open()
  await holding
  await expect(waiting).rejects.toBe(busy)
  expect(calls).toBe(1)
  await other.close()
})
