/** A connection that dies in a transaction of the application: nothing was committed, whatever its library makes of the error. */
import { PrismaPg } from '@prisma/adapter-pg'
import { drizzle } from 'drizzle-orm/node-postgres'
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OpenTransaction, type Transaction, Workflow } from '../../src/index.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'
import { notesTable, type OpenApplication } from './transactional-start/application.ts'
import { libraries } from './transactional-start/libraries.ts'
import { prismaApplication, prismaClient } from './transactional-start/prisma-application.ts'
import { drizzleApplication, execute, kyselyApplication } from './transactional-start/query-builders.ts'

/** What the test does in the step. Every library has a type of its own, which an application would register. */
let write: (tx: any) => Promise<unknown> = async () => {}

/** Whoever does not listen to the errors of a client that is in use ends with it. */
function listeningPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url })
  pool.on('connect', client => client.on('error', () => {}))
  return pool.on('error', () => {})
}

const { 'a mysql2 connection with promises': _oneConnection, ...onMysql } = libraries.mysql
const applications: Readonly<Record<'postgres' | 'mysql', Readonly<Record<string, OpenApplication>>>> = {
  postgres: {
    Kysely: url =>
      kyselyApplication(
        new Kysely({ dialect: new PostgresDialect({ pool: listeningPool(url) }), plugins: [new CamelCasePlugin()] }),
      ),
    'Drizzle on pg': url => {
      const pool = listeningPool(url)
      return drizzleApplication(drizzle(pool), { run: execute, close: () => pool.end() })
    },
    Prisma: url => prismaApplication(prismaClient('postgresql', new PrismaPg(listeningPool(url))), '$1'),
  },
  mysql: onMysql,
}

class Noting extends Workflow {
  static {
    this.named('noting on dead connections')
    this.allowMultiple()
    this.transactionalStep('write')
  }
  async write(tx: Transaction) {
    await write(tx)
  }
}

/** Of the transaction that has written a note. */
const writing = {
  postgres: `select pid as id from pg_locks where relation = 'application_notes'::regclass and mode = 'RowExclusiveLock'`,
  mysql: `select p.id as id from information_schema.innodb_trx t join information_schema.processlist p on p.id = t.trx_mysql_thread_id
    where p.db = database() and t.trx_rows_modified > 0 order by t.trx_started`,
}
const alive = {
  postgres: (id: unknown) => `select pid from pg_stat_activity where pid = ${id}`,
  mysql: (id: unknown) => `select id from information_schema.processlist where id = ${id}`,
}
const ending = { postgres: (id: unknown) => `select pg_terminate_backend(${id})`, mysql: (id: unknown) => `kill ${id}` }

/** SQLite has no connection that could die. */
function isServer(database: TestDatabase): database is TestDatabase & { readonly name: keyof typeof writing } {
  return database.name !== 'sqlite'
}

describe.each(databases.filter(isServer))('a transaction whose connection dies in mid-step on $name', database => {
  const { name } = database
  const under = useGeneva(database, { workflows: [Noting] })
  let plain: PlainConnection
  beforeAll(async () => {
    plain = await connectPlainly(name, under.url)
    await plain.query(notesTable)
  })
  afterAll(() => plain.close())

  async function endConnection(): Promise<void> {
    const [found] = await waitFor(async () => {
      const rows = await plain.query(writing[name])
      return rows.length > 0 && rows
    })
    await plain.query(ending[name](found?.id))
    await waitFor(async () => (await plain.query(alive[name](found?.id))).length === 0)
  }

  describe.each(Object.entries(applications[name]))('of %s', (library, open) => {
    it('is begun anew, and counts as no failure of the step', async () => {
      const application = await open(under.url)
      const transactions = ((run: any) => application.transaction(run)) as OpenTransaction
      const geneva = under.another({ workflows: [Noting], transactions })
      const worker = await geneva.startWorker(quickly)
      let calls = 0
      write = async tx => {
        calls++
        await application.note(tx, library)
        if (calls === 1) await endConnection()
      }
      const wf = await geneva.start(Noting)
      await waitFor(async () => ['finished', 'paused'].includes((await wf.refresh()).state))
      const history = await wf.history()
      await worker.stop()
      // Some wait for ever for the connection that is dead.
      void Promise.resolve(application.close()).catch(() => {})
      expect(history).toMatchObject([{ outcome: 'success', attempt: 1, error: null }])
      expect(calls).toBe(2)
      expect(await plain.query(`select note from application_notes where note = '${library}'`)).toHaveLength(1)
    })
  })
})
