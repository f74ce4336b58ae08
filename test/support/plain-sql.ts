/** Plain SQL through the driver of each database, for what tests must see or do behind the engine's back. */
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { openSqliteHandle } from '../../src/store/sqlite/sqlite-driver.ts'
import type { DatabaseName } from './databases.ts'

export interface PlainConnection {
  query(statement: string): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

export async function connectPlainly(name: DatabaseName, url: string): Promise<PlainConnection> {
  if (name === 'postgres') {
    const client = new Client(url)
    // A test that fails leaves its connection to be ended with the database.
    client.on('error', () => {})
    await client.connect()
    return { query: async statement => (await client.query(statement)).rows, close: () => client.end() }
  }
  if (name === 'mysql') {
    const connection = await createConnection(url)
    return {
      query: async statement => (await connection.query(statement))[0] as Record<string, unknown>[],
      close: () => connection.end(),
    }
  }
  const handle = await openSqliteHandle(url.replace(/^sqlite:/, ''))
  handle.exec('pragma busy_timeout = 5000')
  return {
    query: async statement => handle.prepare(statement).all() as Record<string, unknown>[],
    close: async () => handle.close(),
  }
}

const tables = ['workflows', 'active_executions', 'step_executions', 'events', 'tags']

/** How many rows stand in each table that holds workflows, to see that nothing was half written. */
export async function countRows(connection: PlainConnection): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of tables) {
    const [row] = await connection.query(`select count(*) as count from geneva_drive_${table}`)
    counts[table] = Number(row?.count)
  }
  return counts
}
