/**
 * A connection of its own that listens. It may die without a word, so it is asked from time to time whether it still hears
 * what is said through another one; if not, it is set up again.
 */
import type pg from 'pg'
import { jittered, pauseFor } from '../../primitives/pause-for.ts'
import { randomId } from '../../primitives/random-id.ts'

export interface LineParts {
  connect(): pg.Client
  readonly channel: string
  /** Says something on the channel, by another connection. */
  say(text: string): Promise<unknown>
  heard(text: string): void
  /** It listens now; what was said before is lost. */
  opened(): void
}

/** Whoever is there for moments only need not open a connection for it. */
const settleMs = 200
const usualTimes = { checkMs: 30_000, answerMs: 5_000 }
const retryMs = 1_000
/** A server that is gone does not say good-bye. */
const farewellMs = 1_000

export class HintLine {
  readonly #parts: LineParts
  readonly #closed = new AbortController()
  readonly #times: typeof usualTimes
  #client: pg.Client | null = null

  constructor(parts: LineParts, times = usualTimes) {
    this.#parts = parts
    this.#times = times
    void this.#keepOpen()
  }

  close(): void {
    this.#closed.abort()
    if (this.#client !== null) hangUp(this.#client)
  }

  async #keepOpen(): Promise<void> {
    const { signal } = this.#closed
    await pauseFor(settleMs, signal)
    while (!signal.aborted) {
      await this.#listen().catch(() => {})
      await pauseFor(jittered(retryMs, 0.5), signal)
    }
  }

  /** Resolves or rejects when the connection is of no use any more. */
  async #listen(): Promise<void> {
    const { connect, channel, heard, opened } = this.#parts
    const client = connect()
    const over = new AbortController()
    const broken = new Promise<void>(resolve => {
      client.on('error', () => resolve())
      client.on('end', () => resolve())
    })
    let awaited: { readonly text: string; came(): void } | null = null
    client.on('notification', ({ payload = '' }) => {
      if (payload === awaited?.text) awaited.came()
      heard(payload)
    })
    const hears = (text: string) =>
      new Promise<boolean>(resolve => {
        awaited = { text, came: () => resolve(true) }
      })
    this.#client = client
    try {
      await client.connect()
      await client.query(`listen ${channel}`)
      opened()
      await Promise.race([broken, this.#untilDeaf(hears, over.signal)])
    } finally {
      over.abort()
      this.#client = null
      hangUp(client)
    }
  }

  /** Resolves when what is said is not heard. A database that cannot be reached says nothing about the line. */
  async #untilDeaf(hears: (text: string) => Promise<boolean>, over: AbortSignal): Promise<void> {
    const { checkMs, answerMs } = this.#times
    for (;;) {
      await pauseFor(jittered(checkMs, 0.2), over)
      if (over.aborted) return
      const text = `check ${randomId(8)}`
      const answer = hears(text)
      const isSaid = await this.#parts.say(text).then(
        () => true,
        () => false,
      )
      if (isSaid && !(await Promise.race([answer, pauseFor(answerMs, over).then(() => false)]))) return
    }
  }
}

function hangUp(client: pg.Client): void {
  client.end().catch(() => {})
  setTimeout(() => client.connection.stream.destroy(), farewellMs).unref()
}
