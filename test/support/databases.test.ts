/** Proves that the tests run on real databases, and that two isolated databases share nothing. */
import { existsSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { expect, it } from 'vitest'
import { databases, forEachDatabase, type TestDatabase } from './databases.ts'

type Query = (sql: string) => Promise<Record<string, unknown>[]>

it('covers every database that the run selects', () => {
  const selection = process.env.GENEVA_TEST_DATABASES?.split(',') ?? ['sqlite', 'postgres', 'mysql']
  expect(databases.map(database => database.name)).toEqual(expect.arrayContaining(selection))
})

forEachDatabase('an isolated database', database => {
  it('answers a query', async () => {
    const { url } = await database.isolated()
    expect(await query(database, url, run => run('select 1 as answer'))).toEqual([{ answer: 1 }])
  })

  it('does not see the tables of another one', async () => {
    const [first, second] = await Promise.all([database.isolated(), database.isolated()])
    await query(database, first.url, run => run('create table only_here (id integer)'))
    await query(database, first.url, run => run('select * from only_here'))
    await expect(query(database, second.url, run => run('select * from only_here'))).rejects.toThrow(/only_here/)
  })

  it('is gone after drop, even while a connection is open', async () => {
    const isolated = await database.isolated()
    await query(database, isolated.url, async run => {
      await run('create table t (id integer)')
      await isolated.drop()
      await isolated.drop()
      return []
    })
    if (database.name === 'sqlite') expect(existsSync(isolated.url.slice('sqlite:'.length))).toBe(false)
    else
      await expect(query(database, isolated.url, run => run('select 1'))).rejects.toThrow(
        /does not exist|Unknown database/,
      )
  })

  it('keeps text outside the basic plane', async () => {
    const { url } = await database.isolated()
    expect(await query(database, url, run => run("select '🦀' as crab"))).toEqual([{ crab: '🦀' }])
  })
})

async function query(database: TestDatabase, url: string, body: (run: Query) => Promise<unknown>): Promise<unknown> {
  if (database.name === 'sqlite') {
    const connection = new DatabaseSync(url.slice('sqlite:'.length))
    try {
      return await body(async sql => connection.prepare(sql).all() as Record<string, unknown>[])
    } finally {
      connection.close()
    }
  }
  if (database.name === 'postgres') {
    const client = new Client(url)
    client.on('error', () => {})
    await client.connect()
    return body(async sql => (await client.query(sql)).rows).finally(() => client.end())
  }
  const connection = await createConnection(url)
  return body(async sql => (await connection.query(sql))[0] as Record<string, unknown>[]).finally(() =>
    connection.end(),
  )
}
