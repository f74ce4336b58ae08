/**
 * The databases that are measured: durable ones, each in a fresh place. A server is started for the run, never one that
 * tests use, because those trade safety for speed.
 */
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Databases, ServerName, StartOptions } from '../scripts/databases.mjs'
import type { DatabaseOptions } from '../src/index.ts'
import { connectPlainly } from '../test/support/plain-sql.ts'

export type BenchDatabaseName = 'sqlite' | 'sqlite-normal' | 'postgres' | 'mysql'

export interface BenchDatabase {
  readonly name: BenchDatabaseName
  /** Which database that is, whatever its settings. */
  readonly kind: 'sqlite' | 'postgres' | 'mysql'
  readonly options: DatabaseOptions
}

export interface BenchDatabases {
  readonly all: readonly BenchDatabase[]
  /** Where the files are. In memory nothing is durable, whatever is asked for. */
  readonly onDisk: boolean
  /** For other files of the run; deleted with the databases. */
  readonly folder: string
  stop(): Promise<void>
}

const inMemory = new Set([0x01021994, 0x858458f6])

/**
 * Sizes fit for a server that does nothing else, and none where nothing is measured. What makes a commit durable stays as the server has
 * it by default.
 */
export const serverSettings = {
  full: {
    postgres: ['shared_buffers=2GB', 'max_wal_size=8GB', 'jit=off'],
    mysql: ['innodb-buffer-pool-size=2G', 'innodb-log-file-size=1G'],
  },
  tiny: {},
} as const

type Settings = NonNullable<StartOptions['settings']>

export async function openDatabases(names: readonly BenchDatabaseName[], settings: Settings): Promise<BenchDatabases> {
  const folder = await mkdtemp(join(tmpdir(), 'geneva-bench-'))
  const stops = [() => rm(folder, { recursive: true, force: true })]
  try {
    const servers = await startServers(names.filter(isServer), settings)
    if (servers !== null) stops.unshift(servers.stop)
    const all = names.map((name): BenchDatabase => {
      if (isServer(name)) return { name, kind: name, options: { url: addressOf(servers, name) } }
      const synchronous = name === 'sqlite' ? 'full' : 'normal'
      return { name, kind: 'sqlite', options: { url: `sqlite:${join(folder, `${name}.db`)}`, synchronous } }
    })
    const onDisk = !inMemory.has((await statfs(folder)).type)
    return { all, folder, onDisk, stop: () => stopAll(stops) }
  } catch (error) {
    await stopAll(stops)
    throw error
  }
}

async function stopAll(stops: readonly (() => Promise<void>)[]): Promise<void> {
  for (const stop of stops) await stop()
}

function isServer(name: BenchDatabaseName): name is ServerName {
  return name === 'postgres' || name === 'mysql'
}

function addressOf(servers: Databases | null, name: ServerName): string {
  const url = servers?.[name]
  if (url === undefined) throw new Error(`The ${name} server was not started.`)
  return url
}

async function startServers(only: readonly ServerName[], settings: Settings): Promise<Databases | null> {
  if (only.length === 0) return null
  // The programs are compiled into another folder, and the scripts are not.
  const script = new URL('../../scripts/databases.mjs', import.meta.url)
  const { startDatabases } = (await import(script.href)) as typeof import('../scripts/databases.mjs')
  delete process.env.GENEVA_TEST_POSTGRES_URL
  delete process.env.GENEVA_TEST_MYSQL_URL
  return startDatabases({ durable: true, only, settings })
}

let places = 0

/** A database of its own on the same server, or a file of its own beside the other: as if nothing had been before. */
export async function inFreshPlace<T>(database: BenchDatabase, work: (place: BenchDatabase) => Promise<T>): Promise<T> {
  const name = `bench_${process.pid}_${++places}`
  const { url } = database.options
  if (database.kind === 'sqlite') {
    const file = `${url.slice('sqlite:'.length)}.${name}.db`
    try {
      return await work({ ...database, options: { ...database.options, url: `sqlite:${file}` } })
    } finally {
      for (const end of ['', '-wal', '-shm']) await rm(`${file}${end}`, { force: true })
    }
  }
  const fresh = new URL(url)
  fresh.pathname = `/${name}`
  const run = async (statement: string) => {
    const server = await connectPlainly(database.kind, url)
    await server.query(statement).finally(() => server.close())
  }
  await run(`create database ${name}`)
  try {
    return await work({ ...database, options: { ...database.options, url: fresh.href } })
  } finally {
    await run(`drop database ${name}${database.kind === 'postgres' ? ' with (force)' : ''}`)
  }
}
