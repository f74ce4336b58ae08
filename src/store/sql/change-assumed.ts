/**
 * A change whose facts are not looked at but known: a worker knows the workflow and the row that it has claimed. The
 * database checks under the lock that they still are as they are taken to be, in the same round trip as the writes; if
 * they are not, nothing is written, and whoever asked has to look.
 */
import { failpoint } from '../../primitives/failpoint.ts'
import { invariant } from '../../primitives/invariant.ts'
import type { AssumedFacts, WorkflowChange } from '../change.ts'
import type { ActiveExecution } from '../records.ts'
import type { AssumedCall } from '../store.ts'
import { eventsIn } from './change-workflows.ts'
import type { SqlContext } from './context.ts'
import type { Guard } from './dialect.ts'
import { selectBegun, selectCounted } from './fan-ins.ts'
import { type Columns, mostRowsIn, rowSet } from './row-set.ts'
import { raw, type Sql, sql } from './sql.ts'
import { lockAlive } from './workers.ts'
import { changeStatements } from './write-changes.ts'
import { stillHeld } from './write-records.ts'

/** The time of the change, or `null` when something is not as it was taken to be. */
export async function changeAssumed(
  context: SqlContext,
  facts: readonly AssumedFacts[],
  changes: readonly WorkflowChange[],
  call: AssumedCall,
): Promise<number | null> {
  const known = new Map(facts.flatMap(({ active }) => active.map(row => [row.id, row] as const)))
  invariant(allEnd(known, changes), 'A row was taken as known of which no ending was decided.')
  const counts = context.dialect.countsWrites === true && known.size <= mostRowsIn(context)
  failpoint?.('finish.before-commit')
  const time = await context.database.transaction(transaction =>
    transaction.commitIf(now => {
      const timed = context.at(now, { asSets: changes.length > 1 || facts.some(({ complete }) => !complete) })
      const asked = counts ? [] : [...known.values()]
      return [
        ...guards(timed, facts, { ...call, asked }),
        ...changeStatements(timed, changes, { standing: known, counts }),
      ]
    }),
  )
  if (time === null) return null
  failpoint?.('finish.after-commit')
  const now = time + context.clockOffset
  context.tell(() => eventsIn(changes, facts, now))
  return now
}

/** So that the copy of a row, where it is counted, tells whether it was as it is known. */
function allEnd(known: ReadonlyMap<string, ActiveExecution>, changes: readonly WorkflowChange[]): boolean {
  let count = 0
  for (const { endings } of changes) for (const { execution } of endings) if (known.has(execution.id)) count++
  return count === known.size
}

interface GuardedCall extends AssumedCall {
  /** Rows that must be asked for, because no write is counted. */
  readonly asked: readonly ActiveExecution[]
}

/**
 * In the order in which everybody locks: workflows, then the worker. Whoever buries the worker may be waited for as well, but nothing that
 * is written here goes by what changes meanwhile: the workflows are locked, and the worker's row is looked at again.
 */
function guards(context: SqlContext, facts: readonly AssumedFacts[], call: GuardedCall): Guard[] {
  const { asked } = call
  const uncounted = facts.flatMap(({ workflow, uncounted }) =>
    uncounted.map(node => ({ workflowId: workflow.id, node })),
  )
  const counted = facts.flatMap(({ workflow, counted }) => counted.map(down => ({ ...down, workflowId: workflow.id })))
  return [
    { select: lockVersions(context, facts), count: facts.length, waits: true },
    ...(asked.length === 0 ? [] : [{ select: selectKnown(context, asked), count: asked.length }]),
    ...(uncounted.length === 0 ? [] : [{ select: selectBegun(context, uncounted), count: 0 }]),
    ...(counted.length === 0 ? [] : [{ select: selectCounted(context, counted), count: counted.length }]),
    { select: lockAlive(context, call.workerId, call.revision), count: 1 },
  ]
}

const versionColumns: Columns<AssumedFacts> = {
  id: ['id', ({ workflow }) => workflow.id],
  version: ['int', ({ workflow }) => workflow.version],
}

function lockVersions(context: SqlContext, facts: readonly AssumedFacts[]): Sql {
  return context.statement(
    lockVersions,
    [context.rows('r', rowSet(versionColumns, facts))],
    ({ dialect, tables }, known) => dialect.lockNamed(tables.workflows, known, raw('w.version = r.version')),
  )
}

const rowColumns: Columns<ActiveExecution> = {
  workflow_id: ['id', row => row.workflowId],
  slot: ['text', row => row.slot, 'slot'],
  id: ['id', row => row.id],
  fence: ['int', row => row.fence],
}

function selectKnown(context: SqlContext, rows: readonly ActiveExecution[]): Sql {
  return context.statement(
    selectKnown,
    [context.rows('r', rowSet(rowColumns, rows))],
    ({ dialect, tables, sameRow }, known) => sql`select a.id from ${known}
      ${dialect.keyedJoin} ${tables.active} a${dialect.byKey} on ${sameRow}
      where ${stillHeld('r.id', 'r.fence')}`,
  )
}
