/** Events as lines: when, what, by whom and why. */
import type { WorkflowEvent } from '../api/types.ts'
import { plainName } from '../graph/describe-node.ts'
import { WorkflowLink } from '../ui/link.tsx'
import { ScrollText } from '../ui/scroll-text.tsx'
import { Moment } from '../ui/time.tsx'
import { pretty, shortOwner, words } from '../ui/wording.ts'

interface Props {
  readonly events: readonly WorkflowEvent[]
  /** Say which workflow each is of. */
  readonly withWorkflow?: boolean
}

export function EventList({ events, withWorkflow = false }: Props) {
  return (
    <ol className="events">
      {events.map(event => {
        const { position, type, at, workflowId, node, attempt, to, by, reason, payload } = event
        return (
          <li key={position}>
            <Moment at={at} />
            <code className="event-type">{type}</code>
            <span className="event-text">
              {node && <strong>{plainName(node)}</strong>}{' '}
              {attempt !== null && attempt > 1 && <span className="muted">attempt {attempt}</span>}{' '}
              {to !== null && words(event.outcome ?? to)}
              {by && <span className="muted"> by {shortOwner(by)}</span>}
              {reason && <span>: {reason}</span>}
              {withWorkflow && (
                <span className="muted">
                  {' '}
                  in <WorkflowLink id={workflowId} />
                </span>
              )}
            </span>
            {payload !== null && (
              <details>
                <summary>Payload</summary>
                <ScrollText label={`Payload of ${type}`} text={pretty(payload)} />
              </details>
            )}
          </li>
        )
      })}
    </ol>
  )
}
