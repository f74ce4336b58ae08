/** The libraries that speak to MySQL and MariaDB. */
import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/mysql2'
import knex from 'knex'
import { CamelCasePlugin, Kysely, MysqlDialect, type Transaction } from 'kysely'
import mysql from 'mysql2'
import promises from 'mysql2/promise'
import { insertNote, type OpenApplication } from './application.ts'
import { prismaApplication, prismaClient } from './prisma-application.ts'

export const mysqlLibraries: Readonly<Record<string, OpenApplication>> = {
  'a mysql2 connection with promises': async url => {
    const connection = await promises.createConnection(url)
    return {
      transaction: async work => {
        await connection.beginTransaction()
        try {
          const result = await work(connection)
          await connection.commit()
          return result
        } catch (error) {
          await connection.rollback()
          throw error
        }
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
        try {
          const result = await work(connection)
          await ask(done => connection.commit(done))
          return result
        } catch (error) {
          await ask(done => connection.rollback(() => done(null)))
          throw error
        } finally {
          connection.release()
        }
      },
      note: (connection: mysql.PoolConnection, text) =>
        ask(done => connection.query(insertNote, [text], error => done(error))),
      root: pool,
      close: () => ask(done => pool.end(done)),
    }
  },
  Kysely: url => {
    const dialect = new MysqlDialect({ pool: mysql.createPool(url) })
    const db = new Kysely<any>({ dialect, plugins: [new CamelCasePlugin()] })
    return {
      transaction: work => db.transaction().execute(work),
      note: (tx: Transaction<any>, note) => tx.insertInto('applicationNotes').values({ note }).execute(),
      root: db,
      close: () => db.destroy(),
    }
  },
  Drizzle: url => {
    const pool = promises.createPool(url)
    const db = drizzle(pool)
    return {
      transaction: work => db.transaction(work),
      note: (tx, text) => tx.execute(sql`insert into application_notes (note) values (${text})`),
      root: db,
      close: () => pool.end(),
    }
  },
  Knex: url => {
    const db = knex({ client: 'mysql2', connection: url, postProcessResponse: () => 'spoilt' })
    return {
      transaction: work => db.transaction(work),
      note: async (tx, note) => tx('application_notes').insert({ note }),
      root: db,
      close: () => db.destroy(),
    }
  },
  Prisma: url => {
    const adapter = new PrismaMariaDb(url.replace(/^mysql:/, 'mariadb:'))
    return prismaApplication(prismaClient('mysql', adapter), '?')
  },
}

function ask(start: (done: (error: unknown) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => start(error => (error ? reject(error) : resolve())))
}
