/** What one transaction holds locked keeps nobody else waiting: neither starts, nor reports, nor take-overs. */
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { expect, it } from 'vitest'
import { type Child, defineHero, Workflow } from '../../src/index.ts'
import { type DatabaseName, forEachServerAtOnce } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
const Orders = defineHero('Order', { id: (order: { id: number }) => order.id, load: async id => ({ id: Number(id) }) })

class Lone extends Workflow {
  static {
    this.named('Lone')
    this.allowMultiple()
    this.step('only')
  }
  async only() {}
}

class Fulfil extends Workflow<{ id: number }> {
  static {
    this.named('Fulfil')
    this.heroes(Orders)
    this.step('ship')
  }
  async ship() {}
}

class Parent extends Workflow {
  static {
    this.named('Parent')
    this.allowMultiple()
    this.child('sub', { workflow: Fulfil, start: () => ({ hero: { id: 1 } }) })
  }
  async sub(child: Child<Fulfil>) {
    return child.result()
  }
}

class Held extends Workflow<null, { gate: string }> {
  static {
    this.named('Held')
    this.allowMultiple()
    this.step('stop')
  }
  async stop() {
    await gates.stop(this.input.gate, this.signal)
  }
}

interface Client {
  query(statement: string): Promise<unknown>
  end(): Promise<void>
}

/** What an application has: a connection of its driver. */
async function openClient(name: DatabaseName, url: string): Promise<Client> {
  if (name !== 'postgres') return createConnection({ uri: url })
  const client = new pg.Client(url)
  await client.connect()
  return client
}

/** Who waits for a lock in this database. */
const lockWaits = {
  postgres: `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
  // What InnoDB tells of its transactions is renewed only when nobody has asked for a while.
  mysql: `select 1 from information_schema.processlist
    where db = database() and command = 'Query' and id <> connection_id() and time_ms > 100`,
  sqlite: '',
}

forEachServerAtOnce('a start', database => {
  const under = useGeneva(database, { workflows: [Fulfil, Lone] })

  it('does not wait for those of a hero whose workflow the application is about to commit', async () => {
    const client = await openClient(database.name, under.url)
    const watcher = await connectPlainly(database.name, under.url)
    await client.query('begin')
    const hero = { id: 1 }
    await under.geneva.start(Fulfil, { hero }, { transaction: client })
    const conflicts = [0, 1, 2].map(() => under.geneva.start(Fulfil, { hero }).catch(error => error.code))
    await waitFor(async () => (await watcher.query(lockWaits[database.name])).length > 0)
    try {
      let others = 0
      void under.geneva.start(Lone).then(() => others++)
      void under.geneva.start(Fulfil, { hero: { id: 2 } }).then(() => others++)
      await waitFor(() => others === 2, 5000)
    } finally {
      await client.query('commit')
      await client.end()
      await watcher.close()
    }
    expect(new Set(await Promise.all(conflicts))).toEqual(new Set(['ALREADY_ACTIVE']))
  })
})

forEachServerAtOnce('a report', database => {
  const under = useGeneva(database, { workflows: [Held, Lone] })

  it('does not wait for those on a workflow that somebody has locked', async () => {
    const worker = await under.geneva.startWorker({ poll: 5, grace: 0, heartbeatThread: false })
    const held = await under.geneva.start(Held, { input: { gate: database.name } })
    await gates.arrived(database.name)
    const other = await connectPlainly(database.name, under.url)
    const watcher = await connectPlainly(database.name, under.url)
    await other.query('begin')
    await other.query(`select * from geneva_drive_workflows where id = '${held.id}' for update`)
    gates.open(database.name)
    await waitFor(async () => (await watcher.query(lockWaits[database.name])).length > 0)
    try {
      const free = await under.geneva.start(Lone)
      await free.waitUntilFinished({ timeout: '5s' })
    } finally {
      await other.query('rollback')
      await held.waitUntilFinished({ timeout: '10s' })
      await other.close()
      await watcher.close()
      await worker.stop()
    }
  })
})

forEachServerAtOnce('the start of a child', database => {
  const under = useGeneva(database, { workflows: [Fulfil, Parent, Lone] })

  it('that waits for a transaction of the application holds up no other report, and no heartbeat', async () => {
    const client = await openClient(database.name, under.url)
    const watcher = await connectPlainly(database.name, under.url)
    await client.query('begin')
    const own = await under.geneva.start(Fulfil, { hero: { id: 1 } }, { transaction: client })
    const worker = await under.geneva.startWorker({ poll: 5, grace: 0, heartbeatThread: false, lease: '2s' })
    const parent = await under.geneva.start(Parent)
    const leaseUntil = async () =>
      Number((await watcher.query('select max(lease_until) as until from geneva_drive_workers'))[0]?.until)
    try {
      await waitFor(async () => (await watcher.query(lockWaits[database.name])).length > 0)
      const before = await leaseUntil()
      const free = await under.geneva.start(Lone)
      await free.waitUntilFinished({ timeout: '5s' })
      await waitFor(async () => (await leaseUntil()) > before + 1_000_000, 5000)
      expect(worker.healthy).toBe(true)
    } finally {
      await client.query('rollback')
      await client.end()
      await watcher.close()
    }
    await parent.waitUntilFinished({ timeout: '10s' })
    expect(own.id).not.toBe(parent.id)
    await worker.stop()
  })
})

for (const [what, table, column] of [
  ['workflow', 'workflows', 'id'],
  ['row', 'active_executions', 'workflow_id'],
]) {
  forEachServerAtOnce(`taking over beside a locked ${what}`, database => {
    const under = useGeneva(database, { workflows: [Lone] })

    it('does not wait for it, and is made up for when it is free', async () => {
      const store = await under.geneva.openedStore()
      const locked = await under.geneva.start(Lone)
      const free = await under.geneva.start(Lone)
      await store.registerWorker({ id: 'dead', host: 'test', pid: 1, leaseMs: 1, handlers: ['Lone'] })
      const sources = [{ queue: 'default', handler: 'Lone', generation: 1 }]
      expect(await store.claim({ workerId: 'dead', sources, limit: 10 })).toHaveLength(2)
      const other = await connectPlainly(database.name, under.url)
      await other.query('begin')
      await other.query(`select * from geneva_drive_${table} where ${column} = '${locked.id}' for update`)
      const worker = await under.geneva.startWorker({ poll: 5, grace: 0, heartbeatThread: false, lease: '1s' })
      try {
        await free.waitUntilFinished({ timeout: '10s' })
        expect(await store.heldBy('dead')).toMatchObject([{ workflow: { id: locked.id } }])
        await other.query('rollback')
        await locked.waitUntilFinished({ timeout: '10s' })
        expect(under.errors).toEqual([])
      } finally {
        await other.close()
        await worker.stop()
      }
    })
  })
}
