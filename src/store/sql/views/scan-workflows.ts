/**
 * Lists of workflows by any filter, in bounded looks: the ids of a stretch are taken from the index that fits best, newest
 * first, and only those are looked at. So a filter that matches next to nothing costs no more than one that matches all; it
 * only takes more looks.
 */
import type { CountPage, ScanPage, ViewFilter } from '../../view-store.ts'
import type { SqlContext } from '../context.ts'
import { int, text } from '../decode.ts'
import type { Row } from '../dialect.ts'
import { rareStateCondition, rareStates } from '../rare-states.ts'
import { selectSnapshots, snapshot, workflowConditions } from '../read-workflows.ts'
import { join, raw, type Sql, sql } from '../sql.ts'
import { searchFor } from './search-workflows.ts'

const mostLookups = 4000

interface Bounds {
  readonly limit: number
  readonly window: number
}

export async function scanWorkflows(context: SqlContext, filter: ViewFilter, bounds: Bounds): Promise<ScanPage> {
  const stretch = await stretchOf(context, filter, bounds.window)
  const where = sql`${stretch.where} and ${viewConditions(context, filter)}`
  const { rows, end, capped } = await stretch.read(
    sql`${selectSnapshots(context, where)} order by w.id desc limit ${bounds.limit}`,
  )
  const found = rows.map(snapshot)
  return { found, next: found.length === bounds.limit ? (found.at(-1)?.workflow.id ?? null) : end, capped }
}

/** How many workflows of a stretch fit, up to a limit, and where it ends. */
export async function countWorkflows(context: SqlContext, filter: ViewFilter, bounds: Bounds): Promise<CountPage> {
  const stretch = await stretchOf(context, filter, bounds.window)
  const fitting = sql`select w.id from ${context.tables.workflows} w
    where ${stretch.where} and ${viewConditions(context, filter)} limit ${bounds.limit}`
  const { rows, end, capped } = await stretch.read(sql`select count(*) as total from (${fitting}) f`)
  const [row] = rows
  return { count: row ? int(row, 'total') : 0, next: end, capped }
}

/** Some of the newest workflows that a filter leaves. */
interface Stretch {
  /** What tells them. */
  readonly where: Sql
  /** What is asked of them, and where they end; `null`: nothing lies behind. What starts or ends meanwhile does not move the end. */
  read(statement: Sql): Promise<StretchRead>
}

interface StretchRead {
  readonly rows: readonly Row[]
  readonly end: string | null
  readonly capped: boolean
}

/** Where no index fits a stretch is a range of the key, which every planner reads in order. */
async function stretchOf(context: SqlContext, filter: ViewFilter, window: number): Promise<Stretch> {
  // Beyond this a planner would rather read the whole table than look so many up.
  const few = Math.min(window, mostLookups)
  if (filter.search !== undefined) return searched(context, filter.search, few)
  const source = sourceOf(context, filter, few)
  if (source !== null) {
    // One that is not filled has nothing behind it.
    const end = sql`select c.id from (${source}) c order by c.id desc limit 1 offset ${few - 1}`
    return {
      where: among(source),
      read: async statement => {
        const [rows = [], [last] = []] = await context.snapshot([statement, end])
        return { rows, end: last === undefined ? null : text(last, 'id'), capped: false }
      },
    }
  }
  const before = filter.before === undefined ? raw('1 = 1') : sql`w.id < ${context.id(filter.before)}`
  const from = filter.from === undefined ? raw('') : sql` and w.id >= ${context.id(filter.from)}`
  const [row] = await context.read(
    sql`select w.id from ${context.tables.workflows} w where ${before}${from} order by w.id desc limit 1 offset ${window - 1}`,
  )
  const end = row === undefined ? null : text(row, 'id')
  return {
    where: end === null ? raw('1 = 1') : sql`w.id >= ${context.id(end)}`,
    read: async statement => ({ rows: await context.read(statement), end, capped: false }),
  }
}

/** What a search finds is looked at as a whole. */
async function searched(context: SqlContext, search: string, window: number): Promise<Stretch> {
  const { source, measure, isCapped } = await searchFor(context, search, window)
  return {
    where: among(source),
    read: async statement => {
      const [rows = [], measured = []] = await context.snapshot([statement, measure])
      return { rows, end: null, capped: isCapped(measured) }
    },
  }
}

function among(source: Sql): Sql {
  return sql`w.id in (select c.id from (${source}) c)`
}

/** A statement that selects up to `window` ids as `id`, newest first; `null` where no index but the key fits. */
function sourceOf(context: SqlContext, filter: ViewFilter, window: number): Sql | null {
  const { workflows, tags, active } = context.tables
  const bound = (column: string, sign: '<' | '>=', id: string | undefined) =>
    id === undefined ? raw('') : sql` and ${raw(`${column} ${sign}`)} ${context.id(id)}`
  const between = (column: string) => sql`${bound(column, '<', filter.before)}${bound(column, '>=', filter.from)}`
  const newest = (select: Sql, column: string) => sql`${select}${between(column)} order by ${raw(column)} desc`
  if (filter.hero !== undefined && filter.hero !== null) {
    const { type, idText } = filter.hero
    const own = sql`select w.id from ${workflows} w where w.hero_type = ${type} and w.hero_id = ${idText}`
    return sql`${newest(own, 'w.id')} limit ${window}`
  }
  if (filter.parentId !== undefined) {
    const own = sql`select w.id from ${workflows} w where w.parent_id = ${context.id(filter.parentId)}`
    return sql`${newest(own, 'w.id')} limit ${window}`
  }
  if (filter.tag !== undefined) {
    const own = sql`select t.workflow_id as id from ${tags} t where t.tag = ${filter.tag}`
    return sql`${newest(own, 't.workflow_id')} limit ${window}`
  }
  const kinds = sourceKinds(filter)
  if (kinds === null) return null
  const parts = kinds.map(kind => {
    const rows = kind === 'active' ? '1 = 1' : kind === 'running' ? 'a.owner is not null' : null
    const own =
      rows !== null
        ? sql`select distinct a.workflow_id as id from ${active} a where ${raw(rows)}`
        : sql`select w.id from ${workflows} w where w.state = ${raw(`'${kind}'`)} and w.${raw(rareStateCondition)}`
    return sql`select p.id from (${newest(own, rows === null ? 'w.id' : 'a.workflow_id')} limit ${window}) p`
  })
  return sql`select u.id from (${join(parts, ' union ')}) u order by u.id desc limit ${window}`
}

/** Which indexes hold all that a filter can find; `null`: only the key itself does. */
function sourceKinds({ states: wanted }: ViewFilter): readonly string[] | null {
  if (wanted === undefined || wanted.includes('finished')) return null
  const rare = wanted.filter(state => rareStates.includes(state))
  if (rare.length === wanted.length) return rare
  // What runs is little, and has an index.
  return [wanted.includes('ready') ? 'active' : 'running', ...rare]
}

function viewConditions(context: SqlContext, filter: ViewFilter): Sql {
  const all = [workflowConditions(context, filter)]
  if (filter.from !== undefined) all.push(sql`w.id >= ${context.id(filter.from)}`)
  if (filter.createdAfter !== undefined) all.push(sql`w.created_at >= ${filter.createdAfter}`)
  if (filter.createdBefore !== undefined) all.push(sql`w.created_at < ${filter.createdBefore}`)
  if (filter.parentId !== undefined) all.push(sql`w.parent_id = ${context.id(filter.parentId)}`)
  if (filter.errorText !== undefined) {
    const pattern = `%${filter.errorText.toLowerCase().replace(/[!%_]/g, '!$&')}%`
    all.push(
      sql`exists (select 1 from ${context.tables.history} e where e.workflow_id = w.id and e.error_class is not null
        and (lower(e.error_message) like ${pattern} escape '!' or lower(e.error_class) like ${pattern} escape '!'))`,
    )
  }
  return join(all, ' and ')
}
