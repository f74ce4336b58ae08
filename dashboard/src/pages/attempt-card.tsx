/** One attempt at a node: when, how it ended, with what error, and what went in and came out. */
import type { Attempt } from '../api/types.ts'
import { plainName } from '../graph/describe-node.ts'
import { ErrorText } from '../ui/error-text.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { ProgressBar } from '../ui/progress-bar.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { Time, Took } from '../ui/time.tsx'
import { words } from '../ui/wording.ts'

export function AttemptCard({ attempt }: { readonly attempt: Attempt }) {
  const { name, kind, state, outcome, scheduledFor, startedAt, endedAt, error, reason } = attempt
  return (
    <li className="attempt">
      <div className="attempt-head">
        <strong>{kind === 'compensate' ? `undo ${name}` : plainName(name)}</strong>
        <span className="muted">attempt {attempt.attempt}</span>
        <StateBadge state={state} />
        {outcome && <span className="muted">{words(outcome)}</span>}
      </div>
      <dl className="pairs">
        <div>
          <dt>{startedAt === null ? 'Due' : 'Started'}</dt>
          <dd>
            <Time at={startedAt ?? scheduledFor} />
          </dd>
        </div>
        <div>
          <dt>Took</dt>
          <dd>
            <Took from={startedAt} to={endedAt ?? (state === 'in_progress' ? null : startedAt)} />
          </dd>
        </div>
        {reason && (
          <div>
            <dt>Reason</dt>
            <dd>{reason}</dd>
          </div>
        )}
      </dl>
      {error && <ErrorText error={error} />}
      {attempt.completed > 0 && (
        <ProgressBar done={attempt.completed} total={attempt.total} label={`Progress of ${name}`} />
      )}
      <Payload name="Input" value={attempt.input} />
      <Payload name="Output" value={attempt.output} />
      <Payload name="Cursor" value={attempt.cursor} />
    </li>
  )
}

function Payload({ name, value }: { readonly name: string; readonly value: unknown }) {
  if (value === undefined || value === null) return null
  return (
    <details>
      <summary>{name}</summary>
      <JsonView value={value} label={name} />
    </details>
  )
}
