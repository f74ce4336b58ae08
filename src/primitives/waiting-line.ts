/** What has not gone out yet, in the order in which it came, and which of it forms the next group. */
import type { Waiting } from './batch-group.ts'

export interface GroupLimits<Item> {
  readonly maxGroup: number
  /**
   * Items of one kin count as one towards `maxGroup`, up to `maxItems`: what they share is then written once. They wait while a write
   * that takes long, or is made again, has one of their kin, because it is likely what that one waits for.
   */
  kinOf?(item: Item): string
  readonly maxItems?: number
  /** Bytes that an item adds to a write; a group stays below `maxBytes`, unless one item alone is larger. */
  sizeOf?(item: Item): number
  readonly maxBytes?: number
  /** Items with the same key never share a group; the later one waits for the next. */
  keyOf?(item: Item): string
}

/** What has gone out is forgotten when there is so much of it. */
const tidyAfter = 10_000

export class WaitingLine<Item, Result> {
  readonly #limits: GroupLimits<Item>
  #waiting: (Waiting<Item, Result> | null)[] = []
  /** What stood before this place has gone out. */
  #next = 0

  constructor(limits: GroupLimits<Item>) {
    this.#limits = limits
  }

  get length(): number {
    return this.#waiting.length - this.#next
  }

  add(waiting: Waiting<Item, Result>): void {
    this.#waiting.push(waiting)
  }

  /**
   * Takes the next group, of which no item is of the kins that are `held`. Looks at no more items than it takes, but for those that
   * must wait for their like, so that a long line costs no more.
   */
  take(held: ReadonlySet<string>): Waiting<Item, Result>[] {
    const { maxGroup, maxItems = maxGroup, keyOf, kinOf, sizeOf, maxBytes = Number.POSITIVE_INFINITY } = this.#limits
    const group: Waiting<Item, Result>[] = []
    const left: Waiting<Item, Result>[] = []
    const keys = new Set<string>()
    const kins = new Set<string>()
    let bytes = 0
    let next = this.#next
    for (; next < this.#waiting.length && group.length < maxItems && kins.size < maxGroup; next++) {
      const waiting = this.#waiting[next]
      if (!waiting) continue
      const key = keyOf?.(waiting.item)
      const kin = kinOf?.(waiting.item)
      if ((key !== undefined && keys.has(key)) || (kin !== undefined && held.has(kin))) {
        left.push(waiting)
        continue
      }
      bytes += sizeOf?.(waiting.item) ?? 0
      if (group.length > 0 && bytes > maxBytes) break
      if (key !== undefined) keys.add(key)
      if (kin !== undefined) kins.add(kin)
      group.push(waiting)
    }
    this.#moveTo(next, left)
    return group
  }

  /** `left` stands before that place again, in its order. */
  #moveTo(next: number, left: readonly Waiting<Item, Result>[]): void {
    this.#waiting.fill(null, this.#next, next)
    this.#next = next - left.length
    for (const [index, waiting] of left.entries()) this.#waiting[this.#next + index] = waiting
    if (this.#next < tidyAfter && this.#next < this.#waiting.length) return
    this.#waiting = this.#waiting.slice(this.#next)
    this.#next = 0
  }
}
