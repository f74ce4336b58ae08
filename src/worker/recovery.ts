/**
 * Takes over what dead workers have left: first whatever is free, waiting for nobody, so that a workflow that somebody keeps locked holds
 * up no other; then what was passed over, each waiting its turn, because a busy workflow is hardly ever found free.
 */
import type { Engine } from '../engine/engine.ts'
import { failureOf, type Leftovers, noLeftovers, recover, takeOver } from '../engine/take-over.ts'
import type { ErrorListener } from './error-listener.ts'

export interface RecoveryParts {
  readonly engine: Engine
  readonly onError: Pick<ErrorListener, 'report'>
  handlers(): readonly string[]
}

/** So many rows are looked for at once. */
const lookLimit = 100
/** So many workflows are left alone in one look; beyond that it ends. */
const mostLeft = 1000
/** So many turns may come to nothing, with a moment of waiting each; then it goes on at the next look. */
const mostInVain = 2
/** All that one worker may have left of one workflow, most likely. */
const turnLimit = 1000

export class Recovery {
  readonly #parts: RecoveryParts
  /** Of the workflows that were passed over by the last look: how often each has waited in vain. */
  #passed: ReadonlyMap<string, number> = new Map()
  #turns: Promise<void> | null = null

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
    this.#passed = new Map([...left.passed].map(id => [id, this.#passed.get(id) ?? 0]))
  }

  /**
   * Waits for what was passed over, one workflow after the other. Who has waited in vain comes after those who have not; among equals it goes
   * by lot, because whoever begins anew with every look, as `runDue` does, knows nothing of the last one.
   */
  takeTurns(stop: AbortSignal): Promise<void> {
    this.#turns ??= this.#takeTurns(stop).finally(() => {
      this.#turns = null
    })
    return this.#turns
  }

  async #takeTurns(stop: AbortSignal): Promise<void> {
    const turns = [...this.#passed].map(([id, times]) => ({ id, times, lot: Math.random() }))
    turns.sort((one, other) => one.times - other.times || one.lot - other.lot)
    let inVain = 0
    for (const { id } of turns) {
      if (stop.aborted || inVain === mostInVain) return
      if (await this.#takeTurn(id)) continue
      inVain++
      this.#passed = new Map(this.#passed).set(id, (this.#passed.get(id) ?? 0) + 1)
    }
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
