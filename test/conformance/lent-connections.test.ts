/** Connections of ours that the application's code has used: it takes its time on them, and leaves nothing behind. */
import { expect, it, type TestContext } from 'vitest'
import { openMysql } from '../../src/store/mysql/mysql-database.ts'
import { openPostgres } from '../../src/store/postgres/postgres-database.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { raw } from '../../src/store/sql/sql.ts'
import { forEachServerAtOnce, type TestDatabase } from '../support/databases.ts'

interface Server {
  readonly sleep: string
  /** Read all that a session has of its own, and which one it is: it is kept, not replaced. */
  readonly looks: readonly string[]
  /** What code may do that concerns whoever gets the session next. */
  readonly leaves: readonly string[]
}

const servers: { readonly [Name in string]?: Server } = {
  postgres: {
    sleep: 'select pg_sleep(1)::text as slept',
    looks: [
      `select pg_backend_pid()::text as connection, current_user::text, session_user::text, to_regclass('pg_temp.stray')::text as stray, current_setting('search_path') as path,
      current_setting('plan_cache_mode') as plans, current_setting('enable_seqscan') as scans, current_setting('statement_timeout') as timeout,
      current_setting('idle_in_transaction_session_timeout') as idling, current_setting('default_transaction_read_only') as reads,
      current_setting('default_transaction_isolation') as isolation, current_setting('application_name') as name,
      (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())::text as locks`,
    ],
    leaves: [
      'set role pg_monitor',
      'set search_path to elsewhere',
      `set statement_timeout = '5s'`,
      `set idle_in_transaction_session_timeout = '1s'`,
      'set default_transaction_read_only = on',
      `set default_transaction_isolation = 'serializable'`,
      `set application_name = 'mine'`,
      'set plan_cache_mode = force_custom_plan',
      'create temp table stray (id int)',
      'select pg_advisory_lock(42)',
    ],
  },
  mysql: {
    sleep: 'select sleep(1) as slept',
    looks: [
      `select connection_id() as connection, database() as name, @@sql_mode as mode, @@autocommit as autocommit, @@time_zone as zone,
      @@innodb_lock_wait_timeout as wait_ms, @@foreign_key_checks as checks, @mine as mine, is_used_lock('mine') is not null as locked`,
      `show session variables where variable_name in ('tx_isolation', 'transaction_isolation')`,
    ],
    leaves: [
      'use mysql',
      `set session sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'`,
      'set session transaction isolation level serializable',
      `set session time_zone = '+05:00'`,
      'set session innodb_lock_wait_timeout = 1',
      'set session foreign_key_checks = 0',
      'set @mine = 1',
      `select get_lock('mine', 1) as locked`,
    ],
  },
}

/** One connection, so that whoever comes next gets the same. */
async function openOne({ name, isolated }: TestDatabase, test: TestContext, answerMs?: number): Promise<Database> {
  const { url } = await isolated()
  const options = { url, poolSize: 1, ...(answerMs === undefined ? {} : { answerMs }) }
  const database = await (name === 'postgres'
    ? openPostgres({ ...options, preparedStatements: true })
    : openMysql(options))
  test.onTestFinished(() => database.close())
  return database
}

forEachServerAtOnce('a connection that was lent to the application', server => {
  const { sleep, looks, leaves } = servers[server.name] as Server

  it('waits for its statements for as long as they take, and then for ours no longer than before', async test => {
    const database = await openOne(server, test, 500)
    const slept = await database.userTransaction(async ({ transaction: { query } }) => query(sleep))
    expect(slept).toHaveLength(1)
    const failing = database.userTransaction(async ({ transaction: { query } }) => {
      await query(sleep)
      throw new Error('own')
    })
    await expect(failing).rejects.toThrow('own')
    const ours = await database.query(raw(sleep)).catch(error => database.dialect.classify(error))
    expect(ours).toBe('connection')
    const closing = database.userTransaction(async ({ closing, executor }) => {
      await closing()
      await executor.query(raw(sleep))
    })
    expect(await closing.catch(error => database.dialect.classify(error))).toBe('connection')
  })

  it('waits as long for what is sent through the handle', async test => {
    const database = await openOne(server, test, 500)
    const slept = database.userTransaction(async ({ transaction: { handle } }) => {
      await (handle as { query(text: string): Promise<unknown> }).query(sleep)
      return 'slept'
    })
    expect(await slept).toBe('slept')
  })

  it.for(['commits', 'fails'])('has nothing left of what its code has set when it %s', async (how, test) => {
    const database = await openOne(server, test)
    const lookAround = async () => {
      const seen: unknown[] = []
      for (const look of looks) seen.push(await database.query(raw(look)))
      return seen
    }
    const before = await lookAround()
    for (const statement of leaves) {
      const lent = database.userTransaction(async ({ transaction: { query } }) => {
        await query(statement)
        if (how === 'fails') throw new Error('own')
      })
      await (how === 'fails' ? expect(lent).rejects.toThrow('own') : lent)
      expect([statement, await lookAround()]).toEqual([statement, before])
    }
    expect(database.poolUse?.().used).toBe(0)
  })
})
