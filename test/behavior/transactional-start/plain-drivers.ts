/** The drivers without a library on top, for what a library would not allow: half-open and broken transactions. */
import mysql from 'mysql2'
import promises from 'mysql2/promise'
import pg from 'pg'
import type { DatabaseName } from '../../support/databases.ts'
import { BetterSqlite } from './better-sqlite.ts'
import { DatabaseSync, pathOf } from './sqlite-library.ts'

export interface DriverConnection {
  readonly handle: object
  query(statement: string): Promise<unknown>
  close(): Promise<unknown>
}

export interface PlainDriver {
  readonly name: string
  connect(url: string): Promise<DriverConnection>
}

export const plainDrivers: Record<DatabaseName, readonly PlainDriver[]> = {
  postgres: [
    {
      name: 'pg',
      connect: async url => {
        const client = new pg.Client(url)
        await client.connect()
        return { handle: client, query: statement => client.query(statement), close: () => client.end() }
      },
    },
  ],
  mysql: [
    {
      name: 'mysql2 with promises',
      connect: async url => {
        const connection = await promises.createConnection(url)
        const query = async (statement: string) => (await connection.query(statement))[0]
        return { handle: connection, query, close: () => connection.end() }
      },
    },
    {
      name: 'mysql2 with callbacks',
      connect: async url => {
        const connection = mysql.createConnection(url)
        const query = async (statement: string) => (await connection.promise().query(statement))[0]
        return { handle: connection, query, close: () => connection.promise().end() }
      },
    },
  ],
  sqlite: [
    { name: 'the interface of node:sqlite', connect: async url => sqliteConnection(new DatabaseSync(pathOf(url))) },
    { name: 'better-sqlite3', connect: async url => sqliteConnection(new BetterSqlite(pathOf(url))) },
  ],
}

function sqliteConnection(handle: { exec(text: string): unknown; close(): unknown }): DriverConnection {
  return { handle, query: async statement => handle.exec(statement), close: async () => handle.close() }
}
