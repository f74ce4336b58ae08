/** A report that the database refuses again and again, for what does not look like a reason for good, harms no other and is told of. */
import { expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachServerAtOnce } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()

class Told extends Workflow<null, { output: string; gate: string }> {
  static {
    this.named('Told')
    this.allowMultiple()
    this.step('tell')
  }
  async tell() {
    await gates.stop(`${this.input.gate} ${this.input.output}`, this.signal)
    return this.input.output
  }
}

const table = 'geneva_drive_step_executions'
const refusal = {
  postgres: [
    `create function refuse() returns trigger language plpgsql as $$ begin
      if new.output::text like '%poison%' then raise exception 'not this' using errcode = 'AC001'; end if; return new; end $$`,
    `create trigger refuse before insert on ${table} for each row execute function refuse()`,
  ],
  mysql: [
    `create trigger refuse before insert on ${table} for each row
      if new.output like '%poison%' then signal sqlstate 'AC001' set message_text = 'not this'; end if`,
  ],
  sqlite: [],
}

/** Whatever the database will not take stands with it in the way of everybody who reports. */
forEachServerAtOnce('reports that can never be written', database => {
  const under = useGeneva(database, { workflows: [Told] })

  it('keep what begins after them from nothing, however many there are', async () => {
    const plain = await connectPlainly(database.name, under.url)
    for (const statement of refusal[database.name]) await plain.query(statement)
    const worker = await under.geneva.startWorker({ poll: 5, grace: 0, heartbeatThread: false })
    const outputs = Array.from({ length: 8 }, (_, index) => `poison ${index}`)
    await under.geneva.startMany(
      Told,
      outputs.map(output => ({ input: { output, gate: `all ${database.name}` } })),
    )
    const names = outputs.map(output => `all ${database.name} ${output}`)
    await Promise.all(names.map(name => gates.arrived(name)))
    for (const name of names) gates.open(name)
    try {
      await waitFor(() => under.errors.length === outputs.length)
      gates.open(`all ${database.name} good`)
      const good = await under.geneva.start(Told, { input: { output: 'good', gate: `all ${database.name}` } })
      await good.waitUntilFinished({ timeout: '5s' })
    } finally {
      await plain.query(`drop trigger if exists refuse${database.name === 'postgres' ? ` on ${table}` : ''}`)
      await plain.close()
      await worker.stop()
    }
  })
})

forEachServerAtOnce('a report that is refused by a trigger with a code of its own', database => {
  const under = useGeneva(database, { workflows: [Told] })

  it('keeps none of its group from being recorded, is told to `onError` once, and recorded when it may be', async () => {
    const plain = await connectPlainly(database.name, under.url)
    for (const statement of refusal[database.name]) await plain.query(statement)
    const worker = await under.geneva.startWorker({ poll: 5, grace: 0, heartbeatThread: false, lease: '1s' })
    const outputs = ['poison', 'good']
    const started = await under.geneva.startMany(
      Told,
      outputs.map(output => ({ input: { output, gate: database.name } })),
    )
    const names = outputs.map(output => `${database.name} ${output}`)
    await Promise.all(names.map(name => gates.arrived(name)))
    for (const name of names) gates.open(name)
    try {
      const others = started.filter((_, index) => outputs[index] !== 'poison')
      await Promise.all(others.map(workflow => workflow.waitUntilFinished({ timeout: '15s' })))
      const poisonous = started[outputs.indexOf('poison')]
      expect((await poisonous?.refresh())?.state).toBe('performing')
      await waitFor(() => under.errors.length > 0)
      expect(under.errors).toMatchObject([
        { error: { message: expect.stringContaining('not this') }, context: { workflowId: poisonous?.id } },
      ])
      await plain.query(database.name === 'postgres' ? `drop trigger refuse on ${table}` : 'drop trigger refuse')
      await poisonous?.waitUntilFinished({ timeout: '15s' })
      expect(under.errors).toHaveLength(1)
    } finally {
      await plain.query(
        database.name === 'postgres' ? `drop trigger if exists refuse on ${table}` : 'drop trigger if exists refuse',
      )
      await plain.close()
      await worker.stop()
    }
  })
})
