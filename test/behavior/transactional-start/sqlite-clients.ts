/**
 * What Drizzle and Prisma need to reach a SQLite file, over the library that is installed: the part of the libsql
 * client that Drizzle calls, and a driver adapter for Prisma.
 */
import { DatabaseSync, type SqliteConnection } from './sqlite-library.ts'

interface LibsqlStatement {
  readonly sql: string
  readonly args: any[]
}

class LibsqlTransaction {
  readonly #handle: SqliteConnection

  constructor(handle: SqliteConnection) {
    this.#handle = handle
    handle.exec('begin immediate')
  }

  async execute({ sql, args }: LibsqlStatement) {
    const statement = this.#handle.prepare(sql)
    if (statement.columns().length > 0) return { rows: statement.all(...args), rowsAffected: 0 }
    return { rows: [], rowsAffected: Number(statement.run(...args).changes) }
  }

  async commit() {
    this.#handle.exec('commit')
  }

  async rollback() {
    this.#handle.exec('rollback')
  }
}

export class LibsqlClient {
  readonly #handle: SqliteConnection

  constructor(path: string) {
    this.#handle = new DatabaseSync(path)
  }

  async transaction(): Promise<LibsqlTransaction> {
    return new LibsqlTransaction(this.#handle)
  }

  close(): void {
    this.#handle.close()
  }
}

interface PrismaQuery {
  readonly sql: string
  readonly args: any[]
}

const int64 = 1
const text = 7

class SqliteAdapter {
  readonly provider = 'sqlite'
  readonly adapterName = 'geneva-test'
  readonly options = { usePhantomQuery: false }
  readonly #handle: SqliteConnection

  constructor(path: string) {
    this.#handle = new DatabaseSync(path)
  }

  async queryRaw({ sql, args }: PrismaQuery) {
    const statement = this.#handle.prepare(sql)
    const rows = statement.all(...args) as Readonly<Record<string, unknown>>[]
    const columnNames = statement.columns().map(column => column.name)
    const isNumber = (name: string) => rows.some(row => typeof row[name] === 'number')
    return {
      columnNames,
      columnTypes: columnNames.map(name => (isNumber(name) ? int64 : text)),
      rows: rows.map(row => columnNames.map(name => row[name])),
    }
  }

  async executeRaw({ sql, args }: PrismaQuery) {
    return Number(this.#handle.prepare(sql).run(...args).changes)
  }

  async startTransaction() {
    this.#handle.exec('begin immediate')
    return this
  }

  /** Prisma sends COMMIT and ROLLBACK by itself; these are told afterwards. */
  async commit() {}
  async rollback() {}

  async dispose() {
    this.#handle.close()
  }
}

export class SqliteAdapterFactory {
  readonly provider = 'sqlite'
  readonly adapterName = 'geneva-test'
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  async connect() {
    return new SqliteAdapter(this.#path)
  }
}
