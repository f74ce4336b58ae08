/**
 * How each database tells what it would do with a statement, and how to see in that whether it would read a whole table, and by which
 * of its keys it would look rows up.
 */
import { openMysql } from '../../src/store/mysql/mysql-database.ts'
import { openPostgres } from '../../src/store/postgres/postgres-database.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { raw } from '../../src/store/sql/sql.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-database.ts'
import type { TestDatabase } from './databases.ts'

export interface Planner {
  open(url: string): Promise<Database>
  readonly explain: string
  /** Asks for the plan that a connection would keep for a statement, whatever its values; missing where none is kept. */
  readonly explainKept?: string
  readonly analyze: readonly string[]
  /** What each connection has to be told then, where it does not hear of it by itself. */
  readonly reread?: string
  /** A part of a plan that reads a table, or a whole index, from one end to the other. */
  readonly scan: RegExp
  readonly usesClaimIndex: RegExp
  /** A part of a plan that looks active rows `a` up by their workflow, of which it may have any number, and not by their slot as well. */
  readonly byWorkflowAlone: RegExp
  /** A part of a plan that gathers rows before it puts them in order. */
  readonly sorts: RegExp
  /** How the statement comes to the rows of our tables, in the words of its plan. */
  accesses(text: string, plan: readonly string[], indexes: Indexes): Access[]
  /** Names every index with its table and its first column, for databases whose plans do not. */
  readonly listIndexes?: string
}

/** By the name of the index. */
export type Indexes = ReadonlyMap<string, { readonly table: string; readonly first: string }>

export async function indexesOf(database: Database, { listIndexes }: Planner): Promise<Indexes> {
  const rows = listIndexes === undefined ? [] : await database.query(raw(listIndexes))
  return new Map(rows.map(row => [String(row.name), { table: String(row.of), first: String(row.first) }]))
}

export interface Access {
  /** Without the prefix that all tables have. */
  readonly table: string
  readonly line: string
  /** It reads the table, or an index of it, from one end to the other. */
  readonly isWhole: boolean
  /** It looks rows up by the key of the table. */
  readonly isByKey: boolean
}

const prefix = 'geneva_drive_'

const tables = ['workflows', 'active_executions', 'step_executions', 'events', 'fan_ins', 'graphs'].map(
  name => `${prefix}${name}`,
)
const analyzed = [...tables, `${prefix}watches`, `${prefix}tags`, `${prefix}workers`]

/** A table of ours, and what stands behind it: the name that it has in the statement, unless the next clause begins there. */
const tableWithName = new RegExp(
  `\\b${prefix}(\\w+)(?:\\s+(?:as\\s+)?(?!(?:set|where|using|select|on|order|force|straight_join|join|cross|values|limit|group|union|for)\\b)([a-z]\\w*)\\b)?`,
  'g',
)

/** The tables of a statement by the names under which its plan may speak of them. */
function tablesIn(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const [, table = '', name] of text.matchAll(tableWithName)) {
    for (const called of [`${prefix}${table}`, ...(name === undefined ? [] : [name])]) {
      found.set(called, (found.get(called) ?? new Set()).add(table))
    }
  }
  return found
}

function accessesOfSqlite(text: string, plan: readonly string[]): Access[] {
  const known = tablesIn(text)
  return plan.flatMap(line => {
    const [, verb = '', name = '', how = ''] = /detail=(SCAN|SEARCH) (\S+)(.*)$/.exec(line) ?? []
    // It makes an index of all rows, or skips from one value of the first column to the next.
    const isWhole = verb === 'SCAN' || /AUTOMATIC|ANY\(/.test(how)
    const isByKey = /USING (?:INTEGER )?PRIMARY KEY|sqlite_autoindex/.test(how)
    return [...(known.get(name) ?? [])].map(table => ({ table, line, isWhole, isByKey }))
  })
}

function accessesOfMysql(text: string, plan: readonly string[]): Access[] {
  const known = tablesIn(text)
  return plan.flatMap(line => {
    const [, name = '', type = '', key = ''] =
      /\btable=(\S+) (?:partitions=\S* )?type=(\S+) .*?\bkey=(\S+)/.exec(line) ?? []
    // That is where rows go, not where they come from.
    if (line.includes('select_type=INSERT')) return []
    const isWhole = type === 'ALL' || type === 'index'
    return [...(known.get(name) ?? [])].map(table => ({ table, line, isWhole, isByKey: key === 'PRIMARY' }))
  })
}

const scanNode = new RegExp(`Scan (?:Backward )?(?:using (\\S+) )?on (${prefix}\\w+)`)

/** The heap that is read by way of a bitmap is told by the index below it. */
function accessesOfPostgres(_: string, plan: readonly string[], indexes: Indexes): Access[] {
  const nodes = plan
    .map(line => line.replace(/^QUERY PLAN=/, ''))
    .join('\n')
    .split(/\n(?=\s*(?:->|CTE|InitPlan|SubPlan))/)
  return nodes.flatMap(line => {
    const [, used, on = ''] = scanNode.exec(line) ?? []
    if (on === '' || line.includes('Bitmap Heap Scan')) return []
    const name = used ?? on
    const index = indexes.get(name)
    const table = (index?.table ?? on).slice(prefix.length)
    const condition = /Index Cond: (.*)/.exec(line)?.[1]
    // A condition on a later column alone goes through all of the index.
    const isWhole = condition === undefined || !new RegExp(`\\b${index?.first} `).test(condition)
    return [{ table, line, isWhole, isByKey: name.endsWith('_pkey') }]
  })
}

export const planners: Readonly<Record<TestDatabase['name'], Planner>> = {
  sqlite: {
    open: url => openSqlite({ path: url.replace('sqlite:', ''), synchronous: 'normal' }),
    explain: 'explain query plan',
    analyze: ['analyze'],
    reread: 'analyze sqlite_schema',
    scan: /detail=SCAN (?:a|c|e|f|g|l|n|o|p|v|w|geneva_drive_\w+)\b/,
    usesClaimIndex: /SEARCH (?:a|geneva_drive_active_executions) USING INDEX geneva_drive_active_claimable/,
    byWorkflowAlone: /SEARCH a USING PRIMARY KEY \(workflow_id=\?\)/,
    sorts: /TEMP B-TREE/,
    accesses: accessesOfSqlite,
  },
  postgres: {
    open: url => openPostgres({ url, poolSize: 4, preparedStatements: true }),
    explain: 'explain',
    explainKept: 'explain (generic_plan)',
    analyze: analyzed.map(table => `analyze ${table}`),
    scan: new RegExp(`Seq Scan on (?:${tables.join('|')})`),
    usesClaimIndex: /Index Scan using geneva_drive_active_claimable/,
    byWorkflowAlone: /Index Cond: \((?:a\.)?workflow_id = [^()]*(?:\([^()]*\))?[^()]*\)$/,
    sorts: /Sort|Bitmap/,
    accesses: accessesOfPostgres,
    listIndexes: `select i.relname as name, t.relname as of, a.attname as first from pg_index x
      join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
      join pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[0] where t.relname like 'geneva\\_drive\\_%'`,
  },
  mysql: {
    open: url => openMysql({ url, poolSize: 4 }),
    explain: 'explain',
    analyze: analyzed.map(table => `analyze table ${table}`),
    scan: /table=(?:a|c|e|f|g|l|n|o|p|v|w|geneva_drive_\w+) (?:partitions=\S* )?type=(?:ALL|index) /,
    usesClaimIndex: /table=(?:a|geneva_drive_active_executions) .*key=geneva_drive_active_claimable/,
    // An update of one table says `range` where a look says `ref`; the first column of a key takes 8 bytes, or 36 where it is a uuid.
    byWorkflowAlone: /table=a (?:partitions=\S* )?type=(?:ref |range .*\bkey=PRIMARY key_len=(?:8|36) )/,
    sorts: /filesort|temporary/,
    accesses: accessesOfMysql,
  },
}
