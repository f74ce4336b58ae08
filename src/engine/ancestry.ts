/**
 * The ancestry hash: proof of what an execution came after. It covers the node, the attempt, and the hashes of the
 * attempts it depends on, so it stands for the whole way that led to it.
 */
import { hash } from 'node:crypto'
import type { Ancestry } from '../store/records.ts'

/** An execution that another one came after. */
export interface ParentExecution {
  readonly id: string
  readonly hash: string
}

export function ancestryOf(node: string, attempt: number, parents: readonly ParentExecution[]): Ancestry {
  return {
    hash: ancestryHash(
      node,
      attempt,
      parents.map(parent => parent.hash),
    ),
    parents: parents.map(parent => parent.id),
  }
}

/** The order in which parents ended says nothing about the way, so they are sorted. */
export function ancestryHash(node: string, attempt: number, parentHashes: readonly string[]): string {
  return hash(
    'sha256',
    `${node}:${attempt}${parentHashes
      .toSorted()
      .map(parent => `:${parent}`)
      .join('')}`,
  )
}
