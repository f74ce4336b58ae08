/** A database that cannot be opened is named, without its password, with the reason and what to do about it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Geneva } from '../../src/index.ts'
import { openingError } from '../../src/store/sql/opening-error.ts'
import { databases, forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'

interface Refusal {
  readonly code: string
  readonly message: string
  readonly cause?: unknown
}

async function opening(database: string | object): Promise<Refusal> {
  try {
    await using geneva = new Geneva({ database: database as string })
    await geneva.migrate()
  } catch (error) {
    return error as Refusal
  }
  throw new Error('It was opened.')
}

function changed(url: string, change: (url: URL) => void): string {
  const other = new URL(url)
  change(other)
  return other.href
}

/** Nobody listens there: somebody did a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

describe.each(databases.filter(({ name }) => name !== 'sqlite'))('a server that cannot be used on $name', database => {
  it('is told by what has to be corrected: password, name, host and port', async () => {
    const { url } = await database.isolated()
    const password = changed(url, each => {
      each.password = 'guessed'
    })
    const name = changed(url, each => {
      each.pathname = '/nowhere'
    })
    const port = await freePort()
    const closed = changed(url, each => {
      each.port = String(port)
    })
    const found = await Promise.all([password, name, closed].map(opening))
    expect(found).toMatchObject([
      { code: 'DATABASE_OPEN', message: expect.stringMatching(/ Correct user and password in the URL\.$/) },
      {
        code: 'DATABASE_OPEN',
        message: expect.stringMatching(/nowhere.* Create it, or correct its name in the URL\.$/),
      },
      {
        code: 'DATABASE_OPEN',
        message: expect.stringMatching(/ECONNREFUSED.* Nothing listens there: start the server/),
      },
    ])
    const { username, host, pathname } = new URL(url)
    expect(found[0]?.message).toContain(`://${username}@${host}${pathname} could not be opened`)
    for (const { message, cause } of found) {
      expect(message).not.toContain(new URL(url).password)
      expect(message).not.toContain('guessed')
      expect(cause).toBeInstanceOf(Error)
    }
  })

  it('is not looked for by a URL that cannot be read, which is told to nobody', async () => {
    const refusal = await opening(`${database.name}://ann:pass@word@host:no/app`)
    expect(refusal).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('%40') })
    expect(`${refusal.message}${JSON.stringify(refusal)}`).not.toContain('word@host')
    expect(refusal.cause).toBeUndefined()
  })
})

it('a MySQL URL without a database is refused, instead of a lock that nobody can have', async () => {
  for (const url of ['mysql://ann@localhost:3306', 'mariadb://ann@localhost/']) {
    expect(await opening(url)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('names none'),
    })
  }
})

describe('a file that is no database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'opening-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  it('is named, and so is a folder in its place', async () => {
    const text = join(folder, 'notes.txt')
    writeFileSync(text, 'no database at all, but a text that goes on and on. '.repeat(100))
    expect(await opening(`sqlite:${text}`)).toMatchObject({
      code: 'DATABASE_OPEN',
      message: expect.stringMatching(
        /notes\.txt could not be opened: .* Another kind of file is there: correct the path\.$/,
      ),
    })
    expect(await opening(`sqlite:${folder}`)).toMatchObject({
      code: 'DATABASE_OPEN',
      message: expect.stringMatching(/may this user read and write the file and its folder\?$/),
    })
  })
})

it('an error with one cause for each address of a host tells all of them, and no password behind a question mark', () => {
  const refused = ['::1', '127.0.0.1'].map(address => new Error(`connect ECONNREFUSED ${address}:5432`))
  const cause = Object.assign(new AggregateError(refused), { code: 'ECONNREFUSED' })
  const error = openingError('postgres:///app?host=/run&password=secret', cause, () => undefined)
  expect(String(error)).toContain(
    'The database postgres:///app could not be opened: connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432. Nothing listens',
  )
})

forEachDatabase('tables that cannot be made', database => {
  it('are told with the reason, and with how somebody else can make them', async () => {
    const { url } = await database.isolated()
    const plain = await connectPlainly(database.name, url)
    // Something else has the name.
    await plain.query('create view geneva_drive_workflows as select 1 as id')
    await plain.close()
    expect(await opening(url)).toMatchObject({
      code: 'SCHEMA',
      message: expect.stringMatching(
        /^The tables geneva_drive_\* could not be brought up to date: .*`migrate: false`\.$/s,
      ),
    })
  })
})

describe('what is given as a database', () => {
  const given: [unknown, RegExp][] = [
    [undefined, /The URL of a database is needed, and there is nothing\. Use sqlite:app\.db/],
    [{}, /The URL of a database is needed, and there is nothing/],
    [{ url: 5 }, /there is a value of type number/],
    ['app', /does not begin with a scheme\. Use sqlite:app\.db/],
    ['oracle://localhost/app', /The database scheme oracle: is not known/],
    [{ url: 'sqlite:app.db', poolSize: 0 }, /poolSize of the database must be a whole number above 0, not 0/],
    [{ url: 'sqlite:app.db', keyType: 'text' }, /keyType of the database must be "bigint" or "uuid", not text/],
    [{ url: 'sqlite:app.db', preparedStatements: 'no' }, /preparedStatements of the database must be true or false/],
  ]

  it.each(given)('is refused at once where it cannot be one: %j', (database, message) => {
    expect(() => new Geneva({ database } as never)).toThrow(message)
  })
})
