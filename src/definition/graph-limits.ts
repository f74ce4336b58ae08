/** How large a graph may become that is built at run time or imported, and the counting that says no in time. */
import { GraphTooLargeError } from '../errors.ts'

export interface GraphLimits {
  readonly nodes: number
  /** Dependencies, counted one by one. */
  readonly edges: number
  /** The size of the stored JSON in UTF-8. */
  readonly bytes: number
}

export const defaultGraphLimits: GraphLimits = Object.freeze({
  nodes: 100_000,
  edges: 1_000_000,
  bytes: 64 * 1024 * 1024,
})

/** Counts while a graph grows, so that one without end is refused before it fills the memory. */
export class GraphTally {
  readonly limits: GraphLimits
  readonly #counted = { nodes: 0, edges: 0, bytes: 0 }

  constructor(limits: GraphLimits) {
    this.limits = limits
  }

  /** Throws `GraphTooLargeError` beyond the limit. */
  add(what: keyof GraphLimits, count: number): void {
    this.#counted[what] += count
    const actual = this.#counted[what]
    if (actual > this.limits[what]) throw new GraphTooLargeError(what, actual, this.limits[what])
  }
}
