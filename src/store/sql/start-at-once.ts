/**
 * The way in which most workflows start: nothing stands in their way, so everything is written in one round trip, and the
 * database only says so if it was otherwise. Then nothing is written, and the start has to look.
 */
import type { WorkflowRecord } from '../records.ts'
import type { StartOrder, StartResult } from '../store.ts'
import type { SqlContext } from './context.ts'
import type { Guard } from './dialect.ts'
import { type Columns, rowSet } from './row-set.ts'
import { sql } from './sql.ts'
import { startStatements } from './start-workflows.ts'
import { lockAlive } from './workers.ts'

/** `null` when one of them meets a conflict, or the worker that was to begin with them is gone. */
export async function startAtOnce(
  context: SqlContext,
  orders: readonly StartOrder[],
  revision: number | null,
): Promise<StartResult[] | null> {
  const time = await context.database.transaction(transaction =>
    transaction.commitIf(now => {
      const timed = context.at(now, { asSets: orders.length > 1 })
      // All of it is undone if a guard does not hold, so it may as well be written first.
      return [
        ...startStatements(timed, orders),
        allInserted(timed, orders),
        ...ownersOf(orders).map(owner => ({ select: lockAlive(context, owner, revision), count: 1 })),
      ]
    }),
  )
  if (time === null) return null
  const now = time + context.clockOffset
  return orders.map(order => ({ kind: 'started', workflow: startedRecord(order, now), claimedAt: now }))
}

/** Whether the statements do for an order: whatever needs more than its own rows, or another look, is left out. */
export function isPlain({ first, formerTypes, parent, taken, deadline }: StartOrder): boolean {
  return first.length > 0 && formerTypes.length === 0 && parent === null && taken === null && deadline === null
}

const idColumns: Columns<StartOrder> = { id: ['id', order => order.id] }

/**
 * What was inserted by this transaction stands under its own id; what met a conflict does not. By its time, because a packet that was held up on its way
 * may come after the start has been repeated: then the id is there, and what the workflow began with may be gone.
 */
function allInserted(context: SqlContext, orders: readonly StartOrder[]): Guard {
  const select = context.statement(
    allInserted,
    [context.rows('r', rowSet(idColumns, orders))],
    ({ dialect, tables, now }, ids) =>
      sql`select w.id from ${ids} ${dialect.keyedJoin} ${tables.workflows} w${dialect.byKey} on ${dialect.sameKey('w.id', 'r.id')}
        where w.created_at = ${now}`,
  )
  return { select, count: orders.length }
}

function ownersOf(orders: readonly StartOrder[]): string[] {
  return [...new Set(orders.flatMap(({ first }) => first.flatMap(row => row.owner ?? [])))]
}

function startedRecord(order: StartOrder, now: number): WorkflowRecord {
  const { id, type, hero, allowMultiple, idempotencyKey, generation, graph, lane = '' } = order
  return {
    id,
    type,
    hero,
    state: 'ready',
    pauseCause: null,
    allowMultiple,
    idempotencyKey,
    generation,
    frozen: graph?.signature ?? null,
    blockedBy: null,
    finishing: false,
    rollback: null,
    partial: false,
    rounds: null,
    crooked: false,
    parent: null,
    lane,
    openLetters: 0,
    watched: false,
    continuation: null,
    continuedAs: null,
    continues: null,
    deadlineAt: null,
    version: 0,
    createdAt: now,
    pausedAt: null,
    endedAt: null,
  }
}
