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
        const { position, type, at, workflowId, name, attempt, to, by, reason, payload } = event
        const wrong = errorIn(event)
        return (
          <li key={position}>
            <Moment at={at} />
            <code className="event-type">{type}</code>
            <span className="event-text">
              {name && <strong>{plainName(name)}</strong>}{' '}
              {attempt !== null && attempt > 1 && <span className="muted">attempt {attempt}</span>}{' '}
              {to !== null && words(event.outcome ?? to)}
              {by && <span className="muted"> by {shortOwner(by)}</span>}
              {reason && <span>: {reason}</span>}
              {wrong !== null && <span className="event-error"> {wrong}</span>}
              {withWorkflow && (
                <span className="muted">
                  {' '}
                  in <WorkflowLink id={workflowId} />
                </span>
              )}
            </span>
            {payload !== null && wrong === null && (
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

/** The error of an attempt that has failed, in one line; `null` for every other event. */
function errorIn({ type, payload }: WorkflowEvent): string | null {
  if (!type.endsWith('.failed') || typeof payload !== 'object' || payload === null) return null
  const { className, message } = payload as { readonly className?: unknown; readonly message?: unknown }
  return typeof className === 'string' && typeof message === 'string' ? `${className}: ${message}` : null
}
