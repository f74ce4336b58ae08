/** The rows of a workflow as a decision leaves them, as far as its facts show them, and what has to be written for that. */
import type { NewExecution, RowMove, WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { MoveDetails } from './draft-details.ts'
import { freshRow, type LiveRow, type NextExecution } from './live-row.ts'
import { waitSlotPrefix } from './plan.ts'

export class LiveRows {
  readonly #workflowId: string
  /** By slot. */
  readonly #rows = new Map<string, LiveRow>()
  readonly #before: WorkflowFacts['active']
  readonly #next = new Map<string, NewExecution>()
  /** `null` while none was moved, as in most decisions. */
  #moves: Map<string, RowMove> | null = null

  constructor({ workflow, active }: WorkflowFacts) {
    this.#workflowId = workflow.id
    this.#before = active
    for (const row of active) this.#rows.set(row.slot, row)
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
    this.#moves?.delete(slot)
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
    this.#moves ??= new Map()
    const before = this.#moves.get(slot)
    const progress = details.progress ?? before?.progress ?? null
    const input = details.input ?? before?.input ?? null
    const due = details.due ?? before?.due ?? null
    const crashes = details.crashes ?? before?.crashes
    const runs = details.progress ? undefined : (details.runs ?? before?.runs)
    this.#moves.set(slot, { slot, state, fence, heldFrom, progress, due, input, crashes, runs })
    const come = progress ?? row.progress
    const changed = { progress: runs === undefined ? come : { ...come, runs }, input: input ?? row.input }
    this.#rows.set(slot, { ...row, ...changed, ...(due && { due }), state, fence, heldFrom, owner: null })
  }

  giveInput(row: LiveRow, input: string): void {
    const { slot, state, fence, heldFrom } = row
    const fresh = this.#next.get(slot)
    if (fresh) {
      this.put({ ...fresh, input })
      return
    }
    this.#moves ??= new Map()
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
    const existing = new Set(this.#before.map(row => row.slot))
    const replacements: NewExecution[] = []
    const insertions: NewExecution[] = []
    const removals: { slot: string }[] = []
    for (const row of this.#next.values()) (existing.has(row.slot) ? replacements : insertions).push(row)
    for (const slot of existing) if (!this.#rows.has(slot)) removals.push({ slot })
    return { replacements, insertions, removals, moves: [...(this.#moves?.values() ?? [])] }
  }
}
