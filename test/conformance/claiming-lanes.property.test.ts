/**
 * Random lanes, priorities, due times and limits, among hundreds of lanes that only wait: a worker that claims until a round has
 * found nothing has been given everything that there is room for, and nothing else. A failing run is printed and can be replayed.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LaneLooks } from '../../src/store/lane-looks.ts'
import type { StoredLimits } from '../../src/store/limit-store.ts'
import type { ClaimedExecution } from '../../src/store/records.ts'
import type { ClaimRequest, Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { finishedChange, makeOrder, openTestStore, registerWorker, startSome } from '../support/open-store.ts'

const handler = 'Keyed'
const queue = 'keyed'
/** More than one claim looks at, so that some rounds take several. */
const waiting = 430
const laneAt = (place: number) => `lane ${String(place).padStart(3, '0')}`

interface Row {
  /** Where among the lanes that wait; `null`: in the plain line. */
  readonly place: number | null
  readonly priority: number
  readonly kind: 'due' | 'later' | 'newer code'
}

interface Play {
  readonly rows: readonly Row[]
  readonly ofQueue: number | null
  readonly ofClass: number | null
  readonly perKey: StoredLimits
  /** Places of the worker, and which of its claims it brings to an end at once. */
  readonly places: number
  readonly ends: readonly boolean[]
}

const few = (max: number) => fc.option(fc.integer({ min: 1, max }))

/** Few different places, so that some lanes have several rows. */
const anyRow: fc.Arbitrary<Row> = fc.record({
  place: fc.option(fc.constantFrom(0, 60, 120, 199, 200, 310, 429), { freq: 8 }),
  priority: fc.constantFrom(0, 0, 50, 100),
  kind: fc.constantFrom('due', 'due', 'due', 'later', 'newer code'),
})

const anyPlay: fc.Arbitrary<Play> = fc.record({
  rows: fc.array(anyRow, { maxLength: 14 }),
  ofQueue: few(6),
  ofClass: few(6),
  perKey: fc.record({
    concurrency: few(2),
    rate: fc.option(fc.record({ limit: fc.integer({ min: 1, max: 3 }), perMs: fc.constant(3_600_000) })),
  }),
  places: fc.integer({ min: 1, max: 5 }),
  ends: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
})

forEachDatabase('claims from lanes', database => {
  let store: Store
  let round = 0
  const lanes = new LaneLooks()

  beforeAll(async () => {
    store = await openTestStore(database)
    await registerWorker(store, 'w')
    // Some stand early in line though they wait, some are due for newer code, some just wait.
    const waits = [{ priority: 80, due: { inMs: 150_000 } }, { generation: 2 }, { due: { inMs: 86_400_000 } }]
    const orders = Array.from({ length: waiting }, (_, place) => {
      const lane = laneAt(place)
      return makeOrder(store, { lane, first: { handler, queue, lane, ...waits[place % waits.length] } })
    })
    await store.start(await Promise.all(orders))
  })
  afterAll(() => store.close())

  /** The ids of the rows, in their order. */
  async function begin({ rows, ofQueue, ofClass, perKey }: Play): Promise<string[]> {
    round++
    await store.limits.declare([
      { scope: 'queue', name: queue, limits: { concurrency: ofQueue, rate: null }, perKey: null },
      { scope: 'class', name: handler, limits: { concurrency: ofClass, rate: null }, perKey },
    ])
    const ids: string[] = []
    for (const { place, priority, kind } of rows) {
      const lane = place === null ? '' : `${laneAt(place)} of ${round}`
      const when = { due: { inMs: kind === 'later' ? 3_600_000 : 0 }, generation: kind === 'newer code' ? 2 : 1 }
      ids.push(...(await startSome(store, 1, { lane, first: { handler, queue, lane, priority, ...when } })))
    }
    return ids
  }

  const end = (ids: readonly string[]) =>
    store.change(
      ids.map(workflowId => ({ workflowId })),
      finishedChange,
    )

  function claim(limit: number): Promise<ClaimedExecution[]> {
    const keys = [
      { scope: 'queue', name: queue },
      { scope: 'class', name: handler },
    ] as const
    const limited = { keys, classes: new Map([[handler, handler]]), laned: new Set([handler]), lanes }
    const request: ClaimRequest = { workerId: 'w', sources: [{ queue, handler, generation: 1 }], limit, limited }
    lanes.beginLook()
    return store.claim(request)
  }

  /** As a worker does that works off what is due: until a round has found nothing. */
  async function claimAll(play: Play, seen: Seen): Promise<number> {
    lanes.beginRound()
    for (let claims = 1; ; claims++) {
      const claimed = await claim(play.places)
      const ids = claimed.map(({ workflow }) => workflow.id)
      seen.begin(ids)
      if (play.ends[claims % play.ends.length]) {
        await end(ids)
        seen.end(ids)
      }
      if (claimed.length > 0) lanes.beginRound()
      else if (!lanes.isUnderWay) return claims
    }
  }

  it('give a worker all that there is room for, within a bounded number of claims, and nothing else', async () => {
    const property = fc.asyncProperty(anyPlay, async play => {
      const ids = await begin(play)
      const seen = new Seen(play, ids)
      try {
        const claims = await claimAll(play, seen)
        expect(seen.mistakes).toEqual([])
        expect(seen.left()).toEqual([])
        // Past all lanes it takes four claims at most, wherever they begin; the last round goes on from there to the end.
        expect(claims).toBeLessThanOrEqual(4 * play.rows.length + 6)
      } finally {
        await end(ids.filter(id => !seen.hasEnded(id)))
      }
    })
    await fc.assert(property, { numRuns: 40, interruptAfterTimeLimit: 5000 })
  })
})

/** What has begun and ended, counted beside the database. */
class Seen {
  readonly mistakes: string[] = []
  readonly #play: Play
  readonly #ids: readonly string[]
  readonly #begun = new Set<string>()
  readonly #ended = new Set<string>()

  constructor(play: Play, ids: readonly string[]) {
    this.#play = play
    this.#ids = ids
  }

  begin(ids: readonly string[]): void {
    for (const id of ids) {
      const row = this.#rowOf(id)
      if (row?.kind !== 'due' || this.#begun.has(id))
        this.mistakes.push(`${id}, ${row?.kind ?? 'unknown'}, was claimed`)
      else if (!this.#hasRoom(row)) this.mistakes.push(`${id} was claimed without room`)
      this.#begun.add(id)
    }
  }

  end(ids: readonly string[]): void {
    for (const id of ids) this.#ended.add(id)
  }

  hasEnded(id: string): boolean {
    return this.#ended.has(id)
  }

  /** What could run and was not claimed. */
  left(): string[] {
    return this.#ids.filter(id => {
      const row = this.#rowOf(id)
      return row?.kind === 'due' && !this.#begun.has(id) && this.#hasRoom(row)
    })
  }

  #rowOf(id: string): Row | undefined {
    return this.#play.rows[this.#ids.indexOf(id)]
  }

  #hasRoom({ place }: Row): boolean {
    const { ofQueue, ofClass, perKey } = this.#play
    const begun = [...this.#begun]
    const running = begun.filter(id => !this.#ended.has(id))
    const inLane = (id: string) => this.#rowOf(id)?.place === place
    const most = Math.min(ofQueue ?? Infinity, ofClass ?? Infinity)
    if (running.length >= most) return false
    if (place === null) return true
    return (
      running.filter(inLane).length < (perKey.concurrency ?? Infinity) &&
      begun.filter(inLane).length < (perKey.rate?.limit ?? Infinity)
    )
  }
}
