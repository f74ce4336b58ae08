/** One class of workflow, drawn before it runs; and a way to start one. */
import { useState } from 'react'
import { StartDialog } from '../actions/start-dialog.tsx'
import { useDefinition, useMay } from '../api/queries.ts'
import { GraphPanel } from '../graph/graph-panel.tsx'
import { href, withQuery } from '../routing/route.ts'
import { Answer } from '../ui/answer.tsx'
import { Page } from '../ui/page.tsx'

export function DefinitionPage({ type }: { readonly type: string }) {
  const definition = useDefinition(type)
  const mayStart = useMay('operator')
  const [starting, setStarting] = useState(false)
  return (
    <Page
      title={type}
      lead={
        <>
          Generation {definition.data?.generation ?? '…'} ·{' '}
          <a href={withQuery(href('workflows'), { type })}>workflows of this class</a>
        </>
      }
      actions={
        mayStart &&
        definition.data?.hasCode && (
          <button type="button" className="primary" onClick={() => setStarting(true)}>
            Start one
          </button>
        )
      }
    >
      <Answer query={definition} what="the definition">
        {({ graph }) => <GraphPanel view={graph} />}
      </Answer>
      {starting && (
        <StartDialog type={type} heroType={definition.data?.heroTypes[0] ?? ''} close={() => setStarting(false)} />
      )}
    </Page>
  )
}
