/**
 * Removing workflows that ended long ago, with all that belongs to them. They are looked through in the order of their
 * ids, which is the order of their age, so no index has to be kept for it. A family goes as a whole or not at all.
 */
import type { PruneCall, PruneStep } from '../housekeeping-store.ts'
import type { EndedWorkflowState } from '../records.ts'
import type { SqlContext } from './context.ts'
import { int, optionalInt, optionalText, text } from './decode.ts'
import type { ColumnType, Executor, Row } from './dialect.ts'
import { endedStates } from './ended-states.ts'
import { runTransaction } from './run-transaction.ts'
import { raw, type Sql, sql } from './sql.ts'

/** How many workflows are looked at in one call. */
const pageSize = 200
/** How many workflows one transaction removes, and how many rows of theirs. */
const familyBatch = 50
const rowBatch = 1000

interface Candidate {
  readonly id: string
  readonly state: string
  readonly parentId: string | null
  readonly createdAt: number
  readonly endedAt: number | null
  readonly openLetters: number
}

/** The ids of a workflow that has no parent and of all that descend from it. */
type Family = readonly string[]

export async function pruneFamilies(context: SqlContext, call: PruneCall): Promise<PruneStep> {
  const { now, page } = await readPage(context, call.cursor)
  const isOld = ({ state, endedAt, openLetters }: Candidate, as: string = state) => {
    const ageMs = call.ages.get(as as EndedWorkflowState)
    return ageMs !== undefined && openLetters === 0 && endedAt !== null && endedAt <= now - ageMs * 1000
  }
  const roots = page.filter(each => each.parentId === null && isOld(each))
  const families = await withoutWork(context, await withoutWatchers(context, await findFamilies(context, roots, isOld)))
  const fitting = howManyFit(families, call.limit)
  const chosen = families.slice(0, fitting)
  const pruned = call.dryRun ? chosen.flat().length : await removeAll(context, chosen)
  const [leftOut] = families[fitting] ?? []
  if (leftOut !== undefined) return { pruned, cursor: idBefore(page, leftOut) }
  const youngest = now - Math.min(...call.ages.values()) * 1000
  const isLast = page.length < pageSize || page.every(({ createdAt }) => createdAt > youngest)
  return { pruned, cursor: isLast ? null : (page.at(-1)?.id ?? null) }
}

/** At least one, or nothing would ever be done about a family that is larger than the limit. */
function howManyFit(families: readonly Family[], limit: number): number {
  let left = limit
  const tooMany = families.findIndex((family, index) => {
    left -= family.length
    return left < 0 && index > 0
  })
  return tooMany === -1 ? families.length : tooMany
}

function idBefore(page: readonly Candidate[], id: string): string | null {
  return page[page.findIndex(each => each.id === id) - 1]?.id ?? null
}

async function readPage(context: SqlContext, cursor: string | null): Promise<{ now: number; page: Candidate[] }> {
  const after = cursor === null ? raw('') : sql`where w.id > ${context.id(cursor)}`
  const rows = await context.read(
    sql`select w.id, w.state, w.parent_id, w.created_at, w.ended_at, w.open_letters, ${context.now} as database_now
      from ${context.tables.workflows} w ${after} order by w.id limit ${pageSize}`,
  )
  return { now: rows[0] ? int(rows[0], 'database_now') : 0, page: rows.map(candidate) }
}

function candidate(row: Row): Candidate {
  return {
    id: text(row, 'id'),
    state: text(row, 'state'),
    parentId: optionalText(row, 'parent_id'),
    createdAt: int(row, 'created_at'),
    endedAt: optionalInt(row, 'ended_at'),
    openLetters: int(row, 'open_letters'),
  }
}

/** The state of its root says how long a family is kept; none of it may have ended later than that. */
async function findFamilies(
  context: SqlContext,
  roots: readonly Candidate[],
  isOld: (member: Candidate, as: string) => boolean,
): Promise<Family[]> {
  const families = new Map(roots.map(root => [root.id, { state: root.state, ids: [root.id], whole: true }]))
  const rootOf = new Map(roots.map(root => [root.id, root.id]))
  let parents = roots.map(root => root.id)
  while (parents.length > 0) {
    const rows = await context.read(
      sql`select w.id, w.state, w.parent_id, w.created_at, w.ended_at, w.open_letters from ${context.tables.workflows} w
        where ${context.among(raw('w.parent_id'), parents)}`,
    )
    const children = rows.map(candidate)
    for (const child of children) {
      const root = rootOf.get(child.parentId ?? '') ?? ''
      const family = families.get(root)
      rootOf.set(child.id, root)
      family?.ids.push(child.id)
      if (family && !isOld(child, family.state)) family.whole = false
    }
    parents = children.map(child => child.id)
  }
  return [...families.values()].filter(family => family.whole).map(family => family.ids)
}

/** Somebody else's workflow still wants to know how one of them has ended. */
async function withoutWatchers(context: SqlContext, families: readonly Family[]): Promise<readonly Family[]> {
  const ids = families.flat()
  if (ids.length === 0) return []
  const { watches, workflows } = context.tables
  const rows = await context.read(
    sql`select distinct x.workflow_id from ${watches} x join ${workflows} v on v.id = x.watcher_id
      where ${context.among(raw('x.workflow_id'), ids)} and v.state not in ${raw(endedStates)}`,
  )
  const watched = new Set(rows.map(row => text(row, 'workflow_id')))
  return families.filter(family => !family.some(id => watched.has(id)))
}

/** Somebody has requeued what undoes one of them, and it has not run yet. Letters of theirs may be closed all the same. */
async function withoutWork(context: SqlContext, families: readonly Family[]): Promise<readonly Family[]> {
  const ids = families.flat()
  if (ids.length === 0) return []
  const rows = await context.read(atWork(context, ids))
  const kept = new Set(rows.map(row => text(row, 'workflow_id')))
  return families.filter(family => !family.some(id => kept.has(id)))
}

/** Those with something to be run. A timer has nothing left to do once its workflow has ended. */
function atWork(context: SqlContext, ids: readonly string[]): Sql {
  return sql`select distinct a.workflow_id from ${context.tables.active} a${context.dialect.byKey}
    where ${context.among(raw('a.workflow_id'), ids)} and a.kind <> 'timer'`
}

async function removeAll(context: SqlContext, families: readonly Family[]): Promise<number> {
  let removed = 0
  for (const batch of batches(families)) {
    for (let done: number | null = null; done === null; ) {
      done = await runTransaction(context.database, transaction => removeSome(context, transaction, batch))
      removed += done ?? 0
    }
  }
  return removed
}

function batches(families: readonly Family[]): Family[][] {
  const all: Family[][] = []
  let size = Number.POSITIVE_INFINITY
  for (const family of families) {
    if (size + family.length > familyBatch) {
      all.push([])
      size = 0
    }
    all.at(-1)?.push(family)
    size += family.length
  }
  return all
}

/** How many workflows are gone; `null` where so much belongs to them that another transaction has to go on. */
async function removeSome(
  context: SqlContext,
  executor: Executor,
  families: readonly Family[],
): Promise<number | null> {
  const { workflows } = context.tables
  const all = families.flat()
  const rows = await executor.query(
    sql`select a.id from ${workflows} a${context.dialect.byKey} where ${context.among(raw('a.id'), all)}
      and a.state in ${raw(endedStates)} and a.open_letters = 0 order by a.id${context.dialect.lockSkipping}`,
  )
  const locked = new Set(rows.map(row => text(row, 'id')))
  // Asked under the locks, and not with them: a requeue that came in between would be missed by the view of one statement.
  for (const row of await executor.query(atWork(context, all))) locked.delete(text(row, 'workflow_id'))
  const ids = families.filter(family => family.every(id => locked.has(id))).flat()
  if (ids.length === 0) return 0
  let left = rowBatch
  for (const belonging of belongings(context)) {
    left -= await removeBelonging(context, executor, { ...belonging, ids, limit: left })
    if (left <= 0) return null
  }
  const set = context.rows('r', { columns: { id: 'id' }, rows: ids.map(id => [id]) })
  await executor.run(context.dialect.deleteFrom(workflows, set, ['id']))
  return ids.length
}

interface Belonging {
  readonly table: Sql
  /** Columns that name one row, and with which the database finds it at once. */
  readonly key: Readonly<Record<string, ColumnType>>
}

/** Events first: who finds some has read the rest of it whole. */
function belongings({ tables }: SqlContext): Belonging[] {
  return [
    { table: tables.events, key: { workflow_id: 'id', id: 'int' } },
    { table: tables.history, key: { id: 'id' } },
    { table: tables.tags, key: { tag: 'text', workflow_id: 'id' } },
    { table: tables.letters, key: { id: 'id' } },
    { table: tables.decisions, key: { id: 'id' } },
    { table: tables.signals, key: { id: 'id' } },
    { table: tables.fanIns, key: { workflow_id: 'id', node: 'text' } },
    { table: tables.watches, key: { workflow_id: 'id', watcher_id: 'id', node: 'text' } },
    { table: tables.active, key: { workflow_id: 'id', slot: 'text' } },
    { table: tables.graphs, key: { workflow_id: 'id' } },
  ]
}

async function removeBelonging(
  context: SqlContext,
  executor: Executor,
  { table, key, ids, limit }: Belonging & { readonly ids: readonly string[]; readonly limit: number },
): Promise<number> {
  const columns = Object.keys(key)
  const found = await executor.query(
    sql`select ${raw(columns.map(column => `b.${column}`).join(', '))} from ${table} b
      where ${context.among(raw('b.workflow_id'), ids)} limit ${limit}`,
  )
  if (found.length === 0) return 0
  const rows = found.map(row => columns.map(column => (key[column] === 'int' ? int(row, column) : text(row, column))))
  await executor.run(context.dialect.deleteFrom(table, context.rows('r', { columns: key, rows }), columns))
  return found.length
}
