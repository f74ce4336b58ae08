/**
 * Whether nodes come after others, for many pairs at once. Each pass follows up to 32 nodes through the stretch of the
 * graph where their pairs lie, so that a graph in which every node asks stays far from the square of its size.
 */
import type { GraphNode } from './graph.ts'

/** A node that takes for granted that another one comes before it. */
export interface AncestorPair {
  readonly node: string
  readonly ancestor: string
}

/** A pair that does not hold; `null` when all do. The nodes must be in an order in which parents come first. */
export function unmetPair(order: readonly GraphNode[], pairs: readonly AncestorPair[]): AncestorPair | null {
  if (pairs.length === 0) return null
  const position = new Map(order.map((node, index) => [node.id, index]))
  const stretches = pairs.map(pair => ({
    pair,
    first: position.get(pair.ancestor) ?? order.length,
    last: position.get(pair.node) ?? -1,
  }))
  const backwards = stretches.find(({ first, last }) => first >= last)
  if (backwards) return backwards.pair
  const parents = order.map(node => node.dependsOn.map(id => position.get(id) ?? 0))
  const starts = new Set(stretches.map(({ first }) => first)).size
  const ends = new Set(stretches.map(({ last }) => last)).size
  return unmetOf(stretches, parents, starts <= ends ? downwards : upwards)
}

/** The positions that a pair lies between. */
interface Stretch {
  readonly pair: AncestorPair
  readonly first: number
  readonly last: number
}

type Parents = readonly (readonly number[])[]

/** Marks spread from the end of each pair that fewer nodes are at; a pair holds when its mark arrives at the other end. */
interface Direction {
  readonly from: 'first' | 'last'
  readonly to: 'first' | 'last'
  spread(marks: Uint32Array, parents: Parents, first: number, last: number): void
}

const downwards: Direction = {
  from: 'first',
  to: 'last',
  spread(marks, parents, first, last) {
    for (let node = first + 1; node <= last; node++) {
      for (const parent of parents[node] ?? []) mark(marks, node, marks[parent] ?? 0)
    }
  },
}

const upwards: Direction = {
  from: 'last',
  to: 'first',
  spread(marks, parents, first, last) {
    for (let node = last; node > first; node--) {
      const marked = marks[node] ?? 0
      if (marked === 0) continue
      for (const parent of parents[node] ?? []) mark(marks, parent, marked)
    }
  },
}

const marksAtOnce = 32

function unmetOf(
  stretches: readonly Stretch[],
  parents: Parents,
  { from, to, spread }: Direction,
): AncestorPair | null {
  const marks = new Uint32Array(parents.length)
  const groups = groupedBy(from, stretches)
  const sources = [...groups.keys()].sort((a, b) => a - b)
  for (let done = 0; done < sources.length; done += marksAtOnce) {
    const batch = sources.slice(done, done + marksAtOnce)
    const asked = batch.map(source => groups.get(source) ?? [])
    const first = asked.flat().reduce((least, stretch) => Math.min(least, stretch.first), parents.length)
    const last = asked.flat().reduce((most, stretch) => Math.max(most, stretch.last), 0)
    batch.forEach((source, bit) => mark(marks, source, 1 << bit))
    spread(marks, parents, first, last)
    for (const [bit, group] of asked.entries()) {
      const unmet = group.find(stretch => ((marks[stretch[to]] ?? 0) & (1 << bit)) === 0)
      if (unmet) return unmet.pair
    }
    marks.fill(0)
  }
  return null
}

function groupedBy(end: Direction['from'], stretches: readonly Stretch[]): Map<number, Stretch[]> {
  const groups = new Map<number, Stretch[]>()
  for (const stretch of stretches) {
    const group = groups.get(stretch[end])
    if (group) group.push(stretch)
    else groups.set(stretch[end], [stretch])
  }
  return groups
}

function mark(marks: Uint32Array, node: number, bits: number): void {
  marks[node] = (marks[node] ?? 0) | bits
}
