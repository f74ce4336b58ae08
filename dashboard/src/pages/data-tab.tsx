/** What went in and what came out, and the workflows that this one has started. */
import type { WorkflowDetail } from '../api/types.ts'
import { Card } from '../ui/card.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { typeName, WorkflowLink } from '../ui/link.tsx'
import { StateBadge } from '../ui/state-badge.tsx'

export function DataTab({ workflow }: { readonly workflow: WorkflowDetail }) {
  const { input, output, children } = workflow
  return (
    <>
      <div className="two-columns">
        <Card title="Input">
          <JsonView value={input} label="Input" />
        </Card>
        <Card title="Output">
          <JsonView value={output} label="Output" />
        </Card>
      </div>
      {children.length > 0 && (
        <Card title="Children">
          <ul className="plain">
            {children.map(({ id, type, state }) => (
              <li key={id}>
                <WorkflowLink id={id}>
                  {typeName(type)} {id}
                </WorkflowLink>{' '}
                <StateBadge state={state} />
              </li>
            ))}
          </ul>
        </Card>
      )}
    </>
  )
}
