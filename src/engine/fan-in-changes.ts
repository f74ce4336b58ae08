/** From the counters that are there to those that are wanted. What is left when a workflow ends is of no use to anybody. */
import type { WorkflowChange } from '../store/change.ts'

export function fanInChanges(
  there: ReadonlyMap<string, number>,
  wanted: ReadonlyMap<string, number>,
  { isOver, counts }: { readonly isOver: boolean; readonly counts: boolean },
): WorkflowChange['fanIns'] {
  if (isOver) return { inserted: [], updated: [], removed: [], cleared: counts || there.size > 0 }
  const entries = [...wanted].map(([node, open]) => ({ node, open }))
  return {
    inserted: entries.filter(({ node, open }) => open > 0 && !there.has(node)),
    updated: entries.filter(({ node, open }) => open > 0 && there.has(node)),
    removed: entries.filter(({ node, open }) => open <= 0 && there.has(node)),
    cleared: false,
  }
}
