/** Old code on newer tables, as it happens during a deploy: it goes on while they still have what it needs. */
import { expect, it } from 'vitest'
import { defineJob, Geneva } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'

const greet = defineJob('greet', async () => 'hi')

forEachDatabase('tables of a newer version', database => {
  it('serve older code until they drop what it needs', async () => {
    const { url } = await database.isolated()
    const open = async () => {
      await using geneva = new Geneva({ database: url })
      await geneva.migrate()
    }
    await open()
    const connection = await connectPlainly(database.name, url)
    await connection.query(`insert into geneva_drive_migrations (version, name, key_type, compatible_from, applied_at)
      select 7, 'later', key_type, 1, applied_at from geneva_drive_migrations where version = 1`)
    await open()
    await connection.query('update geneva_drive_migrations set compatible_from = 7 where version = 7')
    await expect(open()).rejects.toMatchObject({
      code: 'SCHEMA',
      message: expect.stringContaining('Upgrade geneva-drive'),
    })
    await connection.close()
  })
})

forEachDatabase('tables of the first version', database => {
  it('are brought up to date with what is in them', async () => {
    const { url } = await database.isolated()
    await using geneva = new Geneva({ database: url, jobs: [greet] })
    await geneva.migrate()
    const before = await geneva.startGraph(geneva.build(w => w.node('hello', { job: greet })))
    const connection = await connectPlainly(database.name, url)
    for (const table of ['active_executions', 'step_executions', 'dead_letters', 'events']) {
      await connection.query(`alter table geneva_drive_${table} drop column node_name`)
    }
    await connection.query('delete from geneva_drive_migrations where version = 2')
    await using later = new Geneva({ database: url, jobs: [greet] })
    await later.migrate()
    await later.runDue()
    expect((await before.refresh()).state).toBe('finished')
    expect(await before.history()).toMatchObject([{ step: expect.stringMatching(/^n_/) }])
    const after = await later.startGraph(later.build(w => w.node('hello', { job: greet })))
    await later.runDue()
    expect(await after.history()).toMatchObject([{ step: 'hello', state: 'completed' }])
    await connection.close()
  })
})
