/** What the engine sends is counted as the server gets it: each statement of a batch, and each time that an answer is waited for. */
import { describe, expect, it } from 'vitest'
import { countMysql, countPostgres } from '../../bench/driver-count.ts'
import { openMysql } from '../../src/store/mysql/mysql-database.ts'
import { openPostgres } from '../../src/store/postgres/postgres-database.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { raw, sql } from '../../src/store/sql/sql.ts'
import { databases } from '../support/databases.ts'

const only = (name: string) => databases.filter(database => database.name === name)
const insert = (value: number) => sql`insert into counted values (${value})`

async function difference<Count extends Readonly<Record<keyof Count, number>>>(
  count: Count,
  work: () => Promise<unknown>,
): Promise<Record<keyof Count, number>> {
  const before: Count = { ...count }
  await work()
  const keys = Object.keys(count) as (keyof Count)[]
  return Object.fromEntries(keys.map(key => [key, count[key] - before[key]])) as Record<keyof Count, number>
}

const twoInserts = (database: Database) => () =>
  database.transaction(transaction => transaction.commitWith([insert(1), insert(2)]))

const oneAfterTheOther = (database: Database) => () =>
  database.transaction(async transaction => {
    await transaction.run(insert(3))
    await transaction.query(sql`select value from counted where value = ${3}`)
  })

describe.each(only('postgres'))('what is counted on $name', server => {
  it('is every statement, prepared or for the first time, and one round trip for those that leave together', async () => {
    const count = countPostgres()
    const { url } = await server.isolated()
    const database = await openPostgres({ url, poolSize: 1, preparedStatements: true })
    await database.run(raw('create table counted (value bigint)'))
    const first = await difference(count, twoInserts(database))
    const batched = await difference(count, twoInserts(database))
    expect([first, batched]).toEqual([
      { statements: 4, roundTrips: 1 },
      { statements: 4, roundTrips: 1 },
    ])
    const waiting = await difference(count, oneAfterTheOther(database))
    await database.close()
    expect(waiting.roundTrips).toBe(3)
  })
})

describe.each(only('mysql'))('what is counted on $name', server => {
  it('is one round trip for all statements of a packet', async () => {
    const count = countMysql()
    const { url } = await server.isolated()
    const database = await openMysql({ url, poolSize: 1 })
    await database.run(raw('create table counted (value bigint)'))
    const together = await difference(count, twoInserts(database))
    const waiting = await difference(count, oneAfterTheOther(database))
    await database.close()
    expect([together.roundTrips, waiting.roundTrips]).toEqual([1, 3])
  })
})
