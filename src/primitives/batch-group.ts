/**
 * What goes out together in one write, and what becomes of it when that is rejected: parts of it, the whole of it after a rest, or
 * nothing more.
 */
import { jittered } from './pause-for.ts'

export interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** What a write is told of its group. */
export interface Attempt {
  /** A write of these that was rejected may have arrived all the same. */
  readonly again: boolean
  /** It was taken out of a larger group that was rejected. */
  readonly isPart: boolean
  /** The kinds of things that it is about, where items have kins. */
  readonly kins: readonly string[]
  /** How often this very group has rested. */
  readonly rests: number
  /** When it, or the group that it was a part of, went out for the first time, by the clock of `performance`. */
  readonly firstAt: number
  /** When this write of it has begun. */
  readonly since: number
}

export interface Rest {
  readonly restMs: number
  /** Others of its kin would only meet the same, so they wait until it is through. */
  readonly ofKin: boolean
  /** What it has met is over by then. It goes out again as if nothing had been wrong with it. */
  readonly isOver?: boolean
}

/** Rejects a write whose group is to go out again as it is. Until then it takes no place from others. */
export class NotYet extends Error {
  readonly rest: Rest

  constructor(cause: unknown, rest: Rest) {
    super('It is tried again.', { cause })
    this.rest = rest
  }
}

/** Rejects all that a write was about, with its cause: none of it is tried again. */
export class ForGood extends Error {
  constructor(cause: unknown) {
    super('None of it is tried again.', { cause })
  }
}

/** How long a group rests that has rested so often: longer each time, and never less than that, so that nobody is hurried. */
export function growingRest({ rests }: Pick<Attempt, 'rests'>, longestMs: number): number {
  return jittered(Math.min(100 * 2 ** rests, longestMs), 0.5)
}

/** How much has gone wrong with a group: nothing, it is a part of one that was rejected, or it has rested for what may go on. */
export type Trouble = 0 | 1 | 2

type KinOf<Item> = ((item: Item) => string) | undefined

export class Group<Item, Result> implements Attempt {
  /** What has no answer yet. */
  waiting: readonly Waiting<Item, Result>[]
  readonly #kinOf: KinOf<Item>
  #kins: readonly string[] | null = null
  #hasStruggled = false
  readonly isPart: boolean
  rests = 0
  firstAt: number
  since = 0
  restUntil = 0
  holdsKin = false

  /** `whole`: the group that it is a part of. */
  constructor(waiting: readonly Waiting<Item, Result>[], kinOf: KinOf<Item>, whole: Attempt | null = null) {
    this.waiting = waiting
    this.#kinOf = kinOf
    this.isPart = whole !== null
    this.firstAt = whole?.firstAt ?? 0
  }

  get trouble(): Trouble {
    if (this.#hasStruggled) return 2
    return this.isPart ? 1 : 0
  }

  get again(): boolean {
    return this.isPart || this.rests > 0
  }

  /** Asked for only where something goes wrong or takes long. */
  get kins(): readonly string[] {
    this.#kins ??= this.#kinOf === undefined ? [] : [...unitsOf(this.waiting, this.#kinOf).keys()]
    return this.#kins
  }

  begin(now: number): void {
    if (!this.again) this.firstAt = now
    this.since = now
  }

  /** Some of it is through, whatever becomes of the rest: that alone is made again, and is what others of its kin wait for. */
  answer(results: ReadonlyMap<Item, Result>): void {
    for (const { item, resolve } of this.waiting) if (results.has(item)) resolve(results.get(item) as Result)
    this.waiting = this.waiting.filter(({ item }) => !results.has(item))
    this.#kins = null
  }

  rest({ restMs, ofKin, isOver = false }: Rest, now: number): void {
    this.rests++
    this.restUntil = now + restMs
    this.holdsKin = ofKin
    if (!isOver) this.#hasStruggled = true
  }

  /**
   * What one item fails by others of its kin may fail by as well, so those stay together as long as there are others. So many parts that two rejections
   * in a row set nearly all of a group apart: each of them may come after a long wait.
   */
  parts(): Group<Item, Result>[] {
    const kins = this.#kinOf === undefined ? [] : [...unitsOf(this.waiting, this.#kinOf).values()]
    const units = kins.length > 1 ? kins : this.waiting.map(waiting => [waiting])
    const size = Math.ceil(units.length / mostParts)
    const parts: Group<Item, Result>[] = []
    for (let index = 0; index < units.length; index += size) {
      parts.push(new Group(units.slice(index, index + size).flat(), this.#kinOf, this))
    }
    return parts
  }
}

const mostParts = 32

function unitsOf<Item, Result>(
  all: readonly Waiting<Item, Result>[],
  kinOf: (item: Item) => string,
): Map<string, Waiting<Item, Result>[]> {
  const units = new Map<string, Waiting<Item, Result>[]>()
  for (const waiting of all) {
    const kin = kinOf(waiting.item)
    const unit = units.get(kin)
    if (unit) unit.push(waiting)
    else units.set(kin, [waiting])
  }
  return units
}
