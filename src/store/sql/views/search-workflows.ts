/**
 * Workflows by what somebody types: the id of one, or the beginning of the id of a hero. So many of each type of hero are looked
 * at and no more, in the order of their ids; that there are others is said, because they are not to be found by going on.
 */
import type { SqlContext } from '../context.ts'
import { optionalInt, optionalText } from '../decode.ts'
import type { Row } from '../dialect.ts'
import { isId } from '../ids.ts'
import { join, raw, type Sql, sql } from '../sql.ts'

const mostOfType = 1000
const maxHeroTypes = 100

export interface Search {
  /** Selects what it finds as `id`. */
  readonly source: Sql
  /** Tells `isCapped`, asked as of the same moment. */
  readonly measure: Sql
  /** There is more that it does not look at. */
  isCapped(measured: readonly Row[]): boolean
}

/** By the key, and by a range of the index of heroes for each type of hero. `window` bounds what is looked at of each. */
export async function searchFor(context: SqlContext, search: string, window: number): Promise<Search> {
  const { workflows } = context.tables
  const types = await heroTypes(context, maxHeroTypes + 1)
  const most = Math.min(window, mostOfType)
  const firstOf = (type: string, limit: number) =>
    sql`select p.id from (select w.id from ${workflows} w where w.hero_type = ${type}
      and w.hero_id >= ${search} and w.hero_id < ${`${search}\u{10ffff}`} order by w.hero_id limit ${limit}) p`
  const looked = types.slice(0, maxHeroTypes)
  const id = search.toLowerCase()
  const own = isId(context, id) ? sql`w.id = ${context.id(id)}` : raw('1 = 0')
  const counts = looked.map(type => sql`select count(*) as total from (${firstOf(type, most + 1)}) o`)
  return {
    source: join(
      [sql`select w.id from ${workflows} w where ${own}`, ...looked.map(type => firstOf(type, most))],
      ' union ',
    ),
    measure: sql`select max(m.total) as most from (${join([raw('select 0 as total'), ...counts], ' union all ')}) m`,
    isCapped: ([row]) => types.length > maxHeroTypes || (row !== undefined && (optionalInt(row, 'most') ?? 0) > most),
  }
}

/** From one to the next in the index, so that no more rows are read than there are types. */
export async function heroTypes(context: SqlContext, most = maxHeroTypes): Promise<string[]> {
  const { workflows } = context.tables
  const types: string[] = []
  while (types.length < most) {
    const [row] = await context.read(
      sql`select min(w.hero_type) as type from ${workflows} w where w.hero_id is not null and w.hero_type > ${types.at(-1) ?? ''}`,
    )
    const next = row === undefined ? null : optionalText(row, 'type')
    if (next === null) break
    types.push(next)
  }
  return types
}
