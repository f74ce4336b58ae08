/**
 * Every index is a write, so none may slip in unnoticed: those of the tables that a step touches, read from the catalog of each
 * database, are those that docs/internals/indexes.md has a reason for.
 */
import { expect, it } from 'vitest'
import { quoted, readPage, tableUnder } from '../docs/markdown.ts'
import { type DatabaseName, forEachDatabase } from '../support/databases.ts'
import { openSameStore } from '../support/open-store.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'

const prefix = 'geneva_drive_'
const hotTables = ['workflows', 'active_executions', 'step_executions', 'events']

interface Index {
  readonly table: string
  /** `primary key`, `unique key`, or its own name, as in `events_order`, with `, unique` behind it. */
  readonly name: string
  readonly columns: string
  /** What it holds, in the words of the page. */
  readonly holds: string
}

const columnOf: Readonly<Record<DatabaseName, number>> = { sqlite: 3, postgres: 4, mysql: 5 }

/** The indexes that the page has for a database. */
function documented(database: DatabaseName): Index[] {
  const rows = tableUnder(readPage('docs/internals/indexes.md'), 'The indexes')
  const all = rows.map(cells => ({
    table: quoted(cells[0])[0] ?? '',
    name: (cells[1] ?? '').replaceAll('`', ''),
    columns: quoted(cells[2])[0] ?? '',
    holds: cells[columnOf[database]] ?? '',
  }))
  return all.filter(({ holds }) => holds !== '-')
}

function nameOf(name: string, kind: 'primary' | 'unique' | 'index' | 'constraint'): string {
  if (kind === 'primary') return 'primary key'
  if (kind === 'constraint') return 'unique key'
  return `${name.replace(prefix, '')}${kind === 'unique' ? ', unique' : ''}`
}

const catalogs: Readonly<Record<DatabaseName, (plain: PlainConnection, table: string) => Promise<Index[]>>> = {
  async sqlite(plain, table) {
    const named = `${prefix}${table}`
    const all: Index[] = []
    const [about] = await plain.query(`select wr from pragma_table_list('${named}')`)
    for (const index of await plain.query(`select * from pragma_index_list('${named}')`)) {
      const columns = await plain.query(`select name from pragma_index_info('${index.name}') order by seqno`)
      const kind =
        index.origin === 'pk' ? 'primary' : index.origin === 'u' ? 'constraint' : index.unique ? 'unique' : 'index'
      const isTable = kind === 'primary' && Number(about?.wr) === 1
      all.push({
        table,
        name: nameOf(String(index.name), kind),
        columns: columns.map(({ name }) => name).join(', '),
        holds: isTable ? 'the table' : index.partial ? 'some rows' : 'all rows',
      })
    }
    if (all.some(({ name }) => name === 'primary key')) return all
    // A whole number that is the key is the number of the row.
    const [key] = await plain.query(`select name from pragma_table_info('${named}') where pk = 1`)
    return [{ table, name: 'primary key', columns: String(key?.name), holds: 'the table' }, ...all]
  },

  async postgres(plain, table) {
    const rows = await plain.query(`
      select c.relname as name, m.amname as method, i.indisunique as is_unique, i.indisprimary as is_primary,
        i.indpred is not null as is_partial, k.conindid is not null as is_constraint,
        (select string_agg(pg_get_indexdef(i.indexrelid, n::int, false), ', ' order by n)
          from generate_series(1, i.indnatts) n) as columns
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam
        left join pg_constraint k on k.conindid = i.indexrelid and k.contype = 'u'
      where i.indrelid = '${prefix}${table}'::regclass`)
    return rows.map(row => {
      const kind = row.is_primary ? 'primary' : row.is_constraint ? 'constraint' : row.is_unique ? 'unique' : 'index'
      const holds = row.method === 'brin' ? 'blocks' : row.is_partial ? 'some rows' : 'all rows'
      return { table, name: nameOf(String(row.name), kind), columns: String(row.columns), holds }
    })
  },

  async mysql(plain, table) {
    const rows = await plain.query(`
      select index_name as name, max(non_unique) as others,
        group_concat(column_name order by seq_in_index separator ', ') as columns
      from information_schema.statistics where table_schema = database() and table_name = '${prefix}${table}'
      group by index_name`)
    return rows.map(row => {
      const name = String(row.name)
      const isOwn = name.startsWith(prefix)
      const kind = name === 'PRIMARY' ? 'primary' : Number(row.others) === 1 ? 'index' : isOwn ? 'unique' : 'constraint'
      const holds = kind === 'primary' ? 'the table' : 'all rows'
      return { table, name: nameOf(name, kind), columns: String(row.columns), holds }
    })
  },
}

function sorted(all: readonly Index[]): string[] {
  return all.map(({ table, name, columns, holds }) => `${table}: ${name} (${columns}): ${holds}`).toSorted()
}

forEachDatabase('the tables that a step touches', database => {
  it('have the indexes that the documentation has a reason for, and no others', async () => {
    const { url } = await database.isolated()
    const store = await openSameStore(url)
    await store.close()
    const plain = await connectPlainly(database.name, url)
    const found: Index[] = []
    for (const table of hotTables) found.push(...(await catalogs[database.name](plain, table)))
    await plain.close()
    expect(sorted(found)).toEqual(sorted(documented(database.name)))
  })
})

it('has a reason for each of them on the page', () => {
  for (const cells of tableUnder(readPage('docs/internals/indexes.md'), 'The indexes')) {
    expect(hotTables).toContain(quoted(cells[0])[0])
    expect(cells[6]).toMatch(/\w{3}/)
  }
})
