/** However few connections a process may keep, whatever runs in it comes to its end. */
import { expect, it } from 'vitest'
import { Geneva, type Transaction, Workflow } from '../../src/index.ts'
import { forEachServerAtOnce } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { quickly } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()

class Book extends Workflow {
  static {
    this.named('SmallPoolBook')
    this.allowMultiple()
    this.step('first')
    this.transactionalStep('book')
  }
  async first() {
    return 7
  }
  async book(tx: Transaction) {
    await tx.query('select 1 as one')
    return this.output(this.first)
  }
}

class Held extends Workflow<null, { gate: string }> {
  static {
    this.named('SmallPoolHeld')
    this.allowMultiple()
    this.step('stop')
  }
  async stop() {
    await gates.stop(this.input.gate, this.signal)
  }
}

class Lone extends Workflow {
  static {
    this.named('SmallPoolLone')
    this.allowMultiple()
    this.step('only')
  }
  async only() {}
}

const children = Array.from({ length: 30 }, (_, index) => `child${index}`)

class Parent extends Workflow<null, { of: string }> {
  static {
    this.named('SmallPoolParent')
    Object.assign(this.prototype, Object.fromEntries(children.map(name => [name, async () => {}])))
    for (const name of children) {
      this.child(name as never, {
        workflow: Held,
        dependsOn: [],
        start: wf => ({ input: { gate: `${wf.input.of} ${name}` } }),
      })
    }
  }
}

forEachServerAtOnce('a pool of one connection', database => {
  it('is enough for transactional steps that ask for the output of another step', async ({ onTestFinished }) => {
    const { url } = await database.isolated()
    const geneva = new Geneva({ database: { url, poolSize: 1 }, workflows: [Book] })
    await geneva.migrate()
    const worker = await geneva.startWorker({ ...quickly, lease: '2s', heartbeatThread: false })
    const all = await geneva.startMany(Book, [{}, {}, {}])
    const ended = all.map(wf => wf.waitUntilFinished({ timeout: '8s' }).catch(String))
    onTestFinished(() => geneva.close())
    expect(await Promise.all(ended)).toEqual([7, 7, 7])
    expect(worker.healthy).toBe(true)
  })
})

for (const poolSize of [2, 4]) {
  forEachServerAtOnce(`a pool of ${poolSize} connections`, database => {
    it('has some for heartbeats and for others while more workflows are locked than there are', async ({
      onTestFinished,
    }) => {
      const { url } = await database.isolated()
      const errors: unknown[] = []
      const onError = (error: unknown) => errors.push(error)
      const geneva = new Geneva({ database: { url, poolSize }, workflows: [Held, Lone], onError })
      onTestFinished(() => geneva.close())
      await geneva.migrate()
      const lease = { lease: '10s', heartbeatThread: false } as const
      const worker = await geneva.startWorker({ ...quickly, ...lease })
      const names = Array.from({ length: 12 }, (_, index) => `${database.name} ${poolSize} ${index}`)
      const held = await geneva.startMany(
        Held,
        names.map(gate => ({ input: { gate } })),
      )
      await Promise.all(names.map(name => gates.arrived(name)))
      const other = await connectPlainly(database.name, url)
      await other.query('begin')
      for (const { id } of held) await other.query(`select * from geneva_drive_workflows where id = '${id}' for update`)
      for (const name of names) gates.open(name)
      try {
        for (let count = 0; count < 4; count++) {
          const free = await geneva.start(Lone)
          await free.waitUntilFinished({ timeout: '6s' })
        }
        expect(worker.healthy).toBe(true)
      } finally {
        await other.query('rollback')
        await other.close()
      }
      await Promise.all(held.map(workflow => workflow.waitUntilFinished({ timeout: '15s' })))
      // Some are told of that have waited for so long, but no lease was lost.
      expect(errors.filter(error => !/lock/i.test(String(error)))).toEqual([])
    })
  })
}

forEachServerAtOnce('a pool of 4 connections', database => {
  it('has some for others while a parent is locked whose many children end', async ({ onTestFinished }) => {
    const { url } = await database.isolated()
    const errors: unknown[] = []
    const onError = (error: unknown) => errors.push(error)
    const geneva = new Geneva({ database: { url, poolSize: 4 }, workflows: [Parent, Held, Lone], onError })
    onTestFinished(() => geneva.close())
    await geneva.migrate()
    const worker = await geneva.startWorker({ ...quickly, lease: '5s', heartbeatThread: false })
    const of = `parent on ${database.name}`
    const parent = await geneva.start(Parent, { input: { of } })
    await Promise.all(children.map(name => gates.arrived(`${of} ${name}`)))
    const other = await connectPlainly(database.name, url)
    await other.query('begin')
    await other.query(`select * from geneva_drive_workflows where id = '${parent.id}' for update`)
    for (const name of children) gates.open(`${of} ${name}`)
    const watcher = await connectPlainly(database.name, url)
    const timers = `select id from geneva_drive_active_executions where slot like '#wake/%'`
    const begun = performance.now()
    try {
      await waitFor(async () => (await watcher.query(timers)).length === children.length, 6000)
      // All the while they are fired in vain.
      while (performance.now() - begun < 6000) {
        const free = await geneva.start(Lone)
        await free.waitUntilFinished({ timeout: '6s' })
        expect(worker.healthy).toBe(true)
      }
    } finally {
      await other.query('rollback')
      await Promise.all([other.close(), watcher.close()])
    }
    await parent.waitUntilFinished({ timeout: '20s' })
    expect(errors).toEqual([])
  })
})
