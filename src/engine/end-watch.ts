/**
 * Passes on, inside this process, that a workflow has ended or may have new work, so that nobody has to ask the database.
 */
import type { WorkflowChange } from '../store/change.ts'
import { type ActiveState, endedWorkflowStates } from '../store/records.ts'
import type { EndOfWorkflow } from '../store/store.ts'
import { timerQueue } from './plan.ts'

const ends: ReadonlySet<string> = new Set(endedWorkflowStates)

const claimable: ReadonlySet<ActiveState> = new Set(['scheduled', 'suspended'])

export function isEnd(state: string): boolean {
  return ends.has(state)
}

type EndListener = (workflowId: string, end: EndOfWorkflow | null) => void

export class EndWatch {
  readonly #ended = new Set<EndListener>()
  readonly #woken = new Set<(codeless: boolean) => void>()
  readonly #stopping = new Set<() => void>()

  onEnd(listener: EndListener): () => void {
    this.#ended.add(listener)
    return () => this.#ended.delete(listener)
  }

  /** Something may have become due; `codeless`: also what any worker may run, whatever code it has. */
  onWork(listener: (codeless: boolean) => void): () => void {
    this.#woken.add(listener)
    return () => this.#woken.delete(listener)
  }

  /** A workflow whose step may be running is to be stopped or paused. */
  onStop(listener: () => void): () => void {
    this.#stopping.add(listener)
    return () => this.#stopping.delete(listener)
  }

  /** `ends`: what is known of workflows that have ended, so that nobody need read them. */
  noteAll(changes: readonly WorkflowChange[], ends: ReadonlyMap<string, EndOfWorkflow> = new Map()): void {
    let work = false
    let stop = false
    let codeless = false
    for (const change of changes) {
      if (change.update && isEnd(change.update.state))
        this.#noteEnd(change.workflowId, ends.get(change.workflowId) ?? null)
      if (
        change.update?.state === 'rolling_back' ||
        change.update?.state === 'paused' ||
        change.update?.state === 'dlq' ||
        change.update?.state === 'aborted' ||
        change.update?.finishing
      )
        stop = true
      work ||= change.continuation !== null
      const inserted = [...change.insertions, ...change.replacements].filter(row => claimable.has(row.state))
      work ||= inserted.length > 0 || change.moves.some(row => claimable.has(row.state))
      codeless ||= inserted.some(row => row.queue === timerQueue && row.kind !== 'timer')
    }
    if (stop) for (const listener of this.#stopping) listener()
    if (work) this.noteWork(codeless)
  }

  #noteEnd(workflowId: string, end: EndOfWorkflow | null): void {
    for (const listener of this.#ended) listener(workflowId, end)
  }

  noteWork(codeless = false): void {
    for (const listener of this.#woken) listener(codeless)
  }
}
