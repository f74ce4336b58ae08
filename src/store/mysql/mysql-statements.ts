/**
 * How statements are written for MySQL and MariaDB: sets travel as JSON through JSON_TABLE, a row that comes alone as its values, and the
 * order of joins is given, because the optimizer may otherwise lock rows that nobody asked for.
 */
import { InvariantError } from '../../errors.ts'
import { int } from '../sql/decode.ts'
import type { ColumnType, KeyType, RowSet, StatementDialect } from '../sql/dialect.ts'
import { columnOf, KnownParts, type SplitSet, splitSet } from '../sql/row-set.ts'
import { join, param, raw, Sql, sql } from '../sql/sql.ts'
import { idValue, intoLoneRow, keyText, loneRow } from './lone-row.ts'
import { settleByDirtyRead } from './settle-by-dirty-read.ts'

/** Of the two collations the binary one, that of the columns, counts. */
function setColumn(type: ColumnType, keyType: KeyType): string {
  if (type === 'id') return keyType === 'uuid' ? keyText : 'bigint'
  return type === 'int' ? 'bigint' : 'longtext'
}

const knownParts = new KnownParts()

function rows(alias: string, set: RowSet, keyType: KeyType): Sql {
  if ((set.size ?? set.rows.length) === 1) return loneRow(alias, set, keyType)
  // Slots are compared, byte by byte, which a value by itself would have to be told.
  const { singles, shape } = splitSet(set, ['course', 'code', 'time', 'name'])
  const columns: (readonly (string | number | null)[])[] = []
  Object.values(set.columns).forEach((type, index) => {
    if (singles[index] !== undefined) return
    const column = columnOf(set, index)
    columns.push(type === 'id' ? column.map(id => (id === null ? null : idValue(String(id), keyType))) : column)
  })
  const data = (columns[0] ?? set.rows).map((_, row) => columns.map(column => column[row]))
  const parts = knownParts.of(set, `${alias} ${keyType} ${shape}`, () => rowParts(alias, set, { singles, keyType }))
  return new Sql(parts, [...singles.filter(value => value !== undefined), JSON.stringify(data)])
}

interface Written {
  readonly singles: SplitSet['singles']
  readonly keyType: KeyType
}

/** Around what all rows share, in the order of the columns, and then the rows. */
function rowParts(alias: string, set: RowSet, { singles, keyType }: Written): readonly string[] {
  const entries = Object.entries(set.columns)
  const own = entries.filter((_, index) => singles[index] === undefined)
  const columns = own.map(
    ([name, type], index) => `${name} ${setColumn(type, keyType)} path '$[${index}]' null on empty`,
  )
  const source = (name: string) => sql`json_table(${null}, '$[*]' columns (${raw(columns.join(', '))})) ${raw(name)}`
  if (own.length === entries.length) return source(alias).parts
  // Reading a column out of JSON costs more than most of what is done with it.
  const shown = entries.map(([name, type], index) => {
    if (singles[index] === undefined) return raw(`j.${name}`)
    return sql`cast(${null} as ${raw(type === 'int' ? 'signed' : 'char')}) as ${raw(name)}`
  })
  return sql`(select ${join(shown, ', ')} from ${source('j')}) ${raw(alias)}`.parts
}

/** Lists are filled up to powers of two with their last element, so that there are few different statements. */
function padded(ids: readonly string[]): string[] {
  const length = 2 ** Math.ceil(Math.log2(Math.max(ids.length, 1)))
  const last = ids.at(-1) ?? '0'
  return [...ids, ...Array.from({ length: length - ids.length }, () => last)]
}

const byKey = raw(' force index (primary)')

/** Of these characters each takes three bytes at most, quoted or not, and MariaDB accepts 16 MiB by default. */
export const longestPacket = 4 * 1024 * 1024

export const mysqlStatements: StatementDialect = {
  placeholder: () => '?',
  // Not unix_timestamp(now()): where summer time ends, an hour of a borrowed session's local time comes twice.
  now: raw(`timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))`),
  timeParam: param,
  idParam: (id, keyType) => idValue(id, keyType),
  longestStatement: longestPacket,
  jsonParam: text => sql`${text}`,

  rows,
  among: (column, ids, keyType) => {
    const values = padded(ids).map(id => sql`${idValue(id, keyType)}`)
    return sql`${column} in (${join(values, ', ')})`
  },
  insertNew: (table, columns, select) => {
    const first = `${table.parts.join('')}.${columns[0]}`
    return sql`insert into ${table} (${raw(columns.join(', '))}) ${select} on duplicate key update ${raw(`${first} = ${first}`)}`
  },
  updateFrom: (table, set, on, assignments) => {
    const lone = intoLoneRow(set, on, assignments)
    const list = (lone?.assignments ?? assignments).map(([column, value]) => sql`${raw(`a.${column}`)} = ${value}`)
    return lone === null
      ? sql`update ${set} straight_join ${table} a${byKey} on ${on} set ${join(list, ', ')}`
      : sql`update ${table} a${byKey} set ${join(list, ', ')} where ${lone.on}`
  },
  deleteFrom: (table, set, keys) =>
    sql`delete a from ${set} straight_join ${table} a${byKey} on ${raw(keys.map(key => `a.${key} = r.${key}`).join(' and '))}`,

  sameKey: (column, named) => raw(`${column} = ${named}`),
  keyedJoin: raw('straight_join'),
  byKey,
  lock: raw(' for update'),
  lockFree: raw(' for update skip locked'),
  lockNamed: (table, rows, further) =>
    sql`select w.id from ${rows} straight_join ${table} w${byKey} on w.id = r.id and ${further} order by w.id for update`,
  lockShared: raw(' lock in share mode'),
  lockSkipping: raw(' for update skip locked'),
  manyWriters: true,
  leapsInIndex: true,
  freshRead: raw(' lock in share mode'),
  holdsPlace: raw('w.active_flag = 1'),

  settle: settleByDirtyRead,
  highestNumber: table => sql`select max(id) as highest from ${table}`,

  // The counter of an auto-increment column is not part of the transaction: no reader waits, and no number comes back,
  // also when its row is gone. A row that stayed would have to be swept out later, past those of open transactions.
  // The rows of one such insert get their numbers in one go, a step apart, and the first of them is told.
  // Reads may, but writes go by what is there now.
  keepsSnapshot: async () => false,
  async allocateBlocks(executor, counter, count) {
    const row = raw('(1)')
    await executor.run(sql`insert into ${counter} (taken) values ${join(Array(count).fill(row), ', ')}`)
    const found = await executor.query(raw('select last_insert_id() as first, @@auto_increment_increment as step'))
    const [first, step] = found[0] ? [int(found[0], 'first'), int(found[0], 'step')] : [0, 1]
    const blocks = Array.from({ length: count }, (_, index) => first + index * step)
    const numbers = blocks.map(block => sql`${block}`)
    const deleted = await executor.run(sql`delete from ${counter} where block in (${join(numbers, ', ')})`)
    if (deleted !== count) throw new InvariantError(`Of ${count} blocks of ids from ${first} only ${deleted} are ours.`)
    return blocks
  },
}
