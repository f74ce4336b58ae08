/** `geneva migrate`, run as a person runs it: the built program in a process of its own. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { CommandShell } from '../support/command-shell.ts'
import { forEachDatabaseAtOnce } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { libraryUrl, runGeneva } from '../support/run-geneva.ts'

const folder = mkdtempSync(join(tmpdir(), 'geneva-migrate-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const shell = new CommandShell(folder, null)
const geneva = (...args: string[]) => shell.run(...args)

forEachDatabaseAtOnce('geneva migrate', database => {
  it('tells that tables are missing, makes them, and finds them up to date', async () => {
    const { url } = await database.isolated()
    const before = await geneva('migrate', 'status', '--database', url)
    expect(before).toMatchObject({ code: 3, stdout: '' })
    expect(before.stderr).toContain('The tables are missing. Run `geneva migrate`')
    expect(await geneva('migrate', '--database', url)).toMatchObject({ code: 0, stderr: 'The tables are ready.\n' })
    const after = await geneva('migrate', '--database', url, '--check', '--json')
    expect(after).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(after.stdout)).toEqual({
      upToDate: true,
      message: 'The tables are up to date.',
      version: expect.any(Number),
      latest: expect.any(Number),
    })
  })

  it('prints statements that make the same tables by hand, with keys as they are asked for', async () => {
    const { url } = await database.isolated()
    const dry = await geneva('migrate', '--dry-run', '--database', url, '--key-type', 'uuid')
    expect(dry).toMatchObject({ code: 0, stderr: expect.stringContaining('keys of type uuid') })
    const statements = dry.stdout
      .trim()
      .split(/;\n|;$/)
      .filter(statement => statement !== '')
    const connection = await connectPlainly(database.name, url)
    for (const statement of statements) await connection.query(statement)
    await connection.close()
    const module = join(folder, `${database.name}.mjs`)
    writeFileSync(
      module,
      `import { Geneva } from ${JSON.stringify(libraryUrl)}
export const geneva = new Geneva({ database: ${JSON.stringify(url)}, migrate: false })`,
    )
    expect(await geneva('migrate', 'status', module)).toMatchObject({ code: 0 })
    const plan = JSON.parse((await geneva('migrate', '--dry-run', '--json', '--database', url)).stdout)
    expect(plan).toMatchObject({ keyType: 'uuid', statements: [] })
    expect(await geneva('health', '--database', url)).toMatchObject({ code: 0 })
  })
})

it('refuses a type of keys where a module has its own say, also where DATABASE_URL is set', async () => {
  const inside = mkdtempSync(join(folder, 'inside-'))
  const file = join(inside, 'app.db')
  const env = { DATABASE_URL: `sqlite:${file}` }
  const module = `import { Geneva } from ${JSON.stringify(libraryUrl)}
export const geneva = new Geneva({ database: { url: process.env.DATABASE_URL, prefix: 'ours_' } })`
  writeFileSync(join(inside, 'app.mjs'), module)
  const refusal = {
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('A module says it itself: database: { url, keyType }'),
  }
  const byVariable = { ...env, GENEVA_APP: './app.mjs' }
  expect(await runGeneva(['migrate', '--key-type', 'uuid'], { cwd: inside, env: byVariable })).toMatchObject(refusal)
  expect(await runGeneva(['migrate', '--key-type', 'uuid', './app.mjs'], { cwd: inside, env })).toMatchObject(refusal)
  writeFileSync(join(inside, 'geneva.config.mjs'), module)
  expect(await runGeneva(['migrate', '--key-type', 'uuid'], { cwd: inside, env })).toMatchObject(refusal)
  expect(existsSync(file)).toBe(false)
  const named = ['migrate', '--key-type', 'uuid', '--database', env.DATABASE_URL]
  expect(await runGeneva(named, { cwd: inside, env: byVariable })).toMatchObject({ code: 0 })
  expect(existsSync(file)).toBe(true)
}, 60_000)

it('status and --dry-run make no database file', async () => {
  const file = join(folder, 'absent.db')
  for (const more of [[], ['--key-type', 'uuid']]) {
    const where = ['--database', `sqlite:${file}`, ...more]
    const status = { code: 3, stderr: 'The tables are missing. Run `geneva migrate`.\n' }
    expect(await geneva('migrate', 'status', ...where)).toMatchObject(status)
    expect(await geneva('migrate', '--check', ...where)).toMatchObject(status)
    expect((await geneva('migrate', '--dry-run', ...where)).stdout).toContain('create table')
    expect(existsSync(file)).toBe(false)
  }
})

it('answers a mistake with what to do and no stack trace', async () => {
  const answers = await Promise.all([
    geneva('migrate'),
    geneva('migrate', '--database', 'oracle://x'),
    geneva('migrate', '--database', 'postgres://127.0.0.1:1/none'),
    geneva('migrate', '--database', 'sqlite:x.db', '--prefix', 'a; drop'),
    geneva('migrate', '--database', 'sqlite:x.db', '--app', 'x.js'),
    geneva('migrate', 'sideways'),
    geneva('migrat'),
  ])
  expect(answers).toMatchObject([
    { code: 2, stderr: expect.stringContaining('set GENEVA_APP, or run `geneva init`') },
    {
      code: 1,
      stderr:
        'geneva: The database scheme oracle: is not known. Use sqlite:app.db, postgres://user@host/name or mysql://user@host/name.\n',
    },
    { code: 1, stderr: expect.stringMatching(/^geneva: .*ECONNREFUSED.*\n$/) },
    { code: 1, stderr: expect.stringContaining('The prefix "a; drop" is not allowed') },
    { code: 2, stderr: expect.stringContaining('not both') },
    { code: 2, stderr: expect.stringContaining('Allowed choices are up, status') },
    { code: 2, stderr: expect.stringContaining("unknown command 'migrat'") },
  ])
})
