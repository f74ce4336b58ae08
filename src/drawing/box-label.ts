/** What a box says in words, the same in every format. Escaping is left to the format. */
import type { NodeKind } from '../definition/graph.ts'
import type { Box } from './fold.ts'
import { printable } from './printable-text.ts'
import { lookOf } from './state-look.ts'

/** Steps and items are what one expects; the rest is worth a word where shapes cannot say it. */
const kindWords: Readonly<Record<NodeKind, string | null>> = {
  step: null,
  item: null,
  resumable: 'resumable',
  each: 'each',
  child: 'child',
  condition: 'condition',
  fork: 'fork',
  join: 'join',
  savePoint: 'save point',
  human: 'human',
  signal: 'signal',
}

export function isFolded(box: Box): boolean {
  return box.nodes.length > 1
}

/** The name of a node, or those of the first and the last of many. */
export function nameOf(box: Box, ellipsis = '…'): string {
  const first = printable(box.first.name)
  return isFolded(box) ? `${first} ${ellipsis} ${printable(box.last.name)}` : first
}

/** `(200: 150 completed, 3 failed, 47 pending)` */
export function tallyOf(box: Box): string {
  const counts = [...box.counts].map(([state, count]) => `${grouped(count)} ${printable(state)}`)
  return `(${[grouped(box.nodes.length), ...(counts.length > 0 ? [counts.join(', ')] : [])].join(': ')})`
}

/** What there is to say about a single node besides its name: its state first. */
export function detailsOf(box: Box): string[] {
  const { attempt = 1, progress, note } = box.first
  const details = [box.state, attempt > 1 ? `attempt ${attempt}` : null, progress, note]
  return details.flatMap(detail => (detail ? [printable(detail)] : []))
}

/** Mark and words for inside a shape. Of a node that has not begun its name is enough: the colour tells the rest. */
export function captionOf(box: Box): { readonly mark: string; readonly words: readonly string[] } {
  const untold = box.state === null || box.state === 'pending'
  const mark = untold ? '' : `${lookOf(box.state).mark} `
  if (isFolded(box)) return { mark, words: [`${nameOf(box)} ${tallyOf(box)}`] }
  return { mark, words: [nameOf(box), ...detailsOf(box).slice(box.state === 'pending' ? 1 : 0)] }
}

export function kindWordOf(box: Box): string | null {
  return kindWords[box.first.kind]
}

/** What the way from a parent to a box is called: the answer of a condition. */
export function edgeWordOf(parent: Box, box: Box): 'yes' | 'no' | null {
  const { guard } = box.first
  if (guard === undefined || parent.first.id !== guard.condition) return null
  return guard.when ? 'yes' : 'no'
}

/** The same where ways cannot be labelled: `if isDigital`, `if not isDigital`. */
export function guardWordsOf(box: Box): string | null {
  const condition = box.parents.find(parent => edgeWordOf(parent, box) !== null)
  if (!condition) return null
  return `${box.first.guard?.when ? 'if' : 'if not'} ${nameOf(condition)}`
}

/** Digits in groups of three. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US')
}
