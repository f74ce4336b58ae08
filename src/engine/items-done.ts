/**
 * How the end of an `each` node itself is told in history: by its reason. Its class may have had a step under that name before,
 * or may have one now, and what a step has done is undone, while of an `each` node only its items are.
 */
export const itemsDone = 'its items have ended'
export const noItems = 'it has no items'

/** It did nothing itself: it stood for its items. */
export function wasOfItems({ reason }: { readonly reason: string | null }): boolean {
  return reason === itemsDone || reason === noItems
}
