/** Servers may begin sessions with autocommit off. What the engine writes by itself is committed at once all the same. */
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { databases } from '../support/databases.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { quickly } from '../support/use-geneva.ts'
import { gate } from '../support/wait-for.ts'

const called = gate()
const looked = gate()

class Charge extends Workflow {
  static {
    this.named('ChargeWithoutAutocommit')
    this.step('charge', { idempotent: false })
  }
  async charge() {
    called.open()
    await looked.passed
    return 'charged'
  }
}

/** Lets the sessions of one user begin without autocommit, and nobody else's. Users with all rights are never asked. */
async function userWithout(admin: PlainConnection, url: string): Promise<string> {
  const user = 'geneva_uncommitted'
  const name = new URL(url).pathname.slice(1)
  const [before] = await admin.query('select @@global.init_connect as text')
  await admin.query(`create user if not exists ${user}@'%' identified by 'secret'`)
  await admin.query(`create user if not exists ${user}@localhost identified by 'secret'`)
  await admin.query(`grant all on ${name}.* to ${user}@'%'`)
  await admin.query(`grant all on ${name}.* to ${user}@localhost`)
  await admin.query(`set global init_connect = "set autocommit = if(user() like '${user}@%', 0, 1)"`)
  onTestFinished(async () => {
    await admin.query(`set global init_connect = '${String(before?.text ?? '')}'`)
    await admin.query(`drop user ${user}@'%', ${user}@localhost`)
    await admin.close()
  })
  return Object.assign(new URL(url), { username: user, password: 'secret' }).href
}

describe.runIf(inject('servers').mysql)('sessions that begin without autocommit', () => {
  it('see the mark of a call written before the call, and the lease with it', async () => {
    const database = databases.find(each => each.name === 'mysql')
    const { url } = (await database?.isolated()) ?? { url: '' }
    const admin = await connectPlainly('mysql', url)
    const limited = await userWithout(admin, url)
    const their = await connectPlainly('mysql', limited)
    expect(await their.query('select @@autocommit as value')).toEqual([{ value: 0 }])
    await their.close()

    const geneva = new Geneva({ database: limited, workflows: [Charge] })
    onTestFinished(() => geneva.close())
    await geneva.migrate()
    const wf = await geneva.start(Charge)
    await geneva.startWorker({ ...quickly, heartbeatThread: false })
    await called.passed
    const marks = await admin.query('select start_mark > 0 as marked from geneva_drive_active_executions')
    const open = await admin.query(
      `select count(*) as count from information_schema.innodb_trx join information_schema.processlist on id = trx_mysql_thread_id where user = 'geneva_uncommitted'`,
    )
    looked.open()
    expect(marks).toEqual([{ marked: 1 }])
    expect(open).toEqual([{ count: 0 }])
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('charged')
  })
})
