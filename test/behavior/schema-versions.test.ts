/** Old code on newer tables, as it happens during a deploy: it goes on while they still have what it needs. */
import { expect, it, onTestFinished } from 'vitest'
import { type Child, type Decision, defineJob, Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { quickly } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const greet = defineJob('greet', async () => 'hi')

class Review extends Workflow {
  static {
    this.human('approve')
  }
  approve(_: Decision) {}
}

class Parent extends Workflow {
  static {
    this.child('child', { workflow: () => Review, start: () => ({}) })
  }
  child(_: Child<Review>) {}
}

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

class Greeting extends Workflow {
  static {
    this.step('say')
  }
  say() {}
}

forEachDatabase('tables that a newer process brings up to date under a worker', database => {
  /** A short lease, so that the worker looks often. */
  const watchful = { ...quickly, lease: 200, heartbeatThread: false }

  async function working() {
    const { url } = await database.isolated()
    const errors: unknown[] = []
    const geneva = new Geneva({ database: url, workflows: [Greeting], onError: error => errors.push(error) })
    await geneva.migrate()
    const connection = await connectPlainly(database.name, url)
    onTestFinished(async () => {
      await connection.close()
      await geneva.close()
    })
    const upgrade = (compatibleFrom: number) =>
      connection.query(`insert into geneva_drive_migrations (version, name, key_type, compatible_from, applied_at)
        select ${100 + compatibleFrom}, 'later', key_type, ${compatibleFrom}, applied_at from geneva_drive_migrations where version = 1`)
    return { geneva, errors, connection, upgrade }
  }

  const refusal = { code: 'SCHEMA', message: expect.stringContaining('Upgrade geneva-drive') }

  it('stop it if they do not serve its code any more, and it stays stopped', async () => {
    const { geneva, errors, connection, upgrade } = await working()
    const worker = await geneva.startWorker(watchful)
    await upgrade(1)
    const before = await geneva.start(Greeting)
    await waitFor(async () => (await before.refresh()).state === 'finished')
    await upgrade(7)
    await worker.stopped
    expect(errors).toMatchObject([refusal])
    expect(worker.healthy).toBe(false)
    expect(await geneva.health()).toMatchObject({
      ready: false,
      status: 'down',
      problems: expect.arrayContaining([expect.stringContaining('Upgrade geneva-drive')]),
    })
    await connection.query('delete from geneva_drive_migrations where version > 100')
    const after = await geneva.start(Greeting)
    expect((await after.refresh()).state).toBe('ready')
    expect(worker.healthy).toBe(false)
  })

  it('end the process that works, with the reason', async () => {
    const { geneva, upgrade } = await working()
    const work = geneva.work({ ...watchful, handleSignals: false })
    const outcome = expect(work).rejects.toMatchObject(refusal)
    await upgrade(7)
    await outcome
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
    await connection.query('delete from geneva_drive_migrations where version > 1')
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

  it('let those go on that wait for a child', async () => {
    const { url } = await database.isolated()
    await using before = new Geneva({ database: url, workflows: [Parent, Review] })
    await before.migrate()
    const parent = await before.start(Parent)
    await before.runDue(quickly)
    const connection = await connectPlainly(database.name, url)
    const rows = await connection.query(
      `select workflow_id, slot, concat(input, '') as input from geneva_drive_active_executions where input is not null`,
    )
    expect(rows).toHaveLength(1)
    for (const { workflow_id: id, slot, input } of rows as Record<string, string>[]) {
      const { value } = JSON.parse(String(input)) as { value: object }
      await connection.query(
        `update geneva_drive_active_executions set input = '${JSON.stringify(value)}' where workflow_id = ${id} and slot = '${slot}'`,
      )
    }
    await connection.query('delete from geneva_drive_migrations where version > 2')
    await using after = new Geneva({ database: url, workflows: [Parent, Review] })
    await after.migrate()
    const [child] = (await after.list(Review)).items
    await after.decide((await after.views.approvals({})).items[0]?.executionId ?? '', {
      decision: 'confirmed',
      by: 'ann',
    })
    await after.runDue(quickly)
    expect((await child?.refresh())?.state).toBe('finished')
    expect((await (await after.find(parent.id))?.refresh())?.state).toBe('finished')
    await connection.close()
  })
})
