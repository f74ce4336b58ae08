/** Old code on newer tables, as it happens during a deploy: it goes on while they still have what it needs. */
import { expect, it } from 'vitest'
import { Geneva } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'

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
      select 7, 'later', key_type, 1, applied_at from geneva_drive_migrations`)
    await open()
    await connection.query('update geneva_drive_migrations set compatible_from = 7 where version = 7')
    await expect(open()).rejects.toMatchObject({
      code: 'SCHEMA',
      message: expect.stringContaining('Upgrade geneva-drive'),
    })
    await connection.close()
  })
})
