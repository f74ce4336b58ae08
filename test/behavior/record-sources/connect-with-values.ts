/** Sends statements with bound values through the driver of each database, in its usual set-up. */
import { createConnection } from 'mysql2/promise'
import postgres from 'postgres'
import { openSqliteHandle } from '../../../src/store/sqlite/sqlite-driver.ts'
import type { DatabaseName } from '../../support/databases.ts'

interface Connection {
  query(text: string, values: unknown[]): Promise<any[]>
  close(): Promise<unknown>
}

export async function connectWithValues(name: DatabaseName, url: string): Promise<Connection> {
  if (name === 'postgres') {
    // The driver that insists most on types of its own.
    const client = postgres(url)
    return { query: (text, values) => client.unsafe(text, values as string[]), close: () => client.end() }
  }
  if (name === 'mysql') {
    const connection = await createConnection(url)
    return {
      query: async (text, values) => (await connection.execute(text, values as string[]))[0] as any[],
      close: () => connection.end(),
    }
  }
  const handle = await openSqliteHandle(url.replace(/^sqlite:/, ''))
  return {
    query: async (text, values) => handle.prepare(text).all(...(values as string[])) as any[],
    close: async () => handle.close(),
  }
}
