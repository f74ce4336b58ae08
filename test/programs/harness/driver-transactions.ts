/** Transactions that an application opens itself, with the driver of its database and nothing else. */
import type { OpenTransaction } from '../../../src/index.ts'
import { kindOf } from './plain-access.ts'

interface Ends {
  readonly handle: unknown
  run(statement: string): Promise<unknown>
  leave(): unknown
}

export function driverTransactions(url: string): OpenTransaction {
  const connect = { postgres: connectPostgres, mysql: connectMysql, sqlite: connectSqlite }[kindOf(url)](url)
  return (async (work: (transaction: unknown) => Promise<unknown>) => {
    const { handle, run, leave } = await (await connect)()
    try {
      const result = await work(handle)
      await run('commit')
      return result
    } catch (error) {
      await run('rollback').catch(() => {})
      throw error
    } finally {
      await leave()
    }
  }) as OpenTransaction
}

async function connectPostgres(url: string): Promise<() => Promise<Ends>> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: url, max: 4, allowExitOnIdle: true })
  pool.on('error', () => {})
  return async () => {
    const client = await pool.connect()
    await client.query('begin')
    return { handle: client, run: statement => client.query(statement), leave: () => client.release() }
  }
}

async function connectMysql(url: string): Promise<() => Promise<Ends>> {
  const { default: mysql } = await import('mysql2/promise')
  return async () => {
    const connection = await mysql.createConnection(url)
    await connection.query('start transaction')
    return { handle: connection, run: statement => connection.query(statement), leave: () => connection.end() }
  }
}

async function connectSqlite(url: string): Promise<() => Promise<Ends>> {
  const { DatabaseSync } = await import('@photostructure/sqlite')
  return async () => {
    const handle = new DatabaseSync(url.replace(/^(sqlite|file):/, ''))
    try {
      handle.exec('pragma busy_timeout = 0; pragma synchronous = full')
      // Busy: then Geneva calls again.
      handle.exec('begin immediate')
    } catch (error) {
      handle.close()
      throw error
    }
    return { handle, run: async statement => handle.exec(statement), leave: () => handle.close() }
  }
}
