/** A node of a graph in words, for lists, labels and screen readers. */
import type { GraphNode } from '../api/types.ts'
import { tellingState } from '../ui/state-look.ts'
import { count, words } from '../ui/wording.ts'

/** How people call it: joins have no name of their own, and folded ones are told by the first and the last. */
export function nodeName({ name, fold }: Pick<GraphNode, 'name' | 'fold'>): string {
  const told = plainName(name)
  const [first = '', last] = fold === null ? [told] : told.split(' … ')
  if (last === undefined) return told
  // The items of one node are told by its name: how many there are stands beside it.
  const place = first.lastIndexOf('/') + 1
  const ofOne = place > 0 && first.slice(0, place) === last.slice(0, place)
  return ofOne ? `${first.slice(0, place)}…` : `${first}…${last}`
}

/** The name of a node as events and attempts have it. */
export function plainName(name: string): string {
  return name.replace(/#join$/, ' (join)')
}

/** The state it is drawn in: of a fold, what needs an eye first. That of a definition is none. */
export function stateOf(node: GraphNode): string | null {
  if (node.fold === null) return node.state
  return tellingState(node.fold.states)
}

export function describeNode(node: GraphNode): string {
  const state = stateOf(node)
  return [
    nodeName(node),
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
