/**
 * The databases that every storage test runs on. `isolated()` hands out an empty database that no other test sees; all
 * of them are dropped when the test file ends, whether the test did so or not.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, inject } from 'vitest'

export type DatabaseName = 'sqlite' | 'postgres' | 'mysql'

export interface IsolatedDatabase {
  /** What a user would write into `new Geneva({ database })`. */
  readonly url: string
  /** Deletes the database, also while connections to it are open. May be called twice. */
  drop(): Promise<void>
}

export interface TestDatabase {
  readonly name: DatabaseName
  /** Makes a new, empty database. */
  isolated(): Promise<IsolatedDatabase>
}

/** The databases of this run: all three, unless GENEVA_TEST_DATABASES leaves some out. */
export const databases: readonly TestDatabase[] = selectedDatabases()

/** Describes the same promises for each database: `start conflicts on postgres`. */
export function forEachDatabase(title: string, body: (database: TestDatabase) => void): void {
  for (const database of databases) describe(`${title} on ${database.name}`, () => body(database))
}

/** The same on all of them at once: for tests that mostly wait, for a lease to lapse or a process to start. */
export function forEachDatabaseAtOnce(title: string, body: (database: TestDatabase) => void): void {
  describeAtOnce(title, databases, body)
}

/**
 * The same on all of them at once, but on each of them the tests of a block one after the other: for tests that mostly wait and share what
 * they have on a database, but nothing between the databases. Several blocks of a file run beside each other, too. Each has the same ids, and `onTestFinished` knows one test.
 */
export function forEachDatabaseSideBySide(title: string, body: (database: TestDatabase) => void): void {
  for (const database of databases) {
    describe.concurrent(title, () => {
      describe.sequential(`on ${database.name}`, () => body(database))
    })
  }
}

/** The same for servers only: for what a file does not have, connections and more than one writer. */
export function forEachServerAtOnce(title: string, body: (database: TestDatabase) => void): void {
  const servers = databases.filter(database => database.name !== 'sqlite')
  describeAtOnce(title, servers, body)
}

function describeAtOnce(title: string, some: readonly TestDatabase[], body: (database: TestDatabase) => void): void {
  describe.concurrent(title, () => {
    for (const database of some) describe(`on ${database.name}`, () => body(database))
  })
}

const open = new Set<IsolatedDatabase>()

/** Drops what the test file has left. */
export async function dropOpenDatabases(): Promise<void> {
  await Promise.all([...open].map(database => database.drop()))
}

function selectedDatabases(): TestDatabase[] {
  const { postgres, mysql } = inject('servers')
  const selected: TestDatabase[] = [{ name: 'sqlite', isolated: isolatedFile }]
  if (postgres) selected.push({ name: 'postgres', isolated: () => isolatedOnServer(postgres, onPostgres) })
  if (mysql) selected.push({ name: 'mysql', isolated: () => isolatedOnServer(mysql, onMysql) })
  return selected
}

async function isolatedFile(): Promise<IsolatedDatabase> {
  const folder = await mkdtemp(join(inject('sqliteFolder'), 'database-'))
  return remember(`sqlite:${join(folder, 'geneva.db')}`, () => rm(folder, { recursive: true, force: true }))
}

/** How one kind of server makes and deletes a database. */
interface ServerStatements {
  run(server: string, statement: string): Promise<void>
  create(name: string): string
  drop(name: string): string
}

async function isolatedOnServer(server: string, statements: ServerStatements): Promise<IsolatedDatabase> {
  const name = `${inject('databasePrefix')}_${randomBytes(6).toString('hex')}`
  await statements.run(server, statements.create(name))
  const url = new URL(server)
  url.pathname = `/${name}`
  return remember(url.href, () => statements.run(server, statements.drop(name)))
}

const onPostgres: ServerStatements = {
  async run(server, statement) {
    const { Client } = await import('pg')
    const client = new Client(server)
    await client.connect()
    try {
      await client.query(statement)
    } finally {
      await client.end()
    }
  },
  create: name => `CREATE DATABASE ${name} TEMPLATE template0`,
  drop: name => `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`,
}

const onMysql: ServerStatements = {
  async run(server, statement) {
    const { createConnection } = await import('mysql2/promise')
    const connection = await createConnection(server)
    try {
      await connection.query(statement)
    } finally {
      await connection.end()
    }
  },
  create: name => `CREATE DATABASE ${name} CHARACTER SET utf8mb4`,
  drop: name => `DROP DATABASE IF EXISTS ${name}`,
}

function remember(url: string, remove: () => Promise<void>): IsolatedDatabase {
  const database: IsolatedDatabase = {
    url,
    async drop() {
      if (open.delete(database)) await remove()
    },
  }
  open.add(database)
  return database
}
