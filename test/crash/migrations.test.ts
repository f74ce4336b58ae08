/** Many processes that migrate an empty database at once, and one that is killed half-way. */
import { expect, it } from 'vitest'
import { Geneva } from '../../src/index.ts'
import { Contest, Contestants } from '../programs/harness/contest.ts'
import { openAccess } from '../programs/harness/plain-access.ts'
import { forEachDatabase } from '../support/databases.ts'
import { spawnProgram } from '../support/spawn-program.ts'

/** `GENEVA_MIGRATORS=50` for the full number. */
const processes = Number(process.env.GENEVA_MIGRATORS ?? 8)

async function expectWorkingTables(url: string): Promise<void> {
  await using geneva = new Geneva({ database: url, workflows: [Contest] })
  const wf = await geneva.start(Contest, { hero: Contestants.ref('first') })
  await expect(geneva.start(Contest, { hero: Contestants.ref('first') })).rejects.toMatchObject({
    code: 'ALREADY_ACTIVE',
    workflowId: wf.id,
  })
  expect(await geneva.runDue()).toBe(1)
  expect((await wf.refresh()).state).toBe('finished')
  const access = await openAccess(url)
  const migrations = await access.query(`select version from ${access.table('geneva_drive_migrations')}`)
  const definitions = await access.query(`select type from ${access.table('geneva_drive_definitions')}`)
  await access.close()
  expect(new Set(migrations.map(row => Number(row.version))).size).toBe(migrations.length)
  expect(definitions).toHaveLength(1)
}

forEachDatabase('an empty database', database => {
  it(`is migrated by ${processes} processes at once, and all succeed`, { timeout: 120_000 }, async () => {
    const { url } = await database.isolated()
    const migrators = Array.from({ length: processes }, () => spawnProgram('migrator', [url]))
    await Promise.all(migrators.map(migrator => migrator.nextMessage(() => true, 60_000)))
    for (const migrator of migrators) migrator.send('go')
    await Promise.all(migrators.map(migrator => migrator.nextMessage(() => true, 60_000)))
    for (const migrator of migrators) expect(await migrator.exited).toEqual({ code: 0, signal: null })
    await expectWorkingTables(url)
  })

  it('is migrated by the next process when one was killed half-way, wherever that was', async () => {
    const dieAfter = async (statements: number) => {
      const { url, drop } = await database.isolated()
      const victim = spawnProgram('migrator', [url, String(statements)])
      await victim.nextMessage()
      victim.send('go')
      expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' })
      await expectWorkingTables(url)
      await drop()
    }
    await Promise.all([1, 3, 5, 9].map(dieAfter))
  })

  it('has keys of one type when the next process does not say which, wherever the first was killed', async () => {
    const dieAfter = async (statements: number) => {
      const { url, drop } = await database.isolated()
      const victim = spawnProgram('migrator', [url, String(statements), 'uuid'])
      await victim.nextMessage()
      victim.send('go')
      expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' })
      await expectWorkingTables(url)
      const access = await openAccess(url)
      const types = (await access.query(keyTypes[database.name].replace(':name', new URL(url).pathname.slice(1)))).map(
        row => String(row.type),
      )
      await access.close()
      await drop()
      expect(types.length).toBeGreaterThan(5)
      return [...new Set(types)]
    }
    for (const types of await Promise.all([3, 5, 9].map(dieAfter))) expect(types).toHaveLength(1)
  })
})

/** Of the ids of workflows in all tables. */
const keyTypes = {
  sqlite: `select p.type as type from sqlite_master m, pragma_table_info(m.name) p
    where m.name like 'geneva_drive_%' and m.type = 'table' and p.name = 'workflow_id'`,
  postgres: `select data_type as type from information_schema.columns
    where table_name like 'geneva_drive_%' and column_name = 'workflow_id'`,
  mysql: `select data_type as type from information_schema.columns
    where table_schema = ':name' and table_name like 'geneva_drive_%' and column_name = 'workflow_id'`,
} as const
