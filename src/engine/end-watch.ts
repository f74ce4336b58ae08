/**
 * Passes on, inside this process, that a workflow has ended or may have new work, so that nobody has to ask the database.
 */
import type { WorkflowChange } from '../store/change.ts'
import type { ActiveState, StoredWorkflowState } from '../store/records.ts'

const ends: ReadonlySet<StoredWorkflowState> = new Set(['finished', 'failed', 'canceled', 'aborted'])

const claimable: ReadonlySet<ActiveState> = new Set(['scheduled', 'suspended'])

export function isEnd(state: string): boolean {
  return ends.has(state as StoredWorkflowState)
}

export class EndWatch {
  readonly #ended = new Set<(workflowId: string) => void>()
  readonly #woken = new Set<() => void>()
  readonly #stopping = new Set<() => void>()

  onEnd(listener: (workflowId: string) => void): () => void {
    this.#ended.add(listener)
    return () => this.#ended.delete(listener)
  }

  /** Something may have become due. */
  onWork(listener: () => void): () => void {
    this.#woken.add(listener)
    return () => this.#woken.delete(listener)
  }

  /** A workflow whose step may be running is to be stopped or paused. */
  onStop(listener: () => void): () => void {
    this.#stopping.add(listener)
    return () => this.#stopping.delete(listener)
  }

  noteAll(changes: readonly WorkflowChange[]): void {
    let work = false
    let stop = false
    for (const change of changes) {
      if (change.update && isEnd(change.update.state)) for (const listener of this.#ended) listener(change.workflowId)
      if (
        change.update?.state === 'rolling_back' ||
        change.update?.state === 'paused' ||
        change.update?.state === 'dlq' ||
        change.update?.state === 'aborted' ||
        change.update?.finishing
      )
        stop = true
      work ||= change.continuation !== null
      work ||= [...change.insertions, ...change.replacements, ...change.moves].some(row => claimable.has(row.state))
    }
    if (stop) for (const listener of this.#stopping) listener()
    if (work) this.noteWork()
  }

  noteWork(): void {
    for (const listener of this.#woken) listener()
  }
}
