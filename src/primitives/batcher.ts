/**
 * Group commit for any kind of write. When nothing is being written an item goes out at once; while a write is under way
 * the next items gather and form one group. No timer delays an idle system, and a write that takes long does not keep what is not in
 * it: another begins beside it. What waits is what callers wait for: whoever adds only after an answer has no more than one item here.
 */
import { type Attempt, ForGood, Group, NotYet, type Trouble } from './batch-group.ts'
import { type GroupLimits, WaitingLine } from './waiting-line.ts'
import { type WriteLimits, WritesUnderWay } from './writes-under-way.ts'

export interface BatcherOptions<Item, Result> extends GroupLimits<Item>, WriteLimits {
  /**
   * Writes a group and answers for each item in order. A rejection is tried again in parts, until one item stands alone, unless it
   * is a `NotYet`, by which the group rests and is tried again as it is, or `ForGood`. What is through before the rest is may be
   * told of by `answer` at once: whatever becomes of the rest, it is not tried again.
   */
  write(items: readonly Item[], attempt: Attempt, answer: Answer<Item, Result>): Promise<readonly Result[]>
  /** How many must be waiting before another write begins beside one that is under way. Default: a whole group. */
  readonly crowd?: number
}

type Line<Item, Result> = Group<Item, Result>[]

export type Answer<Item, Result> = (results: ReadonlyMap<Item, Result>) => void

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  readonly #line: WaitingLine<Item, Result>
  readonly #underWay: WritesUnderWay
  /** What was rejected and is to go out again, some of it after a rest: one line for each `Trouble`. */
  readonly #again: readonly [Line<Item, Result>, Line<Item, Result>, Line<Item, Result>] = [[], [], []]
  #timer: NodeJS.Timeout | null = null
  #timerAt = 0
  #isPumping = false
  /** What has failed before and what has not take turns: both may come as fast as there is a place for them. */
  #isTurnOfFresh = false
  /** Parts and what has rested take turns, too. A turn lasts until one of its like is rejected: what goes through keeps nobody waiting for long. */
  #isTurnOfRested = false

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
    this.#line = new WaitingLine(options)
    this.#underWay = new WritesUnderWay(options)
  }

  /** How many items have not gone out yet. */
  get waiting(): number {
    return this.#line.length
  }

  /** Resolves with the answer for this item; rejects only when the write of this item alone was rejected, or all of it `ForGood`. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#line.add({ item, resolve, reject })
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

  /** All of it by one look at the clock: what does not take long yet when groups are chosen is what the timer is set for. */
  #pump(): void {
    if (this.#isIdle()) return
    const now = performance.now()
    for (let group = this.#next(now); group !== null; group = this.#next(now)) void this.#write(group, now)
    if (!this.#isIdle()) this.#lookAgain(now)
  }

  #isIdle(): boolean {
    return this.#line.length === 0 && this.#again.every(line => line.length === 0)
  }

  #next(now: number): Group<Item, Result> | null {
    const early = this.#isTurnOfFresh ? this.#fresh(now) : null
    const [first, second] = this.#isTurnOfRested ? ([2, 1] as const) : ([1, 2] as const)
    const again = () => this.#rejectedOf(0, now) ?? this.#rejectedOf(first, now) ?? this.#rejectedOf(second, now)
    const group = early ?? again() ?? this.#fresh(now)
    if (group !== null) this.#isTurnOfFresh = group.again
    return group
  }

  /** The first whose rest is over, and none of whose kin is being written: it would only wait for that. */
  #rejectedOf(trouble: Trouble, now: number): Group<Item, Result> | null {
    const line = this.#again[trouble]
    if (line.length === 0 || !this.#underWay.hasPlaceFor(trouble, now)) return null
    const held = this.#underWay.heldKins(now)
    const index = line.findIndex(({ restUntil, kins }) => restUntil <= now && !kins.some(kin => held.has(kin)))
    return index < 0 ? null : (line.splice(index, 1)[0] ?? null)
  }

  /** Another group starts beside the first only when there is a crowd, or when the first takes long. */
  #fresh(now: number): Group<Item, Result> | null {
    const { maxGroup, crowd = maxGroup, kinOf } = this.#options
    const enough = this.#underWay.hasUntroubled(now) ? crowd : 1
    if (this.#line.length < enough || !this.#underWay.hasPlaceFor(0, now)) return null
    const held = this.#underWay.heldKins(now)
    for (const group of this.#again.flat()) if (group.holdsKin) for (const kin of group.kins) held.add(kin)
    const group = this.#line.take(held)
    return group.length === 0 ? null : new Group(group, kinOf)
  }

  async #write(group: Group<Item, Result>, now: number): Promise<void> {
    const { waiting } = group
    const items = waiting.map(({ item }) => item)
    group.begin(now)
    this.#underWay.begin(group)
    try {
      const results = await this.#options.write(items, group, some => {
        group.answer(some)
        this.#pumpSoon()
      })
      waiting.forEach(({ resolve }, index) => resolve(results[index] as Result))
    } catch (error) {
      this.#rejected(group, error)
    } finally {
      this.#underWay.end(group)
      this.#pumpSoon()
    }
  }

  #rejected(group: Group<Item, Result>, error: unknown): void {
    if (group.trouble > 0) this.#isTurnOfRested = group.trouble === 1
    if (error instanceof NotYet) {
      group.rest(error.rest, performance.now())
      this.#again[group.trouble].push(group)
    } else if (error instanceof ForGood) for (const { reject } of group.waiting) reject(error.cause)
    else if (group.waiting.length === 1) group.waiting[0]?.reject(error)
    else this.#again[1].push(...group.parts())
  }

  /** One timer, while something waits: for the next write that begins to take long, or the next rest that is over. */
  #lookAgain(now: number): void {
    let at = this.#underWay.nextLongAt(now)
    const again = this.#again.flat()
    for (const { restUntil } of again) if (restUntil > now) at = Math.min(at, restUntil)
    if (at < (this.#timer === null ? Number.POSITIVE_INFINITY : this.#timerAt)) this.#setTimer(at, now)
    // A write that is under way keeps the process alive by itself.
    if (again.length > 0) this.#timer?.ref()
  }

  #setTimer(at: number, now: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timerAt = at
    this.#timer = setTimeout(
      () => {
        this.#timer = null
        this.#pump()
      },
      Math.ceil(at - now),
    ).unref()
  }
}
