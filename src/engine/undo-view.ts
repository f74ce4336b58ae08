/**
 * What a workflow has done, as a rollback sees it while it is decided on: history, what the decision itself has ended, and
 * what it has moved on. It decides nothing.
 */
import { invariant } from '../primitives/invariant.ts'
import type { Ending, TriedUndo, UndoFacts, UndoRow, WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { EndedState } from '../store/records.ts'

const nothing: readonly never[] = []

export class UndoView {
  readonly #facts: WorkflowFacts
  /** `null` while nothing was moved, as in most decisions. */
  #moved: Map<string, EndedState> | null = null

  constructor(facts: WorkflowFacts) {
    this.#facts = facts
  }

  /** Newest first. */
  rows(endings: readonly Ending[]): UndoRow[] {
    const { undo, workflow } = this.#facts
    invariant(undo !== null, `Nobody has looked at what workflow ${workflow.id} has done.`)
    const now = endings.filter(({ execution }) => execution.kind === 'forward').toReversed()
    const rows = [...now.map(undoRowOf), ...undo.rows]
    return rows.map(row => ({ ...row, state: this.#moved?.get(row.id) ?? row.state }))
  }

  facts(endings: readonly Ending[]): UndoFacts {
    const { others = nothing, isWhole = false } = this.#facts.undo ?? {}
    return { rows: this.rows(endings), others, tried: this.tried(endings), isWhole }
  }

  tried(endings: readonly Ending[]): TriedUndo[] {
    const now = endings.flatMap(({ execution, outcome }) =>
      execution.kind === 'compensate' ? { ...execution, outcome, undoes: execution.ancestry.parents[0] ?? '' } : [],
    )
    return [...now, ...(this.#facts.undo?.tried ?? [])]
  }

  move(id: string, state: EndedState): void {
    this.#moved ??= new Map()
    this.#moved.set(id, state)
  }

  /** What the decision ends is written as it is in the end. */
  applied(endings: readonly Ending[]): readonly Ending[] {
    const moved = this.#moved
    if (moved === null) return endings
    return endings.map(ending => ({ ...ending, state: moved.get(ending.execution.id) ?? ending.state }))
  }

  /** What had ended before and is moved on. */
  before(endings: readonly Ending[]): WorkflowChange['undone'] {
    if (this.#moved === null) return nothing
    const ending = new Set(endings.map(({ execution }) => execution.id))
    return [...this.#moved].flatMap(([id, state]) => (ending.has(id) ? [] : { id, state }))
  }
}

/** A row as history will have it. */
export function undoRowOf(ending: Ending): UndoRow {
  const { progress } = ending.execution
  const hasActed = ending.error !== null || progress.cursor !== null || progress.completedIterations > 0
  return { ...ending.execution, ...ending, hasActed }
}
