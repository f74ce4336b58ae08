/**
 * Group commit for any kind of write. When nothing is being written an item goes out at once; while a write is under way
 * the next items gather and form one group. No timer delays an idle system. What waits is what callers wait for: whoever adds
 * only after an answer has no more than one item here, so a slow write slows its callers and piles up nothing.
 */

export interface BatcherOptions<Item, Result> {
  /**
   * Writes a group and answers for each item in order. A rejection is tried again in halves, until one item stands alone;
   * `again` is then true, because the rejected write may have arrived all the same.
   */
  write(items: readonly Item[], again: boolean): Promise<readonly Result[]>
  /** Bytes that an item adds to a write; a group stays below `maxBytes`, unless one item alone is larger. */
  sizeOf?(item: Item): number
  readonly maxBytes?: number
  readonly maxGroup: number
  /** Items of one kin count as one towards `maxGroup`, up to `maxItems`: what they share is then written once. */
  kinOf?(item: Item): string
  readonly maxItems?: number
  /** How many must be waiting before another write begins beside one that is under way. Default: a whole group. */
  readonly crowd?: number
  /** How many writes may be under way at once. Default 2. */
  readonly mostWrites?: number
  /** Items with the same key never share a group; the later one waits for the next. */
  keyOf?(item: Item): string
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** What has gone out is forgotten when there is so much of it. */
const tidyAfter = 10_000

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  #waiting: (Waiting<Item, Result> | null)[] = []
  /** What stood before this place has gone out. */
  #next = 0
  #writing = 0
  #isPumping = false

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
  }

  /** How many items have not gone out yet. */
  get waiting(): number {
    return this.#waiting.length - this.#next
  }

  /** Resolves with the answer for this item; rejects only when the write of this item alone was rejected. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#pumpSoon()
    })
  }

  /** What one answer sets going goes out together, by however many promises each comes: only then is it the turn of a tick. */
  #pumpSoon(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    process.nextTick(() => {
      this.#isPumping = false
      this.#pump()
    })
  }

  /** Another write starts beside the first only when there is a crowd. */
  #pump(): void {
    const { maxGroup, crowd = maxGroup, mostWrites = 2 } = this.#options
    while (this.#writing < mostWrites && this.waiting >= (this.#writing === 0 ? 1 : crowd)) {
      const group = this.#takeGroup()
      this.#writing++
      void this.#write(group, false).finally(() => {
        this.#writing--
        this.#pumpSoon()
      })
    }
  }

  /** Looks at no more items than it takes, but for those that must wait for their like, so that a long line costs no more. */
  #takeGroup(): Waiting<Item, Result>[] {
    const { maxGroup, maxItems = maxGroup, keyOf, kinOf, sizeOf, maxBytes = Number.POSITIVE_INFINITY } = this.#options
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
      if (key !== undefined && keys.has(key)) {
        left.push(waiting)
        continue
      }
      bytes += sizeOf?.(waiting.item) ?? 0
      if (group.length > 0 && bytes > maxBytes) break
      if (key !== undefined) keys.add(key)
      if (kinOf !== undefined) kins.add(kinOf(waiting.item))
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

  async #write(group: readonly Waiting<Item, Result>[], again: boolean): Promise<void> {
    try {
      const results = await this.#options.write(
        group.map(waiting => waiting.item),
        again,
      )
      group.forEach((waiting, index) => waiting.resolve(results[index] as Result))
    } catch (error) {
      if (group.length === 1) return group[0]?.reject(error)
      const middle = Math.ceil(group.length / 2)
      await this.#write(group.slice(0, middle), true)
      await this.#write(group.slice(middle), true)
    }
  }
}
