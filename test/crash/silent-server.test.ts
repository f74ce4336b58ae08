/** A server that vanishes without a word: nothing is closed, and no answer comes. Its connections are given up after a while. */
import { expect, it } from 'vitest'
import { openMysql } from '../../src/store/mysql/mysql-database.ts'
import { openPostgres } from '../../src/store/postgres/postgres-database.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { raw } from '../../src/store/sql/sql.ts'
import { forEachServerAtOnce } from '../support/databases.ts'
import { waitFor } from '../support/wait-for.ts'
import { type LossyProxy, startLossyProxy } from './lossy-proxy.ts'

const answerMs = 500

class SilentWorld {
  readonly proxy: LossyProxy
  readonly database: Database
  readonly sleep

  constructor(name: string, proxy: LossyProxy, database: Database) {
    this.proxy = proxy
    this.database = database
    this.sleep = raw(name === 'postgres' ? 'select pg_sleep(1)::text as slept' : 'select sleep(1) as slept')
  }

  static async open(name: string, url: string): Promise<SilentWorld> {
    const proxy = await startLossyProxy(url, () => 0)
    const options = { url: proxy.url, poolSize: 5, answerMs }
    const database = await (name === 'postgres'
      ? openPostgres({ ...options, preparedStatements: true })
      : openMysql(options))
    return new SilentWorld(name, proxy, database)
  }

  async one(): Promise<number> {
    const [row] = await this.database.query(raw('select 1 as one'))
    return Number(row?.one)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.close()
    await this.proxy.close()
  }
}

/** What it was taken for, and that it came in time. */
async function failureOf({ database }: SilentWorld, call: Promise<unknown>): Promise<string> {
  const began = performance.now()
  const error = await call.then(
    () => null,
    thrown => thrown,
  )
  expect(performance.now() - began).toBeLessThan(10 * answerMs)
  return error === null ? 'none' : database.dialect.classify(error)
}

/** What MySQL says since 8.0.24 before it closes a session in which nothing has happened for long. */
function inactivity(): Buffer {
  const body = Buffer.from(
    '\xff\xbf\x0f#HY000The client was disconnected by the server because of inactivity.',
    'latin1',
  )
  return Buffer.concat([Buffer.from([body.length, 0, 0, 0]), body])
}

forEachServerAtOnce('a server that ends idle sessions', database => {
  it('is not noticed: the next statements get other connections', async () => {
    await using world = await SilentWorld.open(database.name, (await database.isolated()).url)
    for (let round = 0; round < 3; round++) {
      await Promise.all([world.one(), world.one(), world.one()])
      world.proxy.hangUp(database.name === 'mysql' ? inactivity() : Buffer.alloc(0))
      await waitFor(() => world.proxy.connected === 0)
      expect(await world.one()).toBe(1)
    }
  })
})

forEachServerAtOnce('a server that falls silent', database => {
  const open = async () => SilentWorld.open(database.name, (await database.isolated()).url)

  it('is taken for away, and its connection is replaced', async () => {
    await using world = await open()
    expect(await world.one()).toBe(1)
    world.proxy.fallSilent()
    expect(await failureOf(world, world.one())).toBe('connection')
    expect(await world.one()).toBe(1)
    expect(world.database.poolUse?.().used).toBe(0)
  })

  it('in mid-transaction is given up as well', async () => {
    await using world = await open()
    const inTransaction = world.database.transaction(async transaction => {
      await transaction.query(raw('select 1 as one'))
      world.proxy.fallSilent()
      await transaction.query(raw('select 2 as two'))
    })
    expect(await failureOf(world, inTransaction)).toBe('connection')
    expect(await world.one()).toBe(1)
    const inUserTransaction = world.database.userTransaction(async ({ closing }) => {
      world.proxy.fallSilent()
      await closing()
    })
    expect(await failureOf(world, inUserTransaction)).toBe('connection')
    expect(await world.one()).toBe(1)
  })

  it('is told from one that is at a long piece of work, where that is to be expected', async () => {
    await using world = await open()
    expect(await failureOf(world, world.database.query(world.sleep))).toBe('connection')
    const patient = world.database.session(session => session.query(world.sleep), { mayTakeLong: true })
    expect(await patient).toHaveLength(1)
  })
})
