/** What one transaction holds locked keeps nobody else waiting: neither starts, nor reports, nor schedules, nor take-overs. */
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { expect, it } from 'vitest'
import { type Child, defineHero, defineSchedule, PermanentError, Workflow } from '../../src/index.ts'
import { pauseFor } from '../../src/primitives/pause-for.ts'
import { type DatabaseName, forEachServerAtOnce } from '../support/databases.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { somebodyWaits } from '../support/somebody-waits.ts'
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
    if (this.input.gate.startsWith('throws')) throw new PermanentError('Not this one.')
  }
}

class Pair extends Workflow<null, { gate: string }> {
  static {
    this.named('Pair')
    this.allowMultiple()
    this.step('first')
    this.step('second')
  }
  async first() {
    await gates.stop(this.input.gate, this.signal)
  }
  async second() {}
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

forEachServerAtOnce('a start', database => {
  const under = useGeneva(database, { workflows: [Fulfil, Lone] })

  it('does not wait for those of a hero whose workflow the application is about to commit', async () => {
    const client = await openClient(database.name, under.url)
    const watcher = await connectPlainly(database.name, under.url)
    await client.query('begin')
    const hero = { id: 1 }
    await under.geneva.start(Fulfil, { hero }, { transaction: client })
    const conflicts = [0, 1, 2].map(() => under.geneva.start(Fulfil, { hero }).catch(error => error.code))
    await somebodyWaits(database.name, watcher)
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

forEachServerAtOnce('a start in a group', database => {
  const under = useGeneva(database, { workflows: [Fulfil] })

  it('does not wait for that of a hero which was asked for in the same turn', async () => {
    const client = await openClient(database.name, under.url)
    await client.query('begin')
    await under.geneva.start(Fulfil, { hero: { id: 10 } }, { transaction: client })
    const conflict = under.geneva.start(Fulfil, { hero: { id: 10 } }).catch(error => error.code)
    let others = 0
    for (let id = 11; id <= 30; id++) void under.geneva.start(Fulfil, { hero: { id } }).then(() => others++)
    try {
      await waitFor(() => others === 20, 5000)
    } finally {
      await client.query('commit')
      await client.end()
    }
    expect(await conflict).toBe('ALREADY_ACTIVE')
  })
})

forEachServerAtOnce('a report', database => {
  const under = useGeneva(database, { workflows: [Held, Lone] })

  it('does not wait for that on a locked workflow whose step ended in the same turn', async () => {
    const worker = await under.geneva.startWorker({ poll: 5, grace: 0, heartbeatThread: false })
    const names = Array.from({ length: 8 }, (_, index) => `${database.name} ${index}`)
    const all = await under.geneva.startMany(
      Held,
      names.map(gate => ({ input: { gate } })),
    )
    await Promise.all(names.map(name => gates.arrived(name)))
    const [locked, ...others] = all
    const other = await connectPlainly(database.name, under.url)
    await other.query('begin')
    await other.query(`select * from geneva_drive_workflows where id = '${locked?.id}' for update`)
    for (const name of names) gates.open(name)
    try {
      await Promise.all(others.map(workflow => workflow.waitUntilFinished({ timeout: '5s' })))
    } finally {
      await other.query('rollback')
      await locked?.waitUntilFinished({ timeout: '10s' })
      await other.close()
      await worker.stop()
    }
    expect(under.errors).toEqual([])
  })

  it('does not wait for those on a workflow that somebody has locked', async () => {
    const worker = await under.geneva.startWorker({ poll: 5, grace: 0, heartbeatThread: false })
    const held = await under.geneva.start(Held, { input: { gate: database.name } })
    await gates.arrived(database.name)
    const other = await connectPlainly(database.name, under.url)
    const watcher = await connectPlainly(database.name, under.url)
    await other.query('begin')
    await other.query(`select * from geneva_drive_workflows where id = '${held.id}' for update`)
    gates.open(database.name)
    await somebodyWaits(database.name, watcher)
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

forEachServerAtOnce('a step that has ended beside one whose workflow is locked', database => {
  const under = useGeneva(database, { workflows: [Held, Pair] })

  it('is followed by the next at once, which does not count as forgotten', async () => {
    const worker = await under.geneva.startWorker({ poll: 5, grace: 0, heartbeatThread: false, lease: '2s' })
    const names = Array.from({ length: 6 }, (_, index) => `pair ${database.name} ${index}`)
    const stuck = await under.geneva.start(Held, { input: { gate: `throws ${database.name}` } })
    const pairs = await under.geneva.startMany(
      Pair,
      names.map(gate => ({ input: { gate } })),
    )
    const gatesOfAll = [names[0] ?? '', `throws ${database.name}`, ...names.slice(1)]
    await Promise.all(gatesOfAll.map(name => gates.arrived(name)))
    const other = await connectPlainly(database.name, under.url)
    await other.query('begin')
    await other.query(`select * from geneva_drive_workflows where id = '${stuck.id}' for update`)
    for (const name of gatesOfAll) gates.open(name)
    try {
      await Promise.all(pairs.map(pair => pair.waitUntilFinished({ timeout: '10s' })))
      for (const pair of pairs) {
        expect((await pair.history()).map(({ step, attempt, outcome }) => [step, attempt, outcome])).toEqual([
          ['first', 1, 'success'],
          ['second', 1, 'success'],
        ])
      }
    } finally {
      await other.query('rollback')
      await waitFor(async () => (await stuck.refresh())?.state === 'paused')
      await other.close()
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
      await somebodyWaits(database.name, watcher)
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

forEachServerAtOnce('a schedule', database => {
  const under = useGeneva(database, {
    workflows: [Fulfil, Lone],
    schedules: [
      defineSchedule('a held one', { every: '1s', workflow: Fulfil, start: { hero: Orders.ref(1) } }),
      defineSchedule('b free one', { every: '1s', workflow: Lone }),
    ],
  })

  it('does not wait for one whose hero an application has in an open transaction, and that one ticks later', async () => {
    const client = await openClient(database.name, under.url)
    const startedBy = async (name: string) => (await under.geneva.schedules.find(name))?.started ?? 0
    await client.query('begin')
    await under.geneva.start(Fulfil, { hero: { id: 1 } }, { transaction: client })
    const worker = await under.geneva.startWorker({ poll: 5, grace: 0, heartbeatThread: false })
    try {
      await waitFor(async () => (await startedBy('b free one')) > 0, 8000)
      expect(await startedBy('a held one')).toBe(0)
    } finally {
      await client.query('rollback')
      await client.end()
    }
    await waitFor(async () => (await startedBy('a held one')) > 0, 15_000)
    await worker.stop()
  })
})

/** Far away from its next step, in two versions. */
function laterClass(steps: readonly string[]) {
  class Later extends Workflow {
    static {
      this.named('Later')
      this.allowMultiple()
      for (const step of steps) this.inline(step, { wait: '1 hour' }, () => {})
    }
  }
  return Later
}

forEachServerAtOnce('a locked workflow that goes by older code', database => {
  const Former = laterClass(['one'])
  const Later = laterClass(['one', 'two'])
  const under = useGeneva(database, { workflows: [Former, Lone] })
  const lease = 1500
  const longestLookMs = 2000

  it('keeps nobody from taking over what a dead worker has left, and is brought in line when it is free', async () => {
    const store = await under.geneva.openedStore()
    const outdated = await under.geneva.start(Former)
    const free = await under.geneva.start(Lone)
    const newer = under.another({ workflows: [Later, Lone] })
    await newer.openedStore()
    const other = await connectPlainly(database.name, under.url)
    await other.query('begin')
    await other.query(`select * from geneva_drive_workflows where id = '${outdated.id}' for update`)
    // Its lease lapses when the worker has begun to look after everything else.
    await store.registerWorker({ id: 'dead', host: 'test', pid: 1, leaseMs: lease, handlers: ['Lone'] })
    const sources = [{ queue: 'default', handler: 'Lone', generation: 1 }]
    expect(await store.claim({ workerId: 'dead', sources, limit: 10 })).toHaveLength(1)
    const worker = await newer.startWorker({ poll: 5, grace: 0, heartbeatThread: false, lease })
    const generation = async () => (await store.findWorkflow(outdated.id))?.workflow.generation
    try {
      await waitFor(async () => (await store.heldBy('dead')).length === 0, lease + longestLookMs + 2000)
      await free.waitUntilFinished({ timeout: '5s' })
      expect(await generation()).toBe(1)
    } finally {
      await other.query('rollback')
      await other.close()
    }
    await waitFor(async () => (await generation()) === 2, longestLookMs + 5000)
    await worker.stop()
    expect(under.errors).toEqual([])
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

  forEachServerAtOnce(`taking over a ${what} that is locked again and again`, database => {
    const under = useGeneva(database, { workflows: [Lone] })
    const lease = 1000
    const longestLookMs = 2000

    it('gets its turn within the lease and a poll, also beside some that stay locked', async () => {
      const store = await under.geneva.openedStore()
      const stuck = await under.geneva.startMany(Lone, times(3, {}))
      const busy = stuck.pop()
      await store.registerWorker({ id: 'dead', host: 'test', pid: 1, leaseMs: lease, handlers: ['Lone'] })
      const sources = [{ queue: 'default', handler: 'Lone', generation: 1 }]
      expect(await store.claim({ workerId: 'dead', sources, limit: 10 })).toHaveLength(3)
      const connections = await Promise.all(times(3, null).map(() => connectPlainly(database.name, under.url)))
      const [keeper, ...holders] = connections as [PlainConnection, ...PlainConnection[]]
      const lock = (id = '') => `select * from geneva_drive_${table} where ${column} = ${id} for update`
      await keeper.query('begin')
      for (const { id } of stuck) await keeper.query(lock(id))
      let isOver = false
      // One of them holds it while the other stands in line.
      const holding = holders.map(async holder => {
        while (!isOver) {
          await holder.query('begin')
          await holder.query(lock(busy?.id))
          await pauseFor(20)
          await holder.query('commit')
        }
      })
      const worker = await under.geneva.startWorker({ poll: 5, grace: 0, heartbeatThread: false, lease })
      const isHeld = async () => (await store.heldBy('dead')).some(({ workflow }) => workflow.id === busy?.id)
      try {
        // Those that it stands behind are waited for in vain, a second each.
        await waitFor(async () => !(await isHeld()), lease + longestLookMs + stuck.length * 1000 + 2000)
        expect(await store.heldBy('dead')).toHaveLength(stuck.length)
      } finally {
        isOver = true
        await Promise.all(holding)
        await keeper.query('rollback')
        await Promise.all(connections.map(connection => connection.close()))
      }
      await waitFor(async () => (await store.heldBy('dead')).length === 0)
      expect(under.errors).toEqual([])
      await worker.stop()
    })
  })

  forEachServerAtOnce(`a call of \`runDue\` beside an abandoned ${what} that is locked`, database => {
    const under = useGeneva(database, { workflows: [Lone] })

    it('waits a moment for it', async () => {
      const store = await under.geneva.openedStore()
      const busy = await under.geneva.start(Lone)
      await store.registerWorker({ id: 'gone', host: 'test', pid: 1, leaseMs: 60_000, handlers: ['Lone'] })
      const sources = [{ queue: 'default', handler: 'Lone', generation: 1 }]
      expect(await store.claim({ workerId: 'gone', sources, limit: 10 })).toHaveLength(1)
      await store.retireWorker('gone')
      const holder = await connectPlainly(database.name, under.url)
      const watcher = await connectPlainly(database.name, under.url)
      await holder.query('begin')
      await holder.query(`select * from geneva_drive_${table} where ${column} = ${busy.id} for update`)
      const ran = under.geneva.runDue({ poll: 5, grace: 0 })
      await somebodyWaits(database.name, watcher)
      await holder.query('rollback')
      expect(await ran).toBe(1)
      expect(await under.geneva.find(busy.id)).toMatchObject({ state: 'finished' })
      await Promise.all([holder.close(), watcher.close()])
    })
  })
}

function times<T>(count: number, item: T): T[] {
  return Array.from({ length: count }, () => item)
}
