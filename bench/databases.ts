/**
 * The databases that are measured: durable ones, each in a fresh place. A server is started for the run, never one that
 * tests use, because those trade safety for speed.
 */
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseOptions } from '../src/index.ts'

export type BenchDatabaseName = 'sqlite' | 'postgres' | 'mysql'

export interface BenchDatabase {
  readonly name: BenchDatabaseName
  readonly options: DatabaseOptions
}

export interface BenchDatabases {
  readonly all: readonly BenchDatabase[]
  /** Where the files are. In memory nothing is durable, whatever is asked for. */
  readonly onDisk: boolean
  stop(): Promise<void>
}

const inMemory = new Set([0x01021994, 0x858458f6])

export async function openDatabases(names: readonly BenchDatabaseName[]): Promise<BenchDatabases> {
  const folder = await mkdtemp(join(tmpdir(), 'geneva-bench-'))
  const stops = [() => rm(folder, { recursive: true, force: true })]
  const all: BenchDatabase[] = []
  for (const name of names) {
    if (name === 'sqlite') {
      all.push({ name, options: { url: `sqlite:${join(folder, 'bench.db')}`, synchronous: 'full' } })
    } else {
      const server = await startServer(name)
      stops.unshift(server.stop)
      all.push({ name, options: { url: server.url } })
    }
  }
  return {
    all,
    onDisk: !inMemory.has((await statfs(folder)).type),
    async stop() {
      for (const stop of stops) await stop()
    },
  }
}

async function startServer(name: 'postgres' | 'mysql'): Promise<{ url: string; stop(): Promise<void> }> {
  // The programs are compiled into another folder, and the scripts are not.
  const script = new URL('../../scripts/databases.mjs', import.meta.url)
  const { startDatabases } = (await import(script.href)) as typeof import('../scripts/databases.mjs')
  delete process.env.GENEVA_TEST_POSTGRES_URL
  delete process.env.GENEVA_TEST_MYSQL_URL
  const { [name]: url, stop } = await startDatabases({ durable: true, only: [name] })
  if (url === undefined) throw new Error(`The ${name} server was not started.`)
  return { url, stop }
}
