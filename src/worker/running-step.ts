/** One place of a worker, and the step that runs in it. When a workflow goes on at once, its next step takes over the place. */
import type { Opening } from '../engine/openings.ts'
import type { ClaimedExecution } from '../store/records.ts'

/** Why a signal was aborted. It is the signal's `reason`. */
export type StopReason = 'canceled' | 'claim lost' | 'shutting down' | 'timed out'

export class RunningStep {
  claimed: ClaimedExecution
  /** Its report is being recorded: the claim is about to change hands in good order. */
  reporting = false
  /** Its code has been called. Until then nothing can have happened. */
  called = false
  /** Counts up with every step that runs on in the same place. */
  changes = 0
  /** The queue in which room is kept for the step that may follow. */
  keptIn: string | null = null
  /** Places that are kept for what may begin beside the step that follows. */
  places: Opening[] = []
  /** Why a resumable step should stop at its next checkpoint. */
  interruption: string | null
  #stopReason: StopReason | null = null
  /** Made when somebody asks for it: most steps never do. */
  #abort: AbortController | null = null
  #proof: { readonly reached: Promise<void>; reach(): void } | null = null

  constructor(claimed: ClaimedExecution, interruption: string | null) {
    this.claimed = claimed
    this.interruption = interruption
  }

  /** Tells the code that it should stop. */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController()
      if (this.#stopReason !== null) this.#abort.abort(this.#stopReason)
    }
    return this.#abort.signal
  }

  /** Why it was told to stop; `null`: it was not. */
  get stopReason(): StopReason | null {
    return this.#stopReason
  }

  /** The first reason counts. */
  stop(reason: StopReason): void {
    if (this.#stopReason !== null) return
    this.#stopReason = reason
    this.#abort?.abort(reason)
  }

  /** A resumable step has written a checkpoint in this run, so it is not what has ended a process before. */
  prove(): void {
    this.#proven().reach()
  }

  /** Resolves when it has been proven so. */
  get proven(): Promise<void> {
    return this.#proven().reached
  }

  #proven() {
    this.#proof ??= makeProof()
    return this.#proof
  }
}

function makeProof() {
  let reach = () => {}
  const reached = new Promise<void>(resolve => {
    reach = resolve
  })
  return { reached, reach }
}
