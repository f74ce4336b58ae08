/**
 * What becomes of a workflow when a step has ended, as one decision table. Total: every situation meets exactly one row,
 * the first that fits. Pure; it says what the engine does, and does nothing itself.
 */
import type { NodeReadiness } from './readiness.ts'

/** How the nodes of a workflow stand, in numbers. */
export interface FinalizingSituation {
  /** Nodes that are neither done nor left out. */
  readonly open: number
  /** Of those: may run now, as far as the workflow itself is concerned. */
  readonly ready: number
  /** A worker runs them. */
  readonly processing: number
  /** They are due later: a wait, or the backoff after an error. */
  readonly later: number
  /** Their latest attempt has failed, and nothing follows by itself. */
  readonly failed: number
}

export type FinalizingDecision =
  | 'all_complete'
  | 'has_ready_steps'
  | 'processing'
  | 'waiting_for_dependencies'
  | 'blocked_by_failures'

/** `end`: it is finished. `go_on`: a worker takes it up. `wait`: something has to happen first. `pause`: a person has to. */
export type FinalizingEffect = 'end' | 'go_on' | 'wait' | 'pause'

export interface FinalizingRow {
  readonly decision: FinalizingDecision
  readonly effect: FinalizingEffect
  readonly when: string
  fits(situation: FinalizingSituation): boolean
}

/** An error that is retried never blocks: its next attempt stands among those that are due later. */
export const finalizingTable: readonly FinalizingRow[] = [
  { decision: 'all_complete', effect: 'end', when: 'no node is open', fits: s => s.open === 0 },
  { decision: 'has_ready_steps', effect: 'go_on', when: 'a node may run now', fits: s => s.ready > 0 },
  { decision: 'processing', effect: 'go_on', when: 'a worker runs a node', fits: s => s.processing > 0 },
  { decision: 'waiting_for_dependencies', effect: 'wait', when: 'a node is due later', fits: s => s.later > 0 },
  { decision: 'blocked_by_failures', effect: 'pause', when: 'a node has failed', fits: s => s.failed > 0 },
  {
    decision: 'waiting_for_dependencies',
    effect: 'wait',
    when: 'something outside has to happen: a child ends, a person resumes it',
    fits: () => true,
  },
]

const [last] = finalizingTable.slice(-1) as [FinalizingRow]

export function decideFinalizing(situation: FinalizingSituation): FinalizingRow {
  return finalizingTable.find(row => row.fits(situation)) ?? last
}

/** Whether a live worker has the code makes no difference here: the workflow goes on when one comes. */
export function situationOf(nodes: readonly NodeReadiness[]): FinalizingSituation {
  const open = nodes.filter(node => !has(node, 'done', 'left_out'))
  const idle = open.filter(({ state }) => state === 'scheduled' || state === 'suspended')
  const later = idle.filter(node => has(node, 'time', 'backoff'))
  return {
    open: open.length,
    ready: idle.length - later.length,
    processing: open.filter(({ state }) => state === 'in_progress').length,
    later: later.length,
    failed: open.filter(node => has(node, 'failed')).length,
  }
}

function has({ reasons }: NodeReadiness, ...kinds: readonly string[]): boolean {
  return reasons.some(({ kind }) => kinds.includes(kind))
}
