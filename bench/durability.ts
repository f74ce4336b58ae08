/**
 * Whether a commit survives a power cut, asked of the servers that are measured, because a number of one that may lose it is worth
 * nothing. What SQLite does is decided by whoever opens the file: told, never refused.
 */
import type { ServerName } from '../scripts/databases.mjs'
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
  if (kind === 'sqlite') return { synchronous: options.synchronous ?? 'full' }
  const found = await settingsOf(kind, options.url)
  refuseUnlessDurable(kind, found)
  return found
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
