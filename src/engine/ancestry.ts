/**
 * The ancestry hash: proof of what an execution came after. It covers the node, the attempt, and the hashes of the
 * attempts it depends on, so it stands for the whole way that led to it.
 */
import { hash } from 'node:crypto'
import type { Ancestry } from '../store/records.ts'

/** An execution that another one came after. */
export interface ParentExecution {
  readonly id: string
  readonly ancestry: Pick<Ancestry, 'hash'>
}

export function ancestryOf(node: string, attempt: number, parents: readonly ParentExecution[]): Ancestry {
  const hashes = parents.map(parent => parent.ancestry.hash)
  return { hash: ancestryHash(node, attempt, hashes), parents: parents.map(parent => parent.id) }
}

/** Of workflows of one class most go the same way: node, attempt and way are the same again and again. */
const known = new Map<string, string>()
const mostKnown = 5000
/** Longer ones have many parents, and hardly come again. Nor do ids that were made for one graph. */
const longestKnown = 300
const madeForOne = /^n_[0-9a-f]{16}/

/** The order in which parents ended says nothing about the way, so they are sorted. */
export function ancestryHash(node: string, attempt: number, parentHashes: readonly string[]): string {
  const parents = parentHashes.length > 1 ? parentHashes.toSorted() : parentHashes
  const way = `${node}:${attempt}${parents.map(parent => `:${parent}`).join('')}`
  if (way.length > longestKnown || madeForOne.test(node)) return hash('sha256', way)
  const found = known.get(way)
  if (found !== undefined) return found
  const made = hash('sha256', way)
  if (known.size >= mostKnown) known.clear()
  known.set(way, made)
  return made
}
