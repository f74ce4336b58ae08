/**
 * How each database tells what it would do with a statement, and how to see in that whether it would read a whole table.
 */
import { openMysql } from '../../src/store/mysql/mysql-database.ts'
import { openPostgres } from '../../src/store/postgres/postgres-database.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-database.ts'
import type { TestDatabase } from './databases.ts'

export interface Planner {
  open(url: string): Promise<Database>
  readonly explain: string
  readonly analyze: readonly string[]
  /** A part of a plan that reads a table, or a whole index, from one end to the other. */
  readonly scan: RegExp
  readonly usesClaimIndex: RegExp
  /** A part of a plan that looks active rows `a` up by their workflow, of which it may have any number, and not by their slot as well. */
  readonly byWorkflowAlone: RegExp
  /** A part of a plan that gathers rows before it puts them in order. */
  readonly sorts: RegExp
}

const tables = ['workflows', 'active_executions', 'step_executions', 'events', 'fan_ins', 'graphs'].map(
  name => `geneva_drive_${name}`,
)

export const planners: Readonly<Record<TestDatabase['name'], Planner>> = {
  sqlite: {
    open: url => openSqlite({ path: url.replace('sqlite:', ''), synchronous: 'normal' }),
    explain: 'explain query plan',
    analyze: ['analyze'],
    scan: /detail=SCAN (?:a|c|e|f|g|l|n|o|p|v|w|geneva_drive_\w+)\b/,
    usesClaimIndex: /SEARCH (?:a|geneva_drive_active_executions) USING INDEX geneva_drive_active_claimable/,
    byWorkflowAlone: /SEARCH a USING PRIMARY KEY \(workflow_id=\?\)/,
    sorts: /TEMP B-TREE/,
  },
  postgres: {
    open: url => openPostgres({ url, poolSize: 4, preparedStatements: true }),
    explain: 'explain',
    analyze: tables.map(table => `analyze ${table}`),
    scan: new RegExp(`Seq Scan on (?:${tables.join('|')})`),
    usesClaimIndex: /Index Scan using geneva_drive_active_claimable/,
    byWorkflowAlone: /Index Cond: \((?:a\.)?workflow_id = [^()]*(?:\([^()]*\))?[^()]*\)$/,
    sorts: /Sort|Bitmap/,
  },
  mysql: {
    open: url => openMysql({ url, poolSize: 4 }),
    explain: 'explain',
    analyze: tables.map(table => `analyze table ${table}`),
    scan: /table=(?:a|c|e|f|g|l|n|o|p|v|w|geneva_drive_\w+) (?:partitions=\S* )?type=(?:ALL|index) /,
    usesClaimIndex: /table=(?:a|geneva_drive_active_executions) .*key=geneva_drive_active_claimable/,
    byWorkflowAlone: /table=a (?:partitions=\S* )?type=ref /,
    sorts: /filesort|temporary/,
  },
}
