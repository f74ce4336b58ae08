/** The graph of a workflow as it stands now. A fold opens to its members, which are drawn in its place. */
import { useState } from 'react'
import { useGraph } from '../api/queries.ts'
import type { WorkflowDetail } from '../api/types.ts'
import { GraphPanel } from '../graph/graph-panel.tsx'
import { Answer } from '../ui/answer.tsx'
import { NodeDetail } from './node-detail.tsx'

export function GraphTab({ workflow }: { readonly workflow: WorkflowDetail }) {
  const [expand, setExpand] = useState<string | null>(null)
  const graph = useGraph(workflow.id, expand)
  return (
    <Answer query={graph} what="the graph">
      {view => (
        <GraphPanel
          view={view}
          aside={
            expand !== null && (
              <button type="button" className="link" onClick={() => setExpand(null)}>
                Fold again
              </button>
            )
          }
          about={(node, close) => (
            <NodeDetail workflow={workflow} node={node} close={close} expand={() => setExpand(node.id)} />
          )}
        />
      )}
    </Answer>
  )
}
