/** The rows of a workflow as a decision leaves them, as far as its facts show them, and what has to be written for that. */
import type { NewExecution, RowMove, WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { MoveDetails } from './draft-details.ts'
import { freshRow, type LiveRow, type NextExecution } from './live-row.ts'
import { waitSlotPrefix } from './plan.ts'

export class LiveRows {
  readonly #workflowId: string
  /** By slot. */
  readonly #rows: Map<string, LiveRow>
  readonly #existing: ReadonlySet<string>
  readonly #next = new Map<string, NewExecution>()
  readonly #moves = new Map<string, RowMove>()

  constructor({ workflow, active }: WorkflowFacts) {
    this.#workflowId = workflow.id
    this.#rows = new Map(active.map(row => [row.slot, row]))
    this.#existing = new Set(this.#rows.keys())
  }

  all(): LiveRow[] {
    return [...this.#rows.values()]
  }

  in(slot: string): LiveRow | null {
    return this.#rows.get(slot) ?? null
  }

  /** The timer of a node that waits for people or a message. */
  waitTimerOf({ id }: LiveRow): LiveRow | null {
    return (
      this.all().find(({ slot, ancestry }) => slot.startsWith(waitSlotPrefix) && ancestry.parents[0] === id) ?? null
    )
  }

  put(execution: NextExecution): NewExecution {
    const row = freshRow(this.#workflowId, execution)
    this.#next.set(row.slot, row)
    this.#rows.set(row.slot, row)
    return row
  }

  forget({ slot }: LiveRow): void {
    this.#rows.delete(slot)
    this.#next.delete(slot)
    this.#moves.delete(slot)
  }

  move(row: LiveRow, state: RowMove['state'], details: MoveDetails): void {
    const { slot } = row
    const fresh = this.#next.get(slot)
    if (fresh) {
      this.put({ ...fresh, state, owner: null, due: details.due ?? fresh.due, input: details.input ?? fresh.input })
      return
    }
    const heldFrom = state === 'paused' ? (details.heldFrom ?? 'scheduled') : null
    const fence = row.state === 'in_progress' ? row.fence + 1 : row.fence
    const before = this.#moves.get(slot)
    const progress = details.progress ?? before?.progress ?? null
    const input = details.input ?? before?.input ?? null
    const due = details.due ?? before?.due ?? null
    this.#moves.set(slot, { slot, state, fence, heldFrom, progress, due, input })
    const changed = { progress: progress ?? row.progress, input: input ?? row.input }
    this.#rows.set(slot, { ...row, ...changed, state, fence, heldFrom, owner: null })
  }

  giveInput(row: LiveRow, input: string): void {
    const { slot, state, fence, heldFrom } = row
    const fresh = this.#next.get(slot)
    if (fresh) {
      this.put({ ...fresh, input })
      return
    }
    const before = this.#moves.get(slot) ?? {
      slot,
      state: state as RowMove['state'],
      fence,
      heldFrom,
      progress: null,
      due: null,
    }
    this.#moves.set(slot, { ...before, input })
    this.#rows.set(slot, { ...row, input })
  }

  build(): Pick<WorkflowChange, 'replacements' | 'insertions' | 'removals' | 'moves'> {
    const next = [...this.#next.values()]
    const gone = [...this.#existing].filter(slot => !this.#rows.has(slot))
    return {
      replacements: next.filter(row => this.#existing.has(row.slot)),
      insertions: next.filter(row => !this.#existing.has(row.slot)),
      removals: gone.map(slot => ({ slot })),
      moves: [...this.#moves.values()],
    }
  }
}
