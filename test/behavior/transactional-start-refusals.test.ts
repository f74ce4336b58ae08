/** What may not stand for a transaction: it is refused by name, before anything is written anywhere. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isGenevaError, Workflow } from '../../src/index.ts'
import { type DatabaseName, databases, forEachDatabase } from '../support/databases.ts'
import { connectPlainly, countRows, type PlainConnection } from '../support/plain-sql.ts'
import { type GenevaUnderTest, useGeneva } from '../support/use-geneva.ts'
import { type Application, notesTable } from './transactional-start/application.ts'
import { libraries } from './transactional-start/libraries.ts'
import { plainDrivers } from './transactional-start/plain-drivers.ts'

class Parcel extends Workflow<null> {
  static {
    this.step('pack')
  }
  async pack() {}
}

const names: Record<DatabaseName, string> = { postgres: 'PostgreSQL', mysql: 'MySQL', sqlite: 'SQLite' }

async function refusal(under: GenevaUnderTest, transaction: object): Promise<string> {
  const error = await under.geneva.start(Parcel, {}, { transaction }).catch(reason => reason)
  if (!isGenevaError(error, 'INVALID_ARGUMENT')) throw error
  return error.message
}

forEachDatabase('the transaction option', database => {
  const under = useGeneva(database, { workflows: [Parcel] })
  let plain: PlainConnection

  beforeAll(async () => {
    plain = await connectPlainly(database.name, under.url)
    await plain.query(notesTable)
  })
  afterAll(async () => {
    // Nothing in this file may have started anything.
    expect(await countRows(plain)).toMatchObject({ workflows: 0, active_executions: 0, events: 0 })
    await plain.close()
  })

  const strangers: [string, unknown][] = [
    ['null', null],
    ['a string', 'transaction'],
    ['a function', () => {}],
    ['an object of no known library', { query: 'select 1' }],
    ['a Map, which is not known', new Map()],
  ]
  it.each(strangers)('refuses %s', async (name, stranger) => {
    expect(await refusal(under, stranger as object)).toContain(`holds ${name}. Pass the driver connection`)
  })

  describe.each(Object.entries(libraries[database.name]))('with %s', (_name, open) => {
    let application: Application
    beforeAll(async () => {
      application = await open(under.url)
    })
    afterAll(() => application.close())

    it('refuses what is not a transaction of it', async () => {
      expect(await refusal(under, application.root)).toMatch(
        /(pool|instance|client|postgres\.js) (that runs each statement|instead of one of its)|no transaction is open/,
      )
    })
  })

  describe.each(plainDrivers[database.name])('with $name', driver => {
    it('refuses a connection without a transaction', async () => {
      const connection = await driver.connect(under.url)
      expect(await refusal(under, connection.handle)).toContain('on which no transaction is open')
      await connection.close()
    })

    it('refuses a closed connection', async () => {
      const connection = await driver.connect(under.url)
      await connection.close()
      expect(await refusal(under, connection.handle)).toContain('that is closed')
    })
  })

  const others = databases.filter(other => other.name !== database.name)
  describe.each(others)('with a transaction on $name', other => {
    let url: string
    let foreign: PlainConnection
    beforeAll(async () => {
      url = (await other.isolated()).url
      foreign = await connectPlainly(other.name, url)
      await foreign.query(notesTable)
    })
    afterAll(() => foreign.close())

    it.each(Object.entries(libraries[other.name]))('refuses %s and leaves it alone', async (name, open) => {
      const application = await open(url)
      await application.transaction(async transaction => {
        expect(await refusal(under, transaction)).toContain(
          `for ${names[other.name]}, but the workflows are kept in ${names[database.name]}`,
        )
        await application.note(transaction, name)
      })
      await application.close()
      expect(await foreign.query('select note from application_notes')).toContainEqual({ note: name })
    })
  })
})

it('refuses the transaction of a library for a database that workflows cannot be kept in', async () => {
  const { Kysely, MssqlAdapter, MssqlQueryCompiler } = await import('kysely')
  const { borrowHandle } = await import('../../src/store/sql/handles/borrow-handle.ts')
  const dialect = {
    createAdapter: () => new MssqlAdapter(),
    createDriver: () => ({}) as never,
    createQueryCompiler: () => new MssqlQueryCompiler(),
    createIntrospector: () => ({}) as never,
  }
  const database = { kind: 'postgres', placeholder: () => '?' } as const
  expect(() => borrowHandle(new Kysely({ dialect }), database)).toThrow('a Kysely instance for another database')
})
