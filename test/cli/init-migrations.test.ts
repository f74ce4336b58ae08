/** The migration that `geneva init` writes is run by the tool that it was written for, and Geneva finds its tables there. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { type DatabaseName, forEachServerAtOnce } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { libraryUrl, runGeneva } from '../support/run-geneva.ts'

const root = mkdtempSync(join(tmpdir(), 'geneva-migrations-'))
const installed = fileURLToPath(new URL('../../node_modules', import.meta.url))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const drivers = ['knex', 'kysely', 'drizzle-orm', 'pg', 'mysql2']

function application(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(root, name)
  const all = {
    'package.json': JSON.stringify({ type: 'module', dependencies: { knex: '*', kysely: '*' } }),
    'node_modules/geneva-drive/package.json': '{"name":"geneva-drive","type":"module","exports":"./index.js"}',
    'node_modules/geneva-drive/index.js': `export * from ${JSON.stringify(libraryUrl)}\n`,
    ...files,
  }
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  for (const driver of drivers) symlinkSync(join(installed, driver), join(folder, 'node_modules', driver))
  return folder
}

async function init(folder: string, url: string) {
  const ended = await runGeneva(['init', '--yes', '--json'], { cwd: folder, env: { DATABASE_URL: url } })
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  return JSON.parse(ended.stdout) as { migrations: string; keyType: string; warning: string | null }
}

/** Geneva itself changes nothing here: the config says so. */
async function expectTables(folder: string, url: string): Promise<void> {
  const env = { DATABASE_URL: url }
  expect(readFileSync(join(folder, 'geneva.config.js'), 'utf8')).toContain('migrate: false')
  const started = await runGeneva(['start', 'Welcome', '--input', '{"name":"Ann"}'], { cwd: folder, env })
  expect(started).toMatchObject({ code: 0, stderr: '' })
}

function run(folder: string, program: string): Promise<unknown> {
  writeFileSync(join(folder, 'run.js'), program)
  return promisify(execFile)(process.execPath, ['run.js'], { cwd: folder })
}

const ofKysely: Readonly<Record<DatabaseName, (url: string) => string>> = {
  sqlite: () => '',
  postgres: url => `new PostgresDialect({ pool: new pg.Pool({ connectionString: ${JSON.stringify(url)} }) })`,
  mysql: url => `new MysqlDialect({ pool: mysql.createPool(${JSON.stringify(url)}) })`,
}

forEachServerAtOnce('a migration by geneva init', database => {
  const client = database.name === 'postgres' ? 'pg' : 'mysql2'

  it('runs under knex, once, and init does not write it twice', async () => {
    const { url } = await database.isolated()
    const folder = application(`knex-${database.name}`, { 'knexfile.js': '', 'migrations/README': '' })
    expect(await init(folder, url)).toMatchObject({ migrations: 'knex', keyType: 'bigint' })
    const migrate = `import knex from 'knex'
const db = knex({ client: '${client}', connection: ${JSON.stringify(url)}, migrations: { loadExtensions: ['.js'] } })
await db.migrate.latest()
await db.migrate.latest()
await db.destroy()`
    await run(folder, migrate)
    await expectTables(folder, url)
    await init(folder, url)
    expect(readdirSync(join(folder, 'migrations')).filter(name => name.endsWith('.js'))).toHaveLength(1)
  })

  it('runs under kysely', async () => {
    const { url } = await database.isolated()
    const folder = application(`kysely-${database.name}`, { 'db/migrations/README': '' })
    writeFileSync(join(folder, 'package.json'), '{"type":"module","dependencies":{"kysely":"*"}}')
    expect(await init(folder, url)).toMatchObject({ migrations: 'kysely' })
    const migrate = `import { Kysely, Migrator, PostgresDialect, MysqlDialect } from 'kysely'
import { readdirSync } from 'node:fs'
import pg from 'pg'
import mysql from 'mysql2'
const db = new Kysely({ dialect: ${ofKysely[database.name](url)} })
const provider = { async getMigrations() {
  const names = readdirSync('db/migrations').filter(name => name.endsWith('.js'))
  return Object.fromEntries(await Promise.all(names.map(async name => [name, await import('./db/migrations/' + name)])))
} }
const { error } = await new Migrator({ db, provider }).migrateToLatest()
if (error) throw error
await db.destroy()`
    await run(folder, migrate)
    await expectTables(folder, url)
  })

  it('runs under drizzle, which finds it in its journal', async () => {
    const { url } = await database.isolated()
    const folder = application(`drizzle-${database.name}`, { 'drizzle.config.ts': '' })
    expect((await init(folder, url)).warning).toContain('tablesFilter')
    const migrate =
      database.name === 'postgres'
        ? `import pg from 'pg'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
const pool = new pg.Pool({ connectionString: ${JSON.stringify(url)} })
await migrate(drizzle(pool), { migrationsFolder: './drizzle' })
await pool.end()`
        : `import mysql from 'mysql2/promise'
import { drizzle } from 'drizzle-orm/mysql2'
import { migrate } from 'drizzle-orm/mysql2/migrator'
const connection = await mysql.createConnection(${JSON.stringify(url)})
await migrate(drizzle(connection), { migrationsFolder: './drizzle' })
await connection.end()`
    await run(folder, migrate)
    await expectTables(folder, url)
  })

  it('is a script of whole statements for prisma, with a warning that it drops what it does not know', async () => {
    const { url } = await database.isolated()
    const folder = application(`prisma-${database.name}`, { 'prisma/schema.prisma': '' })
    expect((await init(folder, url)).warning).toContain('tables.external')
    const [migration = ''] = readdirSync(join(folder, 'prisma/migrations'))
    expect(migration).toMatch(/^\d{14}_geneva_drive$/)
    const script = readFileSync(join(folder, 'prisma/migrations', migration, 'migration.sql'), 'utf8')
    const connection = await connectPlainly(database.name, url)
    for (const statement of script.trim().split(';\n')) await connection.query(statement)
    await connection.close()
    await expectTables(folder, url)
  })
})

it('a database that does not answer leaves only the migration out', async () => {
  const folder = application('silent', { 'knexfile.js': '' })
  const env = { DATABASE_URL: 'postgres://127.0.0.1:1/none' }
  const ended = await runGeneva(['init', '--yes'], { cwd: folder, env })
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining('run `geneva init` again') })
  expect(ended.stdout).toContain('geneva.config.js')
  expect(ended.stdout).not.toContain('a migration that makes')
})
