/** Hints by `NOTIFY`, never within a transaction that does anything else, and by one connection that listens. */
import type pg from 'pg'
import { Gathering } from '../../primitives/gathering.ts'
import { randomId } from '../../primitives/random-id.ts'
import type { Hint, Hints } from '../hints.ts'
import { HintLine } from './hint-line.ts'

// Nothing is lost with a hint, so nobody waits until it is on the disk.
const notify = `select set_config('synchronous_commit', 'off', true), pg_notify($1, word) from unnest($2::text[]) word`

/** Between two that are sent, twice as long each time that several have come meanwhile: all who notify pass through one lock of the server. */
const shortestMs = 2
const longestMs = 40
/** Whoever starts one after the other is not kept waiting, but sending must not take more than this part of the time. */
const largestShare = 0.2

const hints: ReadonlySet<string> = new Set<Hint>(['work', 'codeless', 'stop'])

export interface HintParts {
  readonly pool: pg.Pool
  connect(): pg.Client
  readonly channel: string
}

export class PostgresHints implements Hints {
  readonly #parts: HintParts
  /** Its own words are not news. */
  readonly #id = randomId(4)
  readonly #listeners = new Set<(hint: Hint) => void>()
  readonly #sending: Gathering<Hint>
  /** How many have come since the last were sent. */
  #came = 0
  #line: HintLine | null = null

  constructor(parts: HintParts) {
    this.#parts = parts
    let restMs = shortestMs
    this.#sending = new Gathering(async hints => {
      restMs = this.#came > 1 ? Math.min(2 * restMs, longestMs) : shortestMs
      this.#came = 0
      const begun = performance.now()
      // What is not sent is lost: it was a hint.
      await this.#say([...hints].map(hint => `${hint} ${this.#id}`)).catch(() => {})
      const took = performance.now() - begun
      return Math.min(Math.max(restMs, took / largestShare), longestMs)
    })
  }

  send(hint: Hint): void {
    this.#came++
    this.#sending.tell(hint)
  }

  listen(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    this.#line ??= this.#open()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#line?.close()
      this.#line = null
    }
  }

  #open(): HintLine {
    const { connect, channel } = this.#parts
    const tell = (hint: Hint) => {
      for (const listener of this.#listeners) listener(hint)
    }
    return new HintLine({
      connect,
      channel,
      say: text => this.#say([text]),
      opened: () => tell('codeless'),
      heard: text => {
        const [hint = '', from] = text.split(' ')
        if (hints.has(hint) && from !== this.#id) tell(hint as Hint)
      },
    })
  }

  #say(words: readonly string[]): Promise<unknown> {
    return this.#parts.pool.query(notify, [this.#parts.channel, words])
  }
}
