/** The migration that `geneva init` writes is run by the tool that it was written for, and Geneva finds its tables there. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql2'
import { migrate as migrateMysql } from 'drizzle-orm/mysql2/migrator'
import { drizzle as drizzlePostgres } from 'drizzle-orm/node-postgres'
import { migrate as migratePostgres } from 'drizzle-orm/node-postgres/migrator'
import knex from 'knex'
import { Kysely, Migrator, MysqlDialect, PostgresDialect } from 'kysely'
import { createPool } from 'mysql2'
import { Pool } from 'pg'
import { afterAll, expect, it } from 'vitest'
import { Geneva } from '../../src/index.ts'
import { CommandShell } from '../support/command-shell.ts'
import { forEachServerAtOnce } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'

const root = mkdtempSync(join(tmpdir(), 'geneva-migrations-'))
const installed = fileURLToPath(new URL('../../node_modules', import.meta.url))
const shell = new CommandShell(root, null)
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** A folder that says its database in `.env` and uses a tool. */
function application(name: string, tool: string, url: string, files: readonly string[]): string {
  const folder = join(root, `${name}-${tool}`)
  const all = [...files.map(path => [path, '']), ['.env', `DATABASE_URL=${url}`]]
  for (const [path = '', text = ''] of all) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', dependencies: { [tool]: '*' } }))
  symlinkSync(installed, join(folder, 'node_modules'))
  return folder
}

async function init(folder: string) {
  const report = await shell.json('init', folder, '--yes')
  expect(readFileSync(join(folder, 'geneva.config.js'), 'utf8')).toContain('migrate: false')
  return report as { migrations: string; keyType: string; warning: string | null }
}

/** Geneva itself makes none. */
async function expectTables(url: string): Promise<void> {
  await using geneva = new Geneva({ database: url, migrate: false })
  expect(await geneva.schema.plan()).toMatchObject({ statements: [], keyType: 'bigint' })
  expect((await geneva.views.workflows()).items).toEqual([])
}

const patience = 60_000

forEachServerAtOnce('a migration by geneva init', ({ name, isolated }) => {
  const isPostgres = name === 'postgres'

  it('runs under knex, once, and init does not write it twice', { timeout: patience }, async () => {
    const { url } = await isolated()
    const folder = application(name, 'knex', url, ['knexfile.js', 'migrations/README'])
    expect(await init(folder)).toMatchObject({ migrations: 'knex', keyType: 'bigint' })
    const migrations = { directory: join(folder, 'migrations'), loadExtensions: ['.js'] }
    const db = knex({ client: isPostgres ? 'pg' : 'mysql2', connection: url, migrations })
    await db.migrate.latest()
    await db.migrate.latest()
    await db.destroy()
    await expectTables(url)
    await init(folder)
    expect(readdirSync(migrations.directory).filter(file => file.endsWith('.js'))).toHaveLength(1)
  })

  it('runs under kysely', { timeout: patience }, async () => {
    const { url } = await isolated()
    const folder = application(name, 'kysely', url, ['db/migrations/README'])
    expect(await init(folder)).toMatchObject({ migrations: 'kysely' })
    const place = join(folder, 'db/migrations')
    const [file = ''] = readdirSync(place).filter(file => file.endsWith('.js'))
    const migration = await import(pathToFileURL(join(place, file)).href)
    const dialect = isPostgres
      ? new PostgresDialect({ pool: new Pool({ connectionString: url }) })
      : new MysqlDialect({ pool: createPool(url) })
    const db = new Kysely<unknown>({ dialect })
    const provider = { getMigrations: async () => ({ [file]: migration }) }
    const { error } = await new Migrator({ db, provider }).migrateToLatest()
    await db.destroy()
    expect(error).toBeUndefined()
    await expectTables(url)
  })

  it('runs under drizzle, which finds it in its journal', { timeout: patience }, async () => {
    const { url } = await isolated()
    const folder = application(name, 'drizzle-orm', url, ['drizzle.config.ts'])
    expect((await init(folder)).warning).toContain('tablesFilter')
    const options = { migrationsFolder: join(folder, 'drizzle') }
    if (isPostgres) {
      const pool = new Pool({ connectionString: url })
      await migratePostgres(drizzlePostgres(pool), options)
      await pool.end()
    } else {
      const pool = createPool(url).promise()
      await migrateMysql(drizzleMysql(pool), options)
      await pool.end()
    }
    await expectTables(url)
  })

  it('is a script of whole statements for prisma, with a warning that it drops what it does not know', {
    timeout: patience,
  }, async () => {
    const { url } = await isolated()
    const folder = application(name, 'prisma', url, ['prisma/schema.prisma'])
    expect((await init(folder)).warning).toContain('tables.external')
    const [migration = ''] = readdirSync(join(folder, 'prisma/migrations'))
    expect(migration).toMatch(/^\d{14}_geneva_drive$/)
    const script = readFileSync(join(folder, 'prisma/migrations', migration, 'migration.sql'), 'utf8')
    const connection = await connectPlainly(name, url)
    for (const statement of script.trim().split(';\n')) await connection.query(statement)
    await connection.close()
    await expectTables(url)
  })
})

it('a database that does not answer leaves only the migration out', async () => {
  const folder = application('silent', 'knex', 'postgres://127.0.0.1:1/none', ['knexfile.js'])
  const ended = await shell.run('init', folder, '--yes')
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining('run `geneva init` again') })
  expect(ended.stdout).toContain('geneva.config.js')
  expect(ended.stdout).not.toContain('a migration that makes')
  expect(ended.stdout).toMatch(/npx geneva init --yes[\s\S]*npx knex migrate:latest/)
})
