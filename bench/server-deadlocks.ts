/** How many deadlocks a server has broken since it began, or in this database since that was made. */
import type { PlainConnection } from '../test/support/plain-sql.ts'
import type { BenchDatabase } from './databases.ts'

const statements: Readonly<Record<BenchDatabase['kind'], string>> = {
  sqlite: 'select 0 as count',
  postgres: 'select deadlocks as count from pg_stat_database where datname = current_database()',
  mysql: `select variable_value as count from information_schema.global_status where variable_name = 'innodb_deadlocks'`,
}

export async function deadlockCount(kind: BenchDatabase['kind'], plain: PlainConnection): Promise<number> {
  const [row] = await plain.query(statements[kind])
  return Number(row?.count)
}
