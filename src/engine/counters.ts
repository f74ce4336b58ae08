/** The fan-in counters of a workflow as a decision leaves them: how many parents of each node are still open. */
import type { WorkflowChange } from '../store/change.ts'

const unchanged: WorkflowChange['fanIns'] = { inserted: [], updated: [], removed: [], cleared: false }

export class Counters {
  readonly #stored: ReadonlyMap<string, number>
  readonly #mayBeMore: boolean
  /** `null` while none was set, as in most decisions. */
  #set: Map<string, number> | null = null

  /** `mayBeMore`: there may be counters that are not among the stored ones shown here. */
  constructor(stored: ReadonlyMap<string, number>, mayBeMore: boolean) {
    this.#stored = stored
    this.#mayBeMore = mayBeMore
  }

  open(node: string): number | null {
    return this.#set?.get(node) ?? this.#stored.get(node) ?? null
  }

  set(node: string, open: number): void {
    this.#set ??= new Map()
    this.#set.set(node, open)
  }

  known(): string[] {
    return [...new Set([...this.#stored.keys(), ...(this.#set?.keys() ?? [])])]
  }

  /** What is left when a workflow ends is of no use to anybody. */
  build(isOver: boolean): WorkflowChange['fanIns'] {
    if (this.#set === null && !isOver) return unchanged
    const isStored = (node: string) => this.#stored.has(node)
    const entries = [...(this.#set ?? [])].map(([node, open]) => ({
      node,
      open,
      by: (this.#stored.get(node) ?? open) - open,
    }))
    return {
      inserted: isOver ? [] : entries.filter(({ node, open }) => open > 0 && !isStored(node)),
      updated: isOver ? [] : entries.filter(({ node, open }) => open > 0 && isStored(node)),
      removed: isOver ? [] : entries.filter(({ node, open }) => open <= 0 && isStored(node)),
      cleared: isOver && (this.#mayBeMore || this.#stored.size > 0),
    }
  }
}
