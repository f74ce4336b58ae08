/**
 * One of many processes that migrate the same database at the same instant. With a second argument it kills itself right
 * after that many schema statements have been carried out, for tables with keys of the type that a third one says.
 */
import { Geneva } from '../../src/index.ts'
import { openMysql } from '../../src/store/mysql/mysql-database.ts'
import { openPostgres } from '../../src/store/postgres/postgres-database.ts'
import type { Database, Executor } from '../../src/store/sql/dialect.ts'
import { SqlStore } from '../../src/store/sql/sql-store.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-database.ts'
import { Contest } from './harness/contest.ts'
import { kindOf } from './harness/plain-access.ts'

const [url = '', dieAfter, keyType] = process.argv.slice(2)
process.once('message', async () => {
  if (dieAfter === undefined) await migrate()
  else
    await new SqlStore(dyingDatabase(await open(), Number(dieAfter)), keyType === 'uuid' ? { keyType } : {}).migrate()
  process.send?.({ migrated: true })
  process.disconnect()
})
process.send?.({ ready: true })

async function migrate(): Promise<void> {
  const geneva = new Geneva({ database: url, workflows: [Contest] })
  await geneva.migrate()
  await geneva.close()
}

function open(): Promise<Database> {
  const kind = kindOf(url)
  if (kind === 'postgres') return openPostgres({ url, poolSize: 2, preparedStatements: true })
  if (kind === 'mysql') return openMysql({ url, poolSize: 2 })
  return openSqlite({ path: url.replace('sqlite:', ''), synchronous: 'full' })
}

/** The process ends when the statement after the last allowed one is about to be sent. */
function dyingDatabase(inner: Database, allowed: number): Database {
  let left = allowed
  const executor = (real: Executor): Executor => ({
    pipelines: real.pipelines,
    query: statement => real.query(statement),
    run: statement => {
      if (/^\s*(create|alter|insert)\b/i.test(statement.parts[0] ?? '') && left-- === 0) die()
      return real.run(statement)
    },
  })
  return {
    ...executor(inner),
    dialect: inner.dialect,
    transaction: work => inner.transaction(work),
    snapshot: statements => inner.snapshot(statements),
    session: work => inner.session(real => work(executor(real))),
    userTransaction: work => inner.userTransaction(work),
    borrow: handle => inner.borrow(handle),
    close: () => inner.close(),
  }
}

function die(): void {
  process.kill(process.pid, 'SIGKILL')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5000)
}
