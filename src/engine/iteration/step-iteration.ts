/**
 * One level of an iteration, as a resumable step sees it: its own cursor, and the loops over items.
 */
import { inspect } from 'node:util'
import type { FetchPage, Iteration, NestedCursor, PageOptions, RecordSource } from '../../definition/iteration.ts'
import type { Transaction } from '../../definition/transaction.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { type Duration, toMilliseconds } from '../../primitives/duration.ts'
import type { IterationCore } from './iteration-core.ts'
import type { IterationLevel } from './iteration-level.ts'
import { goThrough, goThroughBatches, goThroughNested, goThroughPairs, goThroughRecords } from './iterators.ts'

/** How a cursor stands in the whole that is written down. */
export interface CursorPlace<Cursor> {
  whole(cursor: Cursor): unknown
  /** Tells the level around that the cursor has moved. */
  moved(cursor: Cursor): void
}

export class StepIteration<Cursor> implements Iteration<Cursor>, IterationLevel<Cursor> {
  readonly #core: IterationCore
  readonly #place: CursorPlace<Cursor>
  #cursor: Cursor | null
  #advanced = false
  #next: { readonly cursor: Cursor } | null = null
  #loops = false
  #listIsDone = false

  constructor(core: IterationCore, cursor: Cursor | null, place: CursorPlace<Cursor>) {
    this.#core = core
    this.#cursor = cursor
    this.#place = place
  }

  /** The outermost level, whose cursor is the whole. */
  static outermost<Cursor>(core: IterationCore): StepIteration<Cursor> {
    return new StepIteration(core, core.startCursor as Cursor | null, { whole: cursor => cursor, moved: () => {} })
  }

  get name(): string {
    return this.#core.name
  }

  get cursor(): Cursor | null {
    return this.#cursor
  }

  get resumed(): boolean {
    return this.#core.resumed
  }

  get advanced(): boolean {
    return this.#advanced
  }

  get completedIterations(): number {
    return this.#core.completedIterations
  }

  get description(): string {
    return `at '${this.name}', cursor ${inspect(this.#cursor, { breakLength: Number.POSITIVE_INFINITY })}`
  }

  set(cursor: Cursor): Promise<void> {
    return heard(this.#move(cursor, 1))
  }

  advance(options: { readonly start?: number } = {}): Promise<void> {
    return heard(this.#advance(options.start))
  }

  checkpoint(): Promise<void> {
    return heard(this.#core.checkpoint())
  }

  skipTo(cursor: Cursor, options: { readonly wait?: Duration } = {}): Promise<never> {
    return heard(this.#skipTo(cursor, options))
  }

  suspend(options: { readonly wait?: Duration } = {}): Promise<never> {
    return heard(this.#suspend(options))
  }

  over<Item>(items: Iterable<Item>): AsyncIterable<Item>
  over<Item>(items: Iterable<Item>, body: (item: Item) => unknown): Promise<void>
  over<Item>(items: Iterable<Item>, body?: (item: Item) => unknown): AsyncIterable<Item> | Promise<void> {
    if (this.#listIsDone) {
      throw new InvalidArgumentError(
        'A second list would begin at the index where the first one has ended. Use a step for each, or `iter.nested(...)`.',
      )
    }
    const all = goThrough(this as unknown as IterationLevel<number>, items, () => {
      this.#listIsDone = true
    })
    return body === undefined ? all : forEach(all, body)
  }

  records<Item>(
    from: RecordSource<Item, Cursor> | FetchPage<Item, Cursor>,
    cursorOf?: ((item: Item) => Cursor) | PageOptions,
    options?: PageOptions,
  ): AsyncIterable<Item> {
    return goThroughRecords(this, sourceFrom(from, cursorOf), sizeFrom(cursorOf, options))
  }

  batches<Item>(
    from: RecordSource<Item, Cursor> | FetchPage<Item, Cursor>,
    cursorOf?: ((item: Item) => Cursor) | PageOptions,
    options?: PageOptions,
  ): AsyncIterable<readonly Item[]> {
    return goThroughBatches(this, sourceFrom(from, cursorOf), sizeFrom(cursorOf, options))
  }

  pairs<Item>(source: Parameters<Iteration<Cursor>['pairs']>[0]): AsyncIterable<Item> {
    return goThroughPairs(this, source) as AsyncIterable<Item>
  }

  nested<Item, Outer, Inner>(
    fetch: FetchPage<Item, Outer>,
    cursorOf: (item: Item) => Outer,
    options?: PageOptions,
  ): AsyncIterable<readonly [Item, Iteration<Inner>]> {
    const own = this as unknown as IterationLevel<NestedCursor<Outer, Inner>>
    return goThroughNested(own, { fetch, cursorOf }, sizeFrom(options, undefined))
  }

  progress({ total }: { readonly total: number }): void {
    if (!Number.isSafeInteger(total) || total < 0) {
      throw new InvalidArgumentError(`The total of a progress must be a whole number from 0, not ${String(total)}.`)
    }
    this.#core.noteTotal(total)
  }

  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return heard(this.#core.transaction(work))
  }

  enter(): void {
    if (this.#loops) {
      throw new InvalidArgumentError(
        'Two loops over one iteration would share one cursor. For a loop in a loop use `iter.nested(...)`.',
      )
    }
    this.#loops = true
  }

  leave(): void {
    this.#loops = false
    if (this.#next === null) return
    this.#next = null
    this.#core.leave()
  }

  begin(cursor: Cursor, count = 1): void {
    this.#core.begin(this.#place.whole(cursor), count)
    this.#next = { cursor }
  }

  async done(): Promise<void> {
    const next = this.#next
    this.#next = null
    this.#core.noteDone()
    if (next) this.#take(next.cursor)
    await this.#core.settle()
  }

  inner<Inner>(cursor: Inner | null, whole: (cursor: Inner) => Cursor): Iteration<Inner> {
    return new StepIteration<Inner>(this.#core, cursor, {
      whole: inner => this.#place.whole(whole(inner)),
      moved: inner => this.#take(whole(inner)),
    })
  }

  moveOn(cursor: Cursor): Promise<void> {
    return this.#move(cursor, 0)
  }

  async #move(cursor: Cursor, count: 0 | 1): Promise<void> {
    this.#core.note(this.#place.whole(cursor), count)
    this.#take(cursor)
    await this.#core.settle()
  }

  async #advance(start: number | undefined): Promise<void> {
    const current = this.#cursor ?? start
    if (typeof current !== 'number' || !Number.isSafeInteger(current)) {
      throw new InvalidArgumentError(
        `advance() needs a whole number to go on from, not ${String(current)}. Give it one: \`iter.advance({ start: 0 })\`, or use \`iter.set(...)\`.`,
      )
    }
    await this.#move((current + 1) as Cursor, 1)
  }

  async #skipTo(cursor: Cursor, options: { readonly wait?: Duration }): Promise<never> {
    const waitMs = waitFrom(options, 'skipTo')
    this.#core.note(this.#place.whole(cursor), 1)
    this.#take(cursor)
    return this.#core.stop('skipped ahead', waitMs)
  }

  async #suspend(options: { readonly wait?: Duration }): Promise<never> {
    return this.#core.stop('suspended by the step', waitFrom(options, 'suspend'))
  }

  #take(cursor: Cursor): void {
    this.#cursor = cursor
    this.#advanced = true
    this.#place.moved(cursor)
  }
}

/** A call that the step does not wait for must not end the process when it rejects: what it meant is recorded already. */
function heard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

function waitFrom({ wait }: { readonly wait?: Duration }, verb: string): number {
  return wait === undefined ? 0 : toMilliseconds(wait, `The wait of ${verb}`)
}

function sourceFrom<Item, Cursor>(
  from: RecordSource<Item, Cursor> | FetchPage<Item, Cursor>,
  cursorOf: unknown,
): RecordSource<Item, Cursor> {
  if (typeof from !== 'function') return from
  if (typeof cursorOf !== 'function') {
    throw new InvalidArgumentError(
      'Give a function that tells the cursor of a record: `iter.records(fetch, r => r.id)`.',
    )
  }
  return { fetch: from, cursorOf: cursorOf as (item: Item) => Cursor }
}

function sizeFrom(second: unknown, third: PageOptions | undefined): number {
  const options = third ?? (typeof second === 'object' && second !== null ? (second as PageOptions) : {})
  const { size = 100 } = options
  if (Number.isSafeInteger(size) && size > 0) return size
  throw new InvalidArgumentError(`The size of a page must be a whole number above 0, not ${String(size)}.`)
}

async function forEach<Item>(items: AsyncIterable<Item>, body: (item: Item) => unknown): Promise<void> {
  for await (const item of items) await body(item)
}
