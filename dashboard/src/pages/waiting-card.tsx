/** Why it is where it is: in one sentence, and node by node for whoever wants to know. */
import { useExplanation } from '../api/queries.ts'
import type { WorkflowDetail } from '../api/types.ts'
import { Sentence } from '../ui/sentence.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { lookOf } from '../ui/state-look.ts'
import { reasonText } from './reason-text.ts'

const ends = ['finished', 'failed', 'canceled', 'aborted']
const labels: Readonly<Record<string, string>> = {
  ...Object.fromEntries(ends.map(state => [state, 'How it ended'])),
  performing: 'What is it doing?',
  rolling_back: 'What is it doing?',
}

export function WaitingCard({ workflow }: { readonly workflow: WorkflowDetail }) {
  const { data } = useExplanation(workflow.id)
  if (data === undefined) return null
  const { nodes } = data
  return (
    <section className={`waiting tone-${lookOf(workflow.state).tone}`} aria-label="Why it is waiting">
      <p className="waiting-sentence">
        <span className="waiting-label">{labels[workflow.state] ?? 'Why is it waiting?'}</span>
        <span aria-live="polite">
          <Sentence text={data.sentence} />
        </span>
      </p>
      {nodes.length > 0 && !ends.includes(workflow.state) && (
        <details>
          <summary>Node by node</summary>
          <ul className="reasons">
            {nodes.map(node => (
              <li key={node.id}>
                <strong>{node.name}</strong> <StateBadge state={node.state} />{' '}
                <Sentence text={node.reasons.map(reasonText).join('; ')} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  )
}
