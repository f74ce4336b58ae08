/**
 * The order in which workflows are inserted that nobody may stand beside: the same for everybody, so that two who want the same keys do not
 * wait for each other in a circle.
 */
import type { StartOrder } from '../store.ts'

/** Of two that want one key the first stays the first. */
export function inOrderOfKeys(orders: readonly StartOrder[]): readonly StartOrder[] {
  if (orders.every(({ hero, idempotencyKey }) => hero === null && idempotencyKey === null)) return orders
  const placed = orders.map(order => {
    const { type, hero, idempotencyKey } = order
    return { order, key: JSON.stringify([type, idempotencyKey, hero?.type, hero?.idText]) }
  })
  return placed.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ order }) => order)
}
