/** Sends statements with bound values through the driver of each database, in its usual set-up. */
import type { RowDataPacket } from 'mysql2'
import { createConnection } from 'mysql2/promise'
import postgres from 'postgres'
import { openSqliteHandle } from '../../../src/store/sqlite/sqlite-driver.ts'
import type { DatabaseName } from '../../support/databases.ts'

export interface Row {
  readonly id: number
  readonly at: unknown
}

interface Connection {
  query(text: string, values: unknown[]): Promise<readonly Row[]>
  close(): Promise<unknown>
}

export async function connectWithValues(name: DatabaseName, url: string): Promise<Connection> {
  if (name === 'postgres') {
    // The driver that insists most on types of its own.
    const client = postgres(url)
    return { query: (text, values) => client.unsafe<Row[]>(text, values as string[]), close: () => client.end() }
  }
  if (name === 'mysql') {
    const connection = await createConnection(url)
    return {
      query: async (text, values) => (await connection.execute<(Row & RowDataPacket)[]>(text, values as string[]))[0],
      close: () => connection.end(),
    }
  }
  const handle = await openSqliteHandle(url.replace(/^sqlite:/, ''))
  return {
    query: async (text, values) => handle.prepare(text).all(...(values as string[])) as Row[],
    close: async () => handle.close(),
  }
}
