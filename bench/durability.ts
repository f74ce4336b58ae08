/**
 * Whether a commit survives a power cut, asked of the databases that are measured, because a number of a server that may lose it is worth
 * nothing. What SQLite does is decided by whoever opens the file: asked of a connection that is opened like ours, and told. One that does
 * other than it was told is refused, too.
 */
import type { ServerName } from '../scripts/databases.mjs'
import type { DatabaseOptions } from '../src/index.ts'
import { sql } from '../src/store/sql/sql.ts'
import { openSqlite } from '../src/store/sqlite/sqlite-database.ts'
import { connectPlainly } from '../test/support/plain-sql.ts'
import type { BenchDatabase } from './databases.ts'

/** Settings by their names, as the database calls them. */
export type Durability = Readonly<Record<string, string>>

/** What each may be. */
const durable: Readonly<Record<ServerName, Readonly<Record<string, readonly string[]>>>> = {
  postgres: { fsync: ['on'], synchronous_commit: ['on'], full_page_writes: ['on'] },
  mysql: { innodb_flush_log_at_trx_commit: ['1'], innodb_doublewrite: ['1', 'ON'] },
}

/** Throws if a server may lose what it has committed. */
export async function durabilityOf({ kind, options }: Pick<BenchDatabase, 'kind' | 'options'>): Promise<Durability> {
  if (kind === 'sqlite') return durabilityOfFile(options)
  const found = await settingsOf(kind, options.url)
  refuseUnlessDurable(kind, found)
  return found
}

const levels: Readonly<Record<string, string>> = { 0: 'off', 1: 'normal', 2: 'full', 3: 'extra' }

async function durabilityOfFile({ url, synchronous = 'full' }: DatabaseOptions): Promise<Durability> {
  const database = await openSqlite({ path: url.slice('sqlite:'.length), synchronous })
  try {
    const [row] = await database.session(session => session.query(sql`pragma synchronous`))
    const level = levels[String(row?.synchronous)] ?? 'unknown'
    if (level !== synchronous) throw new Error(`SQLite was told to be ${synchronous}, and is ${level}.`)
    return { synchronous: level }
  } finally {
    await database.close()
  }
}

async function settingsOf(kind: ServerName, url: string): Promise<Durability> {
  const plain = await connectPlainly(kind, url)
  try {
    const settings: [string, string][] = []
    for (const name of Object.keys(durable[kind])) {
      const [row] = await plain.query(kind === 'postgres' ? `show ${name}` : `select @@global.${name} as value`)
      settings.push([name, String(Object.values(row ?? {})[0])])
    }
    return Object.fromEntries(settings)
  } finally {
    await plain.close()
  }
}

export function refuseUnlessDurable(kind: ServerName, found: Durability): void {
  const wrong = Object.entries(durable[kind]).flatMap(([setting, wanted]) =>
    wanted.includes(found[setting] ?? '') ? [] : [`${setting} is ${found[setting]}, not ${wanted[0]}`],
  )
  if (wrong.length === 0) return
  throw new Error(`The ${kind} server may lose what it has committed, so nothing is measured: ${wrong.join('; ')}.`)
}
