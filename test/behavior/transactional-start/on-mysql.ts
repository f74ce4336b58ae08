/** The libraries that speak to MySQL and MariaDB. */
import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { drizzle } from 'drizzle-orm/mysql2'
import knex from 'knex'
import { CamelCasePlugin, Kysely, MysqlDialect } from 'kysely'
import mysql from 'mysql2'
import promises from 'mysql2/promise'
import { committed, insertNote, type OpenApplication } from './application.ts'
import { prismaApplication, prismaClient } from './prisma-application.ts'
import { drizzleApplication, execute, knexApplication, kyselyApplication } from './query-builders.ts'

export const mysqlLibraries: Readonly<Record<string, OpenApplication>> = {
  'a mysql2 connection with promises': async url => {
    const connection = await promises.createConnection(url)
    return {
      transaction: async work => {
        await connection.beginTransaction()
        return committed(() => work(connection), {
          commit: () => connection.commit(),
          rollback: () => connection.rollback(),
        })
      },
      note: (_connection, text) => connection.execute(insertNote, [text]),
      root: promises.createPool(url),
      close: () => connection.end(),
    }
  },
  'a mysql2 connection with callbacks, from a pool': url => {
    const pool = mysql.createPool(url)
    return {
      transaction: async work => {
        const connection = await new Promise<mysql.PoolConnection>((resolve, reject) =>
          pool.getConnection((error, found) => (error ? reject(error) : resolve(found))),
        )
        await ask(done => connection.beginTransaction(done))
        return committed(() => work(connection), {
          commit: () => ask(done => connection.commit(done)),
          rollback: () => ask(done => connection.rollback(() => done(null))),
        }).finally(() => connection.release())
      },
      note: (connection: mysql.PoolConnection, text) =>
        ask(done => connection.query(insertNote, [text], error => done(error))),
      root: pool,
      close: () => ask(done => pool.end(done)),
    }
  },
  Kysely: url => {
    const dialect = new MysqlDialect({ pool: mysql.createPool(url) })
    return kyselyApplication(new Kysely({ dialect, plugins: [new CamelCasePlugin()] }))
  },
  Drizzle: url => {
    const pool = promises.createPool(url)
    return drizzleApplication(drizzle(pool), execute, () => pool.end())
  },
  Knex: url => knexApplication(knex({ client: 'mysql2', connection: url, postProcessResponse: () => 'spoilt' })),
  Prisma: url => {
    const adapter = new PrismaMariaDb(url.replace(/^mysql:/, 'mariadb:'))
    return prismaApplication(prismaClient('mysql', adapter), '?')
  },
}

function ask(start: (done: (error: unknown) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => start(error => (error ? reject(error) : resolve())))
}
