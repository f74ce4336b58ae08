/**
 * Sends hints at once when none was sent lately, and gathers those that come while the last ones are under way or just sent:
 * each is a small transaction, and the commits of all who notify pass through one lock of the server.
 */
import { setTimeout as rest } from 'node:timers/promises'
import type { Hint } from '../hints.ts'

export const restMs = 20

export class HintSender {
  readonly #send: (hints: readonly Hint[]) => Promise<unknown>
  readonly #waiting = new Set<Hint>()
  #isBusy = false

  /** What is not sent is lost: it was a hint. */
  constructor(send: (hints: readonly Hint[]) => Promise<unknown>) {
    this.#send = send
  }

  send(hint: Hint): void {
    this.#waiting.add(hint)
    if (!this.#isBusy) void this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    this.#isBusy = true
    while (this.#waiting.size > 0) {
      const hints = [...this.#waiting]
      this.#waiting.clear()
      await this.#send(hints).catch(() => {})
      await rest(restMs, undefined, { ref: false })
    }
    this.#isBusy = false
  }
}
