/** A node of a graph in words, for lists, labels and screen readers. */
import type { GraphNode } from '../api/types.ts'
import { tellingState } from '../ui/state-look.ts'
import { count, words } from '../ui/wording.ts'

/** The state it is drawn in. That of a definition is none. */
export function stateOf(node: GraphNode): string | null {
  if (node.fold === null) return node.state
  return node.state ?? tellingState(node.fold.states)
}

export function describeNode(node: GraphNode): string {
  const state = stateOf(node)
  return [
    node.name,
    words(node.kind),
    ...(state === null ? [] : [words(state)]),
    ...(node.attempt > 1 ? [`attempt ${node.attempt}`] : []),
    ...(node.fold === null ? [] : [`${count(node.fold.count)} folded`]),
    ...(node.compensates === null ? [] : [`undoes ${node.compensates}`]),
  ].join(', ')
}

/** `12 completed, 3 failed`. */
export function foldText(states: Readonly<Record<string, number>>): string {
  return Object.entries(states)
    .filter(([, amount]) => amount > 0)
    .map(([state, amount]) => `${count(amount)} ${words(state)}`)
    .join(', ')
}
