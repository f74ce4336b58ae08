/** A file that another process has locked: what meets the lock tries again instead of failing. */
import { expect, it } from 'vitest'
import { openSqliteHandle } from '../../src/store/sqlite/sqlite-driver.ts'
import { databases } from '../support/databases.ts'
import { openSameStore } from '../support/open-store.ts'

it('makes a read or a write wait, however the library words the error', async () => {
  const { url } = (await databases.find(database => database.name === 'sqlite')?.isolated()) ?? { url: '' }
  const store = await openSameStore(url)
  const path = url.replace('sqlite:', '')
  const [holder, other] = [await openSqliteHandle(path), await openSqliteHandle(path)]
  other.exec('pragma busy_timeout = 0')
  holder.exec('begin immediate')
  const write = 'delete from geneva_drive_workers'
  const tries = [() => other.exec(write), () => other.prepare(write).run(), () => other.prepare(write).all()]
  for (const attempt of tries) expect(store.isLasting(thrownBy(attempt))).toBe(false)
  expect(store.isLasting(thrownBy(() => other.exec('delete from no_such_table')))).toBe(true)
  holder.exec('rollback')
  holder.close()
  other.close()
  await store.close()
})

function thrownBy(attempt: () => unknown): unknown {
  try {
    attempt()
  } catch (error) {
    return error
  }
  throw new Error('It did not throw.')
}
