/**
 * Takes over what dead workers have left: first whatever is free, waiting for nobody, so that a workflow that somebody keeps locked holds
 * up no other; then what was passed over, each waiting its turn, because a busy workflow is hardly ever found free.
 */
import type { Engine } from '../engine/engine.ts'
import { failureOf, type Leftovers, noLeftovers, recover, takeOver } from '../engine/take-over.ts'
import type { ErrorListener } from './error-listener.ts'
import { Turns } from './turns.ts'

export interface RecoveryParts {
  readonly engine: Engine
  readonly onError: Pick<ErrorListener, 'report'>
  handlers(): readonly string[]
}

/** So many rows are looked for at once. */
const lookLimit = 100
/** So many workflows are left alone in one look; beyond that it ends. */
const mostLeft = 1000
/** All that one worker may have left of one workflow, most likely. */
const turnLimit = 1000

export class Recovery {
  readonly #parts: RecoveryParts
  readonly #turns = new Turns()
  #taking: Promise<void> | null = null

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  /** Takes over what is free. What fails is reported, and keeps nothing else from being taken over. */
  async takeFree(stop: AbortSignal): Promise<void> {
    const { engine, handlers } = this.#parts
    const left = noLeftovers()
    const isMore = async () => (await recover(engine, handlers(), lookLimit, left)) === lookLimit
    try {
      while (!stop.aborted && left.passed.size + left.failed.size < mostLeft && (await isMore()));
    } finally {
      this.#report(left)
    }
    this.#turns.note(left.passed)
  }

  /** Waits for what was passed over, one workflow after the other. */
  takeTurns(stop: AbortSignal): Promise<void> {
    this.#taking ??= this.#turns
      .takeEach(id => this.#takeTurn(id), stop)
      .finally(() => {
        this.#taking = null
      })
    return this.#taking
  }

  /** False when it has waited in vain. Most of the time a colleague had it locked, and has left nothing. */
  async #takeTurn(id: string): Promise<boolean> {
    const { engine, handlers } = this.#parts
    const rows = await engine.store.findAbandoned(handlers(), turnLimit, { among: [id] })
    const left = await takeOver(engine, rows, { waits: true })
    this.#report(left)
    return !left.passed.has(id)
  }

  #report(left: Leftovers): void {
    const failure = failureOf(left)
    if (failure !== null) this.#parts.onError.report(failure, null)
  }
}
