/**
 * Where a worker's look through the lanes of each source has come to. One claim looks at some of them only, so one that has found
 * nothing says little: this knows whether the claims since a round began have come past every lane. Kept by the worker.
 */

/** What lanes belong to. */
interface Source {
  readonly queue: string
  readonly handler: string
}

interface Place {
  /** The lane behind which the next look begins; empty: at the first. */
  readonly after: string
  /** How often the end must be reached until every lane was looked at in this round. */
  readonly endsLeft: number
}

const atTheFirst: Place = { after: '', endsLeft: 1 }

export class LaneLooks {
  readonly #places = new Map<string, Place>()
  #isUnderWay = false

  /** Behind which lane to go on. */
  after(source: Source): string {
    return this.#placeOf(source).after
  }

  /** A claim has come to this lane; `null`: to the end, so that the next begins at the first again. */
  cameTo(source: Source, lane: string | null): void {
    const { endsLeft } = this.#placeOf(source)
    const left = lane === null ? Math.max(0, endsLeft - 1) : endsLeft
    this.#places.set(keyOf(source), { after: lane ?? '', endsLeft: left })
    this.#isUnderWay ||= left > 0
  }

  /** Every lane is to be looked at once more: there may be something where there was nothing. */
  beginRound(): void {
    for (const [key, { after }] of this.#places) this.#places.set(key, { after, endsLeft: after === '' ? 1 : 2 })
  }

  /** Said before the claims of one look; only where these come to is asked for afterwards. */
  beginLook(): void {
    this.#isUnderWay = false
  }

  /** Of the sources of the last look, one has lanes that were not looked at in this round. */
  get isUnderWay(): boolean {
    return this.#isUnderWay
  }

  #placeOf(source: Source): Place {
    return this.#places.get(keyOf(source)) ?? atTheFirst
  }
}

function keyOf({ queue, handler }: Source): string {
  return JSON.stringify([queue, handler])
}
