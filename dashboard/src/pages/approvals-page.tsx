/** The inbox: every node that waits for a person, with the form it asks to be filled in. */
import { DecisionForm } from '../actions/decision-form.tsx'
import { useApprovals, useMay, useWorkflow } from '../api/queries.ts'
import type { Approval } from '../api/types.ts'
import { href } from '../routing/route.ts'
import { Answer } from '../ui/answer.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { HeroLink, typeName } from '../ui/link.tsx'
import { Empty } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'
import { Pager, usePaging } from '../ui/pager.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { Time, Took } from '../ui/time.tsx'

export function ApprovalsPage() {
  const paging = usePaging('approvals')
  const approvals = useApprovals(paging.cursor)
  const mayDecide = useMay('operator')
  return (
    <Page title="Approvals" lead="Workflows that wait for somebody to say yes or no.">
      <Answer query={approvals} what="approvals">
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title="Nothing waits for you.">
              A workflow comes here when it reaches a step declared with <code>this.human(...)</code>.
            </Empty>
          ) : (
            <>
              <ul className="approvals">
                {items.map(approval => (
                  <li key={approval.executionId}>
                    <ApprovalCard approval={approval} mayDecide={mayDecide} />
                  </li>
                ))}
              </ul>
              <Pager paging={paging} next={nextCursor} />
            </>
          )
        }
      </Answer>
    </Page>
  )
}

/** What a no does, as the step declares it. */
const onReject: Readonly<Record<string, string>> = {
  abort: 'A no ends the workflow at once, and undoes nothing.',
  rollback: 'A no rolls the workflow back to its last save point.',
}

/** Nobody should decide on what they cannot see. */
function AskedAbout({ id }: { readonly id: string }) {
  const { data } = useWorkflow(id)
  if (data === undefined || data.input === null) return null
  return (
    <>
      <h3>Input of the workflow</h3>
      <JsonView value={data.input} label="Input of the workflow" />
    </>
  )
}

function ApprovalCard({ approval, mayDecide }: { readonly approval: Approval; readonly mayDecide: boolean }) {
  const { executionId, workflowId, type, hero, name, prompt, assignTo, quorum, decisions, deadline } = approval
  return (
    <article className="card approval" aria-labelledby={`ask-${executionId}`}>
      <div>
        <h2 id={`ask-${executionId}`}>{prompt ?? `Go on with ${name}?`}</h2>
        <ul className="facts">
          <li>
            <a href={href('workflows', workflowId)}>
              {typeName(type)}, {name}
            </a>
          </li>
          {hero && (
            <li>
              <HeroLink hero={hero} />
            </li>
          )}
          <li>
            Waiting for <Took from={approval.waitingSince} to={null} />
          </li>
          {deadline && (
            <li>
              Deadline <Time at={deadline} />
            </li>
          )}
          {assignTo.length > 0 && <li>For {assignTo.join(', ')}</li>}
          {quorum > 1 && (
            <li>
              {decisions.length} of {quorum} have decided
            </li>
          )}
        </ul>
        <p className="muted">{onReject[approval.onReject] ?? `A no sends the workflow ${approval.onReject}.`}</p>
        <AskedAbout id={workflowId} />
        {decisions.length > 0 && (
          <ul className="plain">
            {decisions.map(({ decision, by, comment }) => (
              <li key={by}>
                <StateBadge state={decision} /> {by}
                {comment ? `: ${comment}` : ''}
              </li>
            ))}
          </ul>
        )}
      </div>
      {mayDecide && <DecisionForm approval={approval} />}
    </article>
  )
}
