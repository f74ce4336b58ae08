/** Where the tables live and what their keys are: detected from the application's own tables, or said by options. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Child, type DatabaseOptions, defineHero, Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase, type TestDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { quickly } from '../support/use-geneva.ts'

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const Users = defineHero('User', { id: (user: { id: string }) => user.id, load: id => ({ id }) })

class Sample extends Workflow<{ id: string }, { fails?: boolean }> {
  static {
    this.heroes(Users)
    this.step('first')
    this.step('second')
  }
  first() {
    if (this.input.fails && this.execution.attempt === 1) throw new Error('once')
    return this.id
  }
  async second() {
    return `${await this.output(this.first)} ${this.hero.id}`
  }
}

class Parent extends Workflow {
  static {
    this.child('sample', { workflow: Sample, start: () => ({ hero: { id: 'carl' } }) })
  }
  sample(child: Child<Sample>) {
    return child.id
  }
}

const uuidColumn = { sqlite: 'uuid', postgres: 'uuid', mysql: 'char(36)' }

/** Makes tables as an application would have them. */
async function applicationTables(database: TestDatabase, url: string, types: readonly string[]): Promise<void> {
  const connection = await connectPlainly(database.name, url)
  for (const [index, type] of types.entries()) {
    await connection.query(`create table app_${index} (id ${type} not null primary key, name varchar(20))`)
  }
  await connection.close()
}

function open(database: string | DatabaseOptions): Geneva {
  return new Geneva({ database, workflows: [Sample, Parent], onError: () => {} })
}

forEachDatabase('keys', database => {
  it('are numbers in an empty database', async () => {
    const { url } = await database.isolated()
    await using geneva = open(url)
    const wf = await geneva.start(Sample, { hero: { id: 'a' } })
    expect(wf.id).toMatch(/^[1-9]\d*$/)
    expect(await geneva.find('0190f5fe-7c00-7a00-8000-0123456789ab')).toBeNull()
  })

  it('are numbers beside as many tables with uuids as without', async () => {
    const { url } = await database.isolated()
    await applicationTables(database, url, [uuidColumn[database.name], 'bigint'])
    await using geneva = open(url)
    expect((await geneva.start(Sample, { hero: { id: 'a' } })).id).toMatch(/^[1-9]\d*$/)
  })

  describe('in a database whose tables mostly use uuids', () => {
    let geneva: Geneva
    beforeAll(async () => {
      const { url } = await database.isolated()
      const uuid = uuidColumn[database.name]
      await applicationTables(database, url, [uuid, uuid, 'bigint'])
      geneva = open(url)
    })
    afterAll(() => geneva.close())

    it('are uuids of version 7, and everything works with them', async () => {
      const wf = await geneva.start(Sample, { hero: { id: 'ann' }, input: { fails: true } }, { tags: ['x'] })
      expect(wf.id).toMatch(uuidV7)
      await geneva.runDue(quickly)
      expect((await wf.refresh()).state).toBe('paused')
      expect((await geneva.list(Sample, { at: 'first', tag: 'x', hero: Users.ref('ann') })).items).toHaveLength(1)
      await geneva.resume(wf.id)
      await geneva.runDue(quickly)
      expect(await wf.waitUntilFinished({ timeout: '5s' })).toBe(`${wf.id} ann`)
      const history = await wf.history()
      expect(history.map(execution => execution.outcome)).toEqual(['paused_by_exception', 'success', 'success'])
      for (const execution of history) expect(execution.id).toMatch(uuidV7)
      expect((await geneva.find(Sample, wf.id))?.id).toBe(wf.id)
      const again = geneva.start(Sample, { hero: { id: 'bob' } }, { idempotencyKey: 'k' })
      const twice = geneva.start(Sample, { hero: { id: 'bob' } }, { idempotencyKey: 'k' })
      expect((await again).id).toBe((await twice).id)
    })

    it('lead from a child to the workflow that waits for it', async () => {
      const wf = await geneva.start(Parent)
      await geneva.runDue(quickly)
      expect(await wf.waitUntilFinished({ timeout: '5s' })).toMatch(uuidV7)
      expect((await wf.events()).filter(event => event.type === 'timer.scheduled')).toHaveLength(1)
    })

    it('go through pages, newest first', async () => {
      const many = Array.from({ length: 12 }, (_, index) => ({ hero: { id: `page ${index}` } }))
      const started = await geneva.startMany(Sample, many, { tags: ['pages'] })
      const ids: string[] = []
      for await (const wf of await geneva.list(Sample, { tag: 'pages', limit: 5 })) ids.push(wf.id)
      expect(ids).toEqual(started.map(wf => wf.id).toReversed())
    })

    it.each([
      '1',
      'x',
      '0190F5FE-7C00-7A00-8000-0123456789AB',
      '0190f5fe7c007a0080000123456789ab',
      '{0190f5fe-7c00-7a00-8000-0123456789ab}',
      "0190f5fe-7c00-7a00-8000-0123456789a'",
      '0190f5fe-7c00-7a00-8000-0123456789ab',
    ])('find nothing by the wrong id %s', async id => {
      expect(await geneva.find(id)).toBeNull()
      await expect(geneva.pause(id)).rejects.toMatchObject({ code: 'WORKFLOW_NOT_FOUND' })
      if (id !== '0190f5fe-7c00-7a00-8000-0123456789ab')
        await expect(geneva.list({ cursor: id })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    })
  })

  it('are what the options say, whatever the application has', async () => {
    const { url } = await database.isolated()
    await using geneva = open({ url, keyType: 'uuid' })
    const wf = await geneva.start(Sample, { hero: { id: 'a' } })
    expect(wf.id).toMatch(uuidV7)
    // Once the tables are there, their keys stay what they are.
    await using later = open({ url, keyType: 'bigint' })
    expect((await later.start(Sample, { hero: { id: 'b' } })).id).toMatch(uuidV7)
  })
})

forEachDatabase('tables', database => {
  it('have the prefix that the options say, and two sets do not see each other', async () => {
    const { url } = await database.isolated()
    await using first = open({ url, prefix: 'one_' })
    await using second = open({ url, prefix: 'two_' })
    const wf = await first.start(Sample, { hero: { id: 'a' } })
    await second.start(Sample, { hero: { id: 'a' } })
    expect(await second.runDue(quickly)).toBe(1)
    expect((await wf.refresh()).state).toBe('ready')
    await first.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
    const connection = await connectPlainly(database.name, url)
    expect(await connection.query('select type from one_workflows')).toEqual([{ type: 'Sample' }])
    await connection.close()
  })

  it('live in the schema that the options say, where the database has schemas', async () => {
    const { url } = await database.isolated()
    const schema = `s${new URL(url).pathname.replace(/\W/g, '_').slice(-25)}`
    await using geneva = open({ url, schema })
    const wf = await geneva.start(Sample, { hero: { id: 'a' } })
    await geneva.runDue(quickly)
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toBe(`${wf.id} a`)
    const connection = await connectPlainly(database.name, url)
    const home = database.name === 'sqlite' ? 'main' : schema
    expect(await connection.query(`select type from ${home}.geneva_drive_workflows`)).toEqual([{ type: 'Sample' }])
    if (database.name === 'mysql') await connection.query(`drop database ${schema}`)
    await connection.close()
  })

  it('are refused where a prefix or a schema could not be a name', async () => {
    const { url } = await database.isolated()
    const refused: object[] = [
      { prefix: 'Robert"; drop table students;--' },
      { prefix: 'has space_' },
      { prefix: '' },
      { prefix: 'Upper_' },
      { prefix: '1st_' },
      { prefix: 'x'.repeat(31) },
      { prefix: 7 },
    ]
    if (database.name !== 'sqlite') refused.push({ schema: 'a.b' }, { schema: '' })
    for (const options of refused) {
      await using geneva = open({ url, ...options })
      await expect(geneva.migrate(), JSON.stringify(options)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
  })
})
