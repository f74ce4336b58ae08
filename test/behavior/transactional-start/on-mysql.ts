/** The libraries that speak to MySQL and MariaDB. */
import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { drizzle } from 'drizzle-orm/mysql2'
import knex from 'knex'
import { CamelCasePlugin, Kysely, MysqlDialect } from 'kysely'
import mysql from 'mysql2'
import promises from 'mysql2/promise'
import { committed, type Isolation, insertNote, type OpenApplication } from './application.ts'
import { prismaApplication, prismaClient } from './prisma-application.ts'
import { drizzleApplication, execute, knexApplication, kyselyApplication } from './query-builders.ts'

export const mysqlLibraries: Readonly<Record<string, OpenApplication>> = {
  'a mysql2 connection with promises': async (url, isolation) => {
    const connection = await promises.createConnection(url)
    return {
      transaction: async work => {
        if (isolation) await connection.query(levelOf(isolation))
        await connection.beginTransaction()
        return committed(() => work(connection), {
          commit: () => connection.commit(),
          rollback: () => connection.rollback(),
        })
      },
      note: (own: promises.Connection, text) => own.execute(insertNote, [text]),
      run: (own: promises.Connection, statement) => own.query(statement),
      root: promises.createPool(url),
      close: () => connection.end(),
    }
  },
  'a mysql2 connection with callbacks, from a pool': (url, isolation) => {
    const pool = mysql.createPool(url)
    return {
      transaction: async work => {
        const connection = await new Promise<mysql.PoolConnection>((resolve, reject) =>
          pool.getConnection((error, found) => (error ? reject(error) : resolve(found))),
        )
        if (isolation) await ask(done => connection.query(levelOf(isolation), done))
        await ask(done => connection.beginTransaction(done))
        return committed(() => work(connection), {
          commit: () => ask(done => connection.commit(done)),
          rollback: () => ask(done => connection.rollback(() => done(null))),
        }).finally(() => connection.release())
      },
      note: (connection: mysql.PoolConnection, text) =>
        ask(done => connection.query(insertNote, [text], error => done(error))),
      run: (connection: mysql.PoolConnection, statement) => ask(done => connection.query(statement, done)),
      root: pool,
      close: () => ask(done => pool.end(done)),
    }
  },
  Kysely: (url, isolation) => {
    const dialect = new MysqlDialect({ pool: mysql.createPool(url) })
    return kyselyApplication(new Kysely({ dialect, plugins: [new CamelCasePlugin()] }), isolation)
  },
  Drizzle: (url, isolation) => {
    const pool = promises.createPool(url)
    return drizzleApplication(drizzle(pool), { isolation, run: execute, close: () => pool.end() })
  },
  Knex: (url, isolation) =>
    knexApplication(knex({ client: 'mysql2', connection: url, postProcessResponse: () => 'spoilt' }), isolation),
  Prisma: (url, isolation) => {
    const adapter = new PrismaMariaDb(url.replace(/^mysql:/, 'mariadb:'))
    return prismaApplication(prismaClient('mysql', adapter), '?', isolation)
  },
}

/** For the next transaction of the connection. */
const levelOf = (isolation: Isolation) => `set transaction isolation level ${isolation}`

function ask(start: (done: (error: unknown) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => start(error => (error ? reject(error) : resolve())))
}
