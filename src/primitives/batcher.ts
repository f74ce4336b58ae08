/**
 * Group commit for any kind of write. When nothing is being written an item goes out at once; while a write is under way
 * the next items gather and form one group. No timer delays an idle system, and a write that takes long does not keep what is not in
 * it: another begins beside it. What waits is what callers wait for: whoever adds only after an answer has no more than one item here.
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
  /**
   * Items of one kin count as one towards `maxGroup`, up to `maxItems`: what they share is then written once. They wait while a write
   * that takes long has one of their kin, because it is likely what that one waits for.
   */
  kinOf?(item: Item): string
  readonly maxItems?: number
  /** How many must be waiting before another write begins beside one that is under way. Default: a whole group. */
  readonly crowd?: number
  /** How many writes may be under way at once, beside up to three that take long. Default 2. */
  readonly mostWrites?: number
  /** Items with the same key never share a group; the later one waits for the next. */
  keyOf?(item: Item): string
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

interface Write<Item, Result> {
  readonly group: readonly Waiting<Item, Result>[]
  readonly again: boolean
  readonly since: number
}

/** What has gone out is forgotten when there is so much of it. */
const tidyAfter = 10_000
/** A write that is under way for so long may be waiting for something that only it needs. */
const longMs = 300
/** So many of those are not counted. Each may hold a connection, so there is an end to it. */
const mostLong = 3
const none: ReadonlySet<string> = new Set()

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  #waiting: (Waiting<Item, Result> | null)[] = []
  /** What stood before this place has gone out. */
  #next = 0
  readonly #underWay = new Set<Write<Item, Result>>()
  /** Of groups that were rejected; the last one is next. */
  readonly #halves: (readonly Waiting<Item, Result>[])[] = []
  #timer: NodeJS.Timeout | null = null
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

  /** Another write starts beside the first only when there is a crowd, or when the first takes long. */
  #pump(): void {
    while (this.#halves.length > 0 || this.waiting > 0) {
      const long = this.#longOnes()
      const next = this.#halfToWrite(long) ?? this.#groupToWrite(long)
      if (next === null) break
      void this.#write(next)
    }
    this.#lookAgain()
  }

  #longOnes(): readonly Write<Item, Result>[] {
    if (this.#underWay.size === 0) return []
    const before = performance.now() - longMs
    return [...this.#underWay].filter(write => write.since <= before)
  }

  /** Halves go out one after the other, unless one takes long, and wait for no crowd. */
  #halfToWrite(long: readonly Write<Item, Result>[]): Write<Item, Result> | null {
    const { mostWrites = 2 } = this.#options
    if (this.#halves.length === 0 || this.#underWay.size - Math.min(long.length, mostLong) >= mostWrites) return null
    for (const write of this.#underWay) if (write.again && !long.includes(write)) return null
    const group = this.#halves.pop()
    return group === undefined ? null : { group, again: true, since: performance.now() }
  }

  #groupToWrite(long: readonly Write<Item, Result>[]): Write<Item, Result> | null {
    const { maxGroup, crowd = maxGroup, mostWrites = 2 } = this.#options
    const beside = this.#underWay.size - Math.min(long.length, mostLong)
    if (beside >= mostWrites || this.waiting < (beside === 0 ? 1 : crowd)) return null
    const group = this.#takeGroup(this.#kinsOf(long))
    return group.length === 0 ? null : { group, again: false, since: performance.now() }
  }

  #kinsOf(writes: readonly Write<Item, Result>[]): ReadonlySet<string> {
    const { kinOf } = this.#options
    if (kinOf === undefined || writes.length === 0) return none
    return new Set(writes.flatMap(({ group }) => group.map(({ item }) => kinOf(item))))
  }

  /** One timer for all writes, while something waits for one: it looks when the oldest that is not known to take long begins to. */
  #lookAgain(): void {
    if (this.#timer !== null || (this.waiting === 0 && this.#halves.length === 0)) return
    const now = performance.now()
    let inMs = Number.POSITIVE_INFINITY
    for (const { since } of this.#underWay) {
      const leftMs = since + longMs - now
      if (leftMs > 0) inMs = Math.min(inMs, leftMs)
    }
    if (inMs === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#pump()
    }, Math.ceil(inMs)).unref()
  }

  /** Looks at no more items than it takes, but for those that must wait for their like, so that a long line costs no more. */
  #takeGroup(busy: ReadonlySet<string>): Waiting<Item, Result>[] {
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
      const kin = kinOf?.(waiting.item)
      if ((key !== undefined && keys.has(key)) || (kin !== undefined && busy.has(kin))) {
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

  async #write(write: Write<Item, Result>): Promise<void> {
    const { group, again } = write
    this.#underWay.add(write)
    try {
      const results = await this.#options.write(
        group.map(waiting => waiting.item),
        again,
      )
      group.forEach((waiting, index) => waiting.resolve(results[index] as Result))
    } catch (error) {
      if (group.length === 1) group[0]?.reject(error)
      else {
        const middle = Math.ceil(group.length / 2)
        this.#halves.push(group.slice(middle), group.slice(0, middle))
      }
    } finally {
      this.#underWay.delete(write)
      this.#pumpSoon()
    }
  }
}
