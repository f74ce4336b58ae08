/**
 * Runs once before all test files: starts the databases and compiles the programs that tests spawn. There are no skips:
 * a database that cannot be had fails the run, and only GENEVA_TEST_DATABASES leaves one out.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { type Databases, type ServerName, startDatabases } from '../../scripts/databases.mjs'
import { buildPrograms } from './build-programs.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Addresses of the servers; one that this run leaves out is missing. */
    servers: Readonly<Partial<Record<ServerName, string>>>
    /** A folder for database files, deleted at the end of the run. */
    sqliteFolder: string
    /** A prefix for names of databases that no other run uses. */
    databasePrefix: string
  }
}

let databases: Databases | undefined

export async function setup(project: TestProject): Promise<void> {
  endWithParent()
  const [started] = await Promise.all([startDatabases({ only: selectedServers() }), buildPrograms(project.config.root)])
  databases = started
  const { postgres, mysql } = started
  const sqliteFolder = join(started.folder, 'sqlite')
  await mkdir(sqliteFolder)
  // For the tests and the programs that they start: whatever they leave there goes with the run.
  process.env.TMPDIR = join(started.folder, 'temporary')
  await mkdir(process.env.TMPDIR)
  project.provide('servers', { ...(postgres && { postgres }), ...(mysql && { mysql }) })
  project.provide('sqliteFolder', sqliteFolder)
  project.provide('databasePrefix', `geneva_${process.pid}_${Date.now().toString(36)}`)
}

export async function teardown(): Promise<void> {
  await databases?.stop()
}

/** `npm test` runs us with a channel; should it be killed, nobody wants our result any more. */
function endWithParent(): void {
  process.once('disconnect', () => process.exit(1))
  process.channel?.unref()
}

function selectedServers(): readonly ServerName[] {
  const selection = process.env.GENEVA_TEST_DATABASES
  if (selection === undefined || selection === '') return ['postgres', 'mysql']
  if (process.env.CI === 'true')
    throw new Error('GENEVA_TEST_DATABASES is set in CI, where every database must be tested.')
  return selection.split(',').flatMap(name => {
    if (name === 'sqlite') return []
    if (name === 'postgres' || name === 'mysql') return [name]
    throw new Error(`GENEVA_TEST_DATABASES names ${name}. Use a comma-separated list of sqlite, postgres and mysql.`)
  })
}
