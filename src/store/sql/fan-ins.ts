/**
 * Reads and writes the counters of fan-ins: how many parents of a node are still open. The caller holds the lock on the workflow and
 * knows which counters are there.
 */
import type { AssumedFacts, CountedDown, FanIn } from '../change.ts'
import type { SqlContext } from './context.ts'
import { type Columns, rowSet } from './row-set.ts'
import { raw, type Sql, sql } from './sql.ts'

type Key = { readonly workflowId: string; readonly node: string }

const keyColumns: Columns<Key> = {
  workflow_id: ['id', key => key.workflowId],
  node: ['text', key => key.node],
}

const columns: Columns<FanIn & Key> = { ...keyColumns, open_parents: ['int', fanIn => fanIn.open] }

const downColumns: Columns<CountedDown & Key> = { ...keyColumns, fewer: ['int', counted => counted.by] }

/** Those that are there. */
export function selectFanIns(context: SqlContext, keys: readonly Key[]): Sql {
  return context.statement(
    selectFanIns,
    [context.rows('r', rowSet(keyColumns, keys))],
    ({ dialect, tables }, rows) => sql`select f.workflow_id, f.node, f.open_parents from ${rows}
      ${dialect.keyedJoin} ${tables.fanIns} f${dialect.byKey} on ${dialect.sameKey('f.workflow_id', 'r.workflow_id')} and f.node = r.node`,
  )
}

interface Bounded extends Key {
  readonly least: number
  readonly most: number
}

const openColumns: Columns<Bounded> = {
  ...keyColumns,
  least: ['int', ({ least }) => least],
  most: ['int', ({ most }) => most],
}

const mostParents = 2 ** 31 - 1

/** Those that counting down leaves as it is said. */
export function selectCounted(context: SqlContext, counted: readonly (AssumedFacts['counted'][number] & Key)[]): Sql {
  const bounded = counted.map(({ workflowId, node, by, leaves }) =>
    leaves === 'some'
      ? { workflowId, node, least: by + 1, most: mostParents }
      : { workflowId, node, least: by, most: by },
  )
  return selectBounded(context, bounded)
}

/**
 * Those that are there, for a guard that only counts them. How many parents are open is asked for all the same: what its key alone can tell,
 * a planner may read out of the whole index, once stock was taken while there were none.
 */
export function selectBegun(context: SqlContext, keys: readonly Key[]): Sql {
  return selectBounded(
    context,
    keys.map(key => ({ ...key, least: -mostParents, most: mostParents })),
  )
}

function selectBounded(context: SqlContext, bounded: readonly Bounded[]): Sql {
  return context.statement(
    selectBounded,
    [context.rows('r', rowSet(openColumns, bounded))],
    ({ dialect, tables }, rows) => sql`select f.node from ${rows}
      ${dialect.keyedJoin} ${tables.fanIns} f${dialect.byKey} on ${dialect.sameKey('f.workflow_id', 'r.workflow_id')} and f.node = r.node
        and f.open_parents >= r.least and f.open_parents <= r.most`,
  )
}

export function insertFanIns(context: SqlContext, fanIns: readonly (FanIn & Key)[], filter: Sql | null = null): Sql {
  return sql`insert into ${context.tables.fanIns} (workflow_id, node, open_parents)
    select r.workflow_id, r.node, r.open_parents from ${context.rows('r', rowSet(columns, fanIns))}${filter ?? raw('')}`
}

export function countDown(context: SqlContext, fanIns: readonly (CountedDown & Key)[]): Sql {
  return context.statement(countDown, [context.rows('r', rowSet(downColumns, fanIns))], (at, rows) => {
    const on = sql`${at.dialect.sameKey('a.workflow_id', 'r.workflow_id')} and a.node = r.node`
    return at.dialect.updateFrom(at.tables.fanIns, rows, on, [['open_parents', raw('a.open_parents - r.fewer')]])
  })
}

export function deleteFanIns(context: SqlContext, keys: readonly Key[]): Sql {
  const rows = context.rows('r', rowSet(keyColumns, keys))
  return context.dialect.deleteFrom(context.tables.fanIns, rows, ['workflow_id', 'node'])
}

export function clearFanIns(context: SqlContext, workflowIds: readonly string[]): Sql {
  return sql`delete from ${context.tables.fanIns} where ${context.among(raw('workflow_id'), workflowIds)}`
}
