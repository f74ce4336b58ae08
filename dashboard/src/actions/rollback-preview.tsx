/** What a cancel would undo, in the order in which it would be undone. */
import { useRollback } from '../api/queries.ts'
import { Answer } from '../ui/answer.tsx'

export function RollbackPreview({ id }: { readonly id: string }) {
  const rollback = useRollback(id)
  return (
    <Answer query={rollback} what="what would be undone">
      {({ steps }) =>
        steps.length === 0 ? (
          <p>Nothing has to be undone: no step that has run says how it is undone.</p>
        ) : (
          <>
            <p>These steps would be undone, in this order:</p>
            <ol className="rollback-order">
              {steps.map(({ executionId, step, compensation }) => (
                <li key={executionId}>
                  <strong>{step}</strong>{' '}
                  {compensation === null ? (
                    <span className="muted">is marked as rolled back, nothing is called</span>
                  ) : (
                    <>
                      by <code>{compensation}</code>
                    </>
                  )}
                </li>
              ))}
            </ol>
          </>
        )
      }
    </Answer>
  )
}
