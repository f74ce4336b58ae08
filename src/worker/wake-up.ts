/**
 * A loop's bell: it can be rung at any time, and a ring that comes while the loop is busy is not lost.
 */
import { callAfter } from '../primitives/call-after.ts'

export class WakeUp {
  #rung = false
  #wake: (() => void) | null = null

  ring(): void {
    this.#rung = true
    this.#wake?.()
  }

  /** Waits for a ring, or at most so long. */
  async wait(ms: number): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>(resolve => {
        const cancel = callAfter(ms, resolve)
        this.#wake = () => {
          cancel()
          resolve()
        }
      })
    }
    this.#wake = null
    this.#rung = false
  }
}
