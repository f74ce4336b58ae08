/** What stands beside our own numbers is measured to the end. */
import { describe, expect, it } from 'vitest'
import { claimed, due, lastStep } from '../../bench/limit/limit-store.ts'
import { openMysqlLimit } from '../../bench/limit/mysql-limit.ts'
import { databases } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { somebodyWaits } from '../support/somebody-waits.ts'

describe.each(databases.filter(({ name }) => name === 'mysql'))('the limit on $name', database => {
  it('is measured to its end though the server breaks up a set', async () => {
    const { url } = await database.isolated()
    const limit = openMysqlLimit(url, 'two')
    const other = await connectPlainly(database.name, url)
    try {
      await limit.prepare()
      await limit.start([1, 2], due)
      const rows = await limit.claim(10)
      const last = rows.map(row => ({ ...row, step: lastStep }))
      // The other one has written more, so that the set is the one that is broken up.
      const lines = Array.from({ length: 200 }, (_, index) => `(${index + 1000}, 0, 1, 0)`)
      await other.query('begin')
      await other.query(`insert into limit_history values ${lines}`)
      await other.query('update limit_workflows set state = 1 where id = 2')
      const finishing = limit.finish(last, claimed)
      await somebodyWaits(database.name, other)
      await other.query('update limit_executions set state = 1')
      await other.query('rollback')
      await finishing
      expect(await limit.ended()).toEqual({ workflows: 2, steps: 2 })
    } finally {
      await other.close()
      await limit.close()
    }
  })
})
