/**
 * Rows that a worker holds and reports on. It knows them since it claimed them: as long as they stand there under its fence
 * only a few columns can have changed, and only those are read. Any other row in their place is read whole.
 */
import type { ActiveExecution } from '../records.ts'
import type { ChangeTarget } from '../store.ts'
import type { SqlContext } from './context.ts'
import { int, optionalText, startMark, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { type Columns, rowSet } from './row-set.ts'
import { type Sql, sql } from './sql.ts'

/** The id of the workflow, and the slot. */
export type RowKey = readonly [workflowId: string, slot: string]

const keyColumns: Columns<ActiveExecution> = {
  workflow_id: ['id', row => row.workflowId],
  slot: ['text', row => row.slot],
}

export class HeldRows {
  readonly #targets: readonly ChangeTarget[]
  readonly #held = new Map<string, ActiveExecution>()

  constructor(targets: readonly ChangeTarget[]) {
    this.#targets = targets
    for (const { held = [] } of targets) for (const row of held) this.#held.set(keyOf(row.workflowId, row.slot), row)
  }

  /** What was asked for and is not held. */
  otherKeys(): RowKey[] {
    const keys: RowKey[] = []
    for (const { workflowId, slots = [] } of this.#targets) {
      for (const slot of slots) if (!this.#held.has(keyOf(workflowId, slot))) keys.push([workflowId, slot])
    }
    return keys
  }

  select(context: SqlContext): Sql | null {
    if (this.#held.size === 0) return null
    return sql`select a.workflow_id, a.slot, a.id, a.fence, a.state, a.held_from, a.start_mark
      from ${context.rows('r', rowSet(keyColumns, [...this.#held.values()]))} ${context.dialect.keyedJoin}
      ${context.tables.active} a${context.dialect.byKey} on ${context.sameRow}`
  }

  /** The rows as they stand, and the keys of those that are not the ones that were held. */
  found(standing: readonly Row[]): { readonly rows: ActiveExecution[]; readonly moved: RowKey[] } {
    const rows: ActiveExecution[] = []
    const moved: RowKey[] = []
    for (const row of standing) {
      const key: RowKey = [text(row, 'workflow_id'), text(row, 'slot')]
      const held = this.#held.get(keyOf(...key))
      if (held === undefined) continue
      const isSame = text(row, 'id') === held.id && int(row, 'fence') === held.fence
      if (isSame && text(row, 'state') === 'in_progress') rows.push(asItStands(held, row))
      else moved.push(key)
    }
    return { rows, moved }
  }
}

/** Whoever holds a row is told through it to stop; the mark is its own. */
function asItStands(held: ActiveExecution, row: Row): ActiveExecution {
  const heldFrom = optionalText(row, 'held_from') as ActiveExecution['heldFrom']
  const mark = startMark(row)
  return heldFrom === held.heldFrom && mark === held.startMark ? held : { ...held, heldFrom, startMark: mark }
}

function keyOf(workflowId: string, slot: string): string {
  return `${workflowId} ${slot}`
}
