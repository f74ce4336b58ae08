/**
 * Group commit for any kind of write. When nothing is being written an item goes out at once; while a write is under way
 * the next items gather and form one group. No timer delays an idle system.
 */

export interface BatcherOptions<Item, Result> {
  /** Writes a group and answers for each item in order. A rejection is tried again in halves, until one item stands alone. */
  write(items: readonly Item[]): Promise<readonly Result[]>
  readonly maxGroup: number
  /** Items with the same key never share a group; the later one waits for the next. */
  keyOf?(item: Item): string
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  #waiting: Waiting<Item, Result>[] = []
  #writing = 0

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
  }

  /** Resolves with the answer for this item; rejects only when the write of this item alone was rejected. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      // Items that are added in the same turn go out together.
      queueMicrotask(() => this.#pump())
    })
  }

  /** A second write starts beside the first only when a whole group is waiting. */
  #pump(): void {
    const ready = this.#writing === 0 ? 1 : this.#writing === 1 ? this.#options.maxGroup : Number.POSITIVE_INFINITY
    if (this.#waiting.length < ready) return
    const group = this.#takeGroup()
    this.#writing++
    void this.#write(group).finally(() => {
      this.#writing--
      this.#pump()
    })
  }

  #takeGroup(): Waiting<Item, Result>[] {
    const { maxGroup, keyOf } = this.#options
    if (!keyOf) return this.#waiting.splice(0, maxGroup)
    const group = new Map<string, Waiting<Item, Result>>()
    this.#waiting = this.#waiting.filter(waiting => {
      const key = keyOf(waiting.item)
      if (group.size >= maxGroup || group.has(key)) return true
      group.set(key, waiting)
      return false
    })
    return [...group.values()]
  }

  async #write(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.write(group.map(waiting => waiting.item))
      group.forEach((waiting, index) => waiting.resolve(results[index] as Result))
    } catch (error) {
      if (group.length === 1) return group[0]?.reject(error)
      const middle = Math.ceil(group.length / 2)
      await this.#write(group.slice(0, middle))
      await this.#write(group.slice(middle))
    }
  }
}
