/** What is known of one node: how it stands, how far it has come, its attempts, and what can be done about it. */
import { NodeActions } from '../actions/node-actions.tsx'
import { useNodeHistory } from '../api/queries.ts'
import type { GraphNode, WorkflowDetail } from '../api/types.ts'
import { StateBar } from '../charts/state-bar.tsx'
import { nodeName, stateOf } from '../graph/describe-node.ts'
import { href } from '../routing/route.ts'
import { Answer } from '../ui/answer.tsx'
import { ProgressBar } from '../ui/progress-bar.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { count, words } from '../ui/wording.ts'
import { AttemptCard } from './attempt-card.tsx'

interface Props {
  readonly workflow: WorkflowDetail
  readonly node: GraphNode
  readonly close: () => void
  readonly expand: () => void
}

export function NodeDetail({ workflow, node, close, expand }: Props) {
  const state = stateOf(node)
  return (
    <div className="node-detail">
      <div className="card-head">
        <h2>{nodeName(node)}</h2>
        <button type="button" className="quiet" aria-label={`Close ${node.name}`} onClick={close}>
          ×
        </button>
      </div>
      <p>
        {state !== null && <StateBadge state={state} />} <span className="muted">{words(node.kind)}</span>
        {node.outcome && node.fold === null && <span className="muted">, {words(node.outcome)}</span>}
        {node.note && <span className="muted">, {node.note}</span>}
        {node.compensates && <span className="muted">, undoes {node.compensates}</span>}
      </p>
      {node.progress && <ProgressBar {...node.progress} label={`Progress of ${node.name}`} />}
      {node.error && <p className="step-error">{node.error}</p>}
      {node.fold && (
        <>
          <StateBar states={node.fold.states} />
          <button type="button" onClick={expand}>
            Show {count(node.fold.count)} members
          </button>
        </>
      )}
      {node.kind === 'human' && state === 'waiting' && (
        <p>
          It waits for a person: decide in the <a href={href('approvals')}>approvals</a>.
        </p>
      )}
      <NodeActions workflowId={workflow.id} node={node} />
      {node.fold === null && state !== null && state !== 'pending' && <NodeAttempts id={workflow.id} node={node.id} />}
    </div>
  )
}

function NodeAttempts({ id, node }: { readonly id: string; readonly node: string }) {
  const history = useNodeHistory(id, node)
  return (
    <Answer query={history} what="attempts">
      {({ items }) => (
        <ol className="attempts">
          {items.map(attempt => (
            <AttemptCard key={attempt.id} attempt={attempt} />
          ))}
        </ol>
      )}
    </Answer>
  )
}
