/**
 * What this worker runs right now, and how it is told to stop.
 */
import type { ActiveExecution, ClaimedExecution } from '../store/records.ts'
import type { HeldExecution } from '../store/store.ts'
import { RunningStep, type StopReason } from './running-step.ts'

/** An answer is not on the way for longer than it takes to lose so many others. */
const mostAdopted = 10_000

export class RunningSteps {
  readonly #steps = new Set<RunningStep>()
  readonly #perQueue = new Map<string, number>()
  readonly #perWorkflow = new Map<string, number>()
  /** Claims that were taken up without their answer, which may still come. The oldest first. */
  readonly #adopted = new Map<string, number>()
  /** What is here since somebody began to look at what the worker holds. */
  #met: Set<string> | null = null
  /** Why all should stop, also those that begin only now. */
  #interruption: StopReason | null = null
  #onFree: ((queue: string) => void) | null = null
  #kept = 0

  /** With the places that are kept. */
  get size(): number {
    return this.#steps.size + this.#kept
  }

  /** Keeps a place for a step that is about to be the worker's. Returns how to give it up, which may be said again. */
  keepPlace(queue: string): () => void {
    this.#kept++
    this.#count(queue, 1)
    let kept = true
    return () => {
      if (!kept) return
      kept = false
      this.#kept--
      this.#count(queue, -1)
    }
  }

  /** How many run in a queue, with the room that is kept there. */
  inQueue(queue: string): number {
    return this.#perQueue.get(queue) ?? 0
  }

  /** Whether a step of the workflow runs here. */
  runs(workflowId: string): boolean {
    return this.#perWorkflow.has(workflowId)
  }

  ids(): Set<string> {
    return new Set([...this.#steps].map(step => step.claimed.execution.id))
  }

  /**
   * Takes up what a look at the worker's rows has found and what was not here at any time since the look began: what came
   * and ended meanwhile may be among them. The answer to its claim may still come, and is known then.
   */
  async adopt(look: () => Promise<readonly ClaimedExecution[]>, perform: (claimed: ClaimedExecution) => void) {
    const met = this.ids()
    this.#met = met
    try {
      for (const claimed of await look()) {
        const { id, fence, startMark } = claimed.execution
        // Its code may have been called, and must not be called twice: that is for a takeover to say.
        if (met.has(id) || startMark === true) continue
        perform(claimed)
        this.#adopted.set(id, fence)
      }
    } finally {
      this.#met = null
    }
    for (const id of this.#adopted.keys()) {
      if (this.#adopted.size <= mostAdopted) break
      this.#adopted.delete(id)
    }
  }

  /** This very claim was taken up without its answer: whoever gets that answer need not run it. */
  wasAdopted({ id, fence }: ActiveExecution): boolean {
    return this.#adopted.size > 0 && this.#adopted.get(id) === fence
  }

  all(): readonly RunningStep[] {
    return [...this.#steps]
  }

  add(claimed: ClaimedExecution): RunningStep {
    const step = new RunningStep(claimed, this.#interruption)
    this.#steps.add(step)
    this.#met?.add(claimed.execution.id)
    this.#count(claimed.execution.queue, 1)
    addTo(this.#perWorkflow, claimed.workflow.id, 1)
    return step
  }

  /** The same place goes on with the next step. A fresh signal is not needed: it was not aborted. */
  goOn(step: RunningStep, next: ClaimedExecution): void {
    this.#giveUpRoom(step)
    this.#count(step.claimed.execution.queue, -1)
    this.#count(next.execution.queue, 1)
    this.#met?.add(next.execution.id)
    step.claimed = next
    step.interruption = this.#interruption
    step.reporting = false
    step.called = false
    step.changes++
  }

  remove(step: RunningStep): void {
    this.#giveUpRoom(step)
    this.#steps.delete(step)
    addTo(this.#perWorkflow, step.claimed.workflow.id, -1)
    this.#count(step.claimed.execution.queue, -1)
    this.#onFree?.(step.claimed.execution.queue)
  }

  /** Keeps room for the step that may follow, until the answer is there. In its own queue a step leaves its place to it. */
  keepRoom(step: RunningStep, queue: string, limit: number | null): boolean {
    this.#giveUpRoom(step)
    if (queue === step.claimed.execution.queue) return true
    if (limit !== null && this.inQueue(queue) >= limit) return false
    step.keptIn = queue
    this.#count(queue, 1)
    return true
  }

  /** Keeps room for what is being claimed, so that no step runs on into it meanwhile. */
  async whileKept<T>(queue: string | null, places: number, work: () => Promise<T>): Promise<T> {
    if (queue === null) return work()
    this.#count(queue, places)
    try {
      return await work()
    } finally {
      this.#count(queue, -places)
    }
  }

  /** Told the queue in which something has ended. */
  onFree(listener: (queue: string) => void): void {
    this.#onFree = listener
  }

  /** Compares with what the database says this worker holds. `known` was taken before the database was asked. */
  compare(known: ReadonlyMap<RunningStep, number>, held: readonly HeldExecution[]): void {
    const byId = new Map(held.map(row => [row.id, row]))
    for (const [step, changes] of known) {
      if (!this.#steps.has(step) || step.reporting || step.changes !== changes) continue
      const { execution } = step.claimed
      const row = byId.get(execution.id)
      if (!row || row.fence !== execution.fence) stop(step, 'claim lost')
      else if (row.stopping) stop(step, 'canceled')
      else if (row.pausing) step.interruption ??= 'paused'
    }
  }

  /** What runs, each with its counter, to be compared later. */
  snapshot(): Map<RunningStep, number> {
    return new Map([...this.#steps].filter(step => !step.reporting).map(step => [step, step.changes]))
  }

  /** Asks resumable steps to stop at their next checkpoint, now and from now on. Others are not disturbed. */
  interruptAll(reason: StopReason): void {
    this.#interruption = reason
    for (const step of this.#steps) step.interruption ??= reason
  }

  stopAll(reason: StopReason): void {
    for (const step of this.#steps) stop(step, reason)
  }

  #giveUpRoom(step: RunningStep): void {
    if (step.keptIn !== null) this.#count(step.keptIn, -1)
    step.keptIn = null
    if (step.places.length === 0) return
    for (const place of step.places) place.giveUp()
    step.places = []
  }

  #count(queue: string, by: number): void {
    addTo(this.#perQueue, queue, by)
  }
}

function addTo(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

function stop(step: RunningStep, reason: StopReason): void {
  step.interruption ??= reason
  step.stop(reason)
}
