/**
 * How many deadlocks a server has broken since it began, or in this database since that was made. `null` where there is no
 * server, and so nobody who would count them.
 */
import type { PlainConnection } from '../test/support/plain-sql.ts'
import type { BenchDatabase } from './databases.ts'

const statements: Readonly<Record<Exclude<BenchDatabase['kind'], 'sqlite'>, string>> = {
  postgres: 'select deadlocks as count from pg_stat_database where datname = current_database()',
  mysql: `select variable_value as count from information_schema.global_status where variable_name = 'innodb_deadlocks'`,
}

export async function deadlockCount(kind: BenchDatabase['kind'], plain: PlainConnection): Promise<number | null> {
  if (kind === 'sqlite') return null
  const [row] = await plain.query(statements[kind])
  if (row === undefined) throw new Error('The server does not tell how many deadlocks it has broken.')
  return Number(row.count)
}
