/**
 * Looks now and then for work that is due and that no worker which is alive has code for, and says so: once it was seen
 * twice, and then no more than once a minute for each, so that a deploy leaves no line and a mistake no flood.
 */
import type { Store } from '../store/store.ts'

/** How often to look. */
export const lookMs = 15_000
/** How long to keep quiet about what was told. */
export const quietMs = 60_000

export interface Unserved {
  readonly queue: string
  readonly handler: string
}

export class UnservedNotices {
  readonly #store: Pick<Store, 'findUnserved'>
  /** When each was told last; before that, when it was first seen. */
  #known: ReadonlyMap<string, { readonly toldAt: number | null }> = new Map()
  #lookedAt: number

  constructor(store: Pick<Store, 'findUnserved'>, now: number) {
    this.#store = store
    this.#lookedAt = now
  }

  /** What is to be told now. `now` is the clock of this process, in milliseconds. */
  async look(now: number): Promise<Unserved[]> {
    if (now - this.#lookedAt < lookMs) return []
    this.#lookedAt = now
    const found = await this.#store.findUnserved('')
    const due = found.filter(each => this.#isDue(each, now))
    this.#known = new Map(found.map(each => [keyOf(each), this.#remember(each, due.includes(each) ? now : null)]))
    return due
  }

  #isDue(each: Unserved, now: number): boolean {
    const known = this.#known.get(keyOf(each))
    return known !== undefined && (known.toldAt === null || now - known.toldAt >= quietMs)
  }

  #remember(each: Unserved, toldAt: number | null): { readonly toldAt: number | null } {
    return { toldAt: toldAt ?? this.#known.get(keyOf(each))?.toldAt ?? null }
  }
}

function keyOf({ queue, handler }: Unserved): string {
  return JSON.stringify([queue, handler])
}
