/** Whether a request has been carried out already, by a try whose answer was lost. Pure. */
import type { WorkflowChange, WorkflowFacts } from '../store/change.ts'

/** A try that may have been committed: what it went by, and what it would have written, under the same ids as the next one. */
export interface Tried {
  readonly facts: WorkflowFacts
  readonly asked: WorkflowChange
}

/** What came from outside stands there already. To be asked before the next try decides: a message that is taken twice need not throw. */
export function wasTold({ asked: { messages } }: Tried, { decisions, signals }: WorkflowFacts): boolean {
  const stored = new Set([...decisions, ...signals].map(message => message.id))
  return [...messages.decisions, ...messages.signals].some(message => stored.has(message.id))
}

/** Of a request that cannot be carried out any more. */
export function wasDone(tried: Tried, facts: WorkflowFacts): boolean {
  const { asked, facts: before } = tried
  const moves = asked.update !== null && asked.update.state !== before.workflow.state
  if (moves && asked.update?.state === facts.workflow.state) return true
  const latest = new Map([...(facts.latest?.values() ?? [])].map(ending => [ending.id, ending.outcome]))
  if (asked.endings.some(ending => latest.get(ending.execution.id) === ending.outcome)) return true
  const active = new Set(facts.active.map(row => row.id))
  if ([...asked.insertions, ...asked.replacements].some(row => active.has(row.id))) return true
  return wasLetGo(tried, facts)
}

/** A held row was to go on: it does, or has run since. */
function wasLetGo({ asked, facts: before }: Tried, { active, latest }: WorkflowFacts): boolean {
  const slots = new Set(asked.moves.flatMap(({ slot, state }) => (state === 'paused' ? [] : slot)))
  const held = before.active.filter(row => row.state === 'paused' && slots.has(row.slot))
  const ids = new Set(held.map(row => row.id))
  if (active.some(row => ids.has(row.id) && row.state !== 'paused')) return true
  return [...(latest?.values() ?? [])].some(({ id, state }) => ids.has(id) && hasRun.has(state))
}

const hasRun: ReadonlySet<string> = new Set(['completed', 'failed'])
