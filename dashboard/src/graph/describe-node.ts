/** A node of a graph in words, for lists, labels and screen readers. */
import type { GraphNode } from '../api/types.ts'
import { tellingState } from '../ui/state-look.ts'
import { count, words } from '../ui/wording.ts'

/** What the names of folded nodes must have in common to say more than their job does. */
const tellingLength = 3

/**
 * How people call it: joins have no name of their own, and folded ones are told by what their names have in common, by their job,
 * or by the first and the last. How many there are stands beside it, so there is little room.
 */
export function nodeName({ name, kind, note, fold }: Pick<GraphNode, 'name' | 'kind' | 'note' | 'fold'>): string {
  const told = plainName(name)
  const [first = '', last] = fold === null ? [told] : told.split(' … ')
  if (last === undefined) return told
  const common = commonStart(first, last)
  if (common.length < tellingLength && kind === 'step' && note !== null) return note
  return common === '' ? `${first}…${last}` : `${common}…`
}

/** Without a number that was begun: `mail/1` and `mail/19` have `mail/` in common. */
function commonStart(first: string, last: string): string {
  let length = 0
  while (length < first.length && first[length] === last[length]) length++
  return first.slice(0, length).replace(/\d+$/, '')
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
