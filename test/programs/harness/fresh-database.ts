/** A new, empty database for one run of the crash command, on a server or in a file, and its removal. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import mysql from 'mysql2/promise'
import pg from 'pg'
import type { DatabaseKind } from './plain-access.ts'

export interface FreshDatabase {
  readonly url: string
  drop(): Promise<void>
}

/** Where databases can be made: addresses of servers, and a folder for files. */
export interface Places {
  readonly postgres: string | undefined
  readonly mysql: string | undefined
  readonly folder: string
}

export async function freshDatabase(kind: DatabaseKind, places: Places): Promise<FreshDatabase> {
  if (kind === 'sqlite') {
    const folder = await mkdtemp(join(places.folder, 'crash-'))
    return { url: `sqlite:${join(folder, 'geneva.db')}`, drop: () => rm(folder, { recursive: true, force: true }) }
  }
  const server = places[kind]
  if (server === undefined) throw new Error(`There is no ${kind} server.`)
  const run = kind === 'postgres' ? runOnPostgres : runOnMysql
  const name = `geneva_crash_${randomBytes(6).toString('hex')}`
  await run(server, `create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  const force = kind === 'postgres' ? ' with (force)' : ''
  return { url: url.href, drop: () => run(server, `drop database ${name}${force}`) }
}

async function runOnPostgres(server: string, statement: string): Promise<void> {
  const client = new pg.Client(server)
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

async function runOnMysql(server: string, statement: string): Promise<void> {
  const connection = await mysql.createConnection(server)
  await connection.query(statement).finally(() => connection.end())
}
