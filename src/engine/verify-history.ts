/**
 * Recomputes the ancestry hashes of a workflow's executions and names the first one that does not fit: a row that was
 * changed, added or taken away by hand. Pure.
 */
import type { ActiveExecution, EndedExecution } from '../store/records.ts'
import { ancestryHash } from './ancestry.ts'
import { namesOf } from './parents.ts'
import { keptAttempts } from './plan.ts'

export interface HistoryFlaw {
  readonly executionId: string
  readonly node: string
  readonly attempt: number
  /** What does not fit, as a sentence. */
  readonly reason: string
}

type Row = Pick<ActiveExecution | EndedExecution, 'id' | 'node' | 'attempt' | 'ordinal' | 'kind' | 'ancestry'>

/** `null` when everything fits. Rows are looked at in the order in which they came to be. */
export function findFlaw(
  ended: readonly EndedExecution[],
  active: readonly ActiveExecution[],
  renamed: ReadonlyMap<string, string> = new Map(),
): HistoryFlaw | null {
  const rows: Row[] = [...ended, ...active].filter(row => row.kind === 'forward')
  const byId = new Map(rows.map(row => [row.id, row]))
  // Attempts go on counting under a new name.
  const nameOf = (row: Row) => renamed.get(row.node) ?? row.node
  const attempts = new Set(rows.map(row => keyOf(nameOf(row), row.attempt)))
  const latest = new Map<string, number>()
  for (const row of ended) latest.set(nameOf(row), Math.max(latest.get(nameOf(row)) ?? 0, row.attempt))
  for (const row of rows.toSorted((a, b) => a.ordinal - b.ordinal || a.attempt - b.attempt)) {
    // What lies further back is not kept of a step that reattempts itself.
    const isFirst = row.attempt - 1 <= Math.max(0, (latest.get(nameOf(row)) ?? 0) - keptAttempts)
    const before = isFirst || attempts.has(keyOf(nameOf(row), row.attempt - 1))
    const reason = before
      ? flawOf(row, byId, namesOf({ renamed }, nameOf(row)))
      : `Attempt ${row.attempt - 1}, which must have come before it, is missing.`
    if (reason !== null) return { executionId: row.id, node: row.node, attempt: row.attempt, reason }
  }
  return null
}

/** A row that was renamed while it waited keeps the hash of the name that it had. */
function flawOf(row: Row, byId: ReadonlyMap<string, Row>, names: readonly string[]): string | null {
  const hashes: string[] = []
  for (const id of row.ancestry.parents) {
    const parent = byId.get(id)
    if (parent === undefined) return `Execution ${id}, which it came after, is missing.`
    hashes.push(parent.ancestry.hash)
  }
  const fits = names.some(name => ancestryHash(name, row.attempt, hashes) === row.ancestry.hash)
  return fits ? null : 'Its hash is not the one of its node, its attempt and its parents.'
}

function keyOf(node: string, attempt: number): string {
  return JSON.stringify([node, attempt])
}
