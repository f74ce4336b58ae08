/** A graph, drawn or as a list, whichever the person likes better; beside it what is said about the chosen node. */
import { type ReactNode, useState } from 'react'
import type { GraphNode, GraphView } from '../api/types.ts'
import { Empty } from '../ui/notice.tsx'
import { count } from '../ui/wording.ts'
import { GraphCanvas } from './graph-canvas.tsx'
import { GraphList } from './graph-list.tsx'

interface Props {
  readonly view: GraphView
  /** What stands beside the graph for the chosen node. */
  readonly about?: (node: GraphNode, close: () => void) => ReactNode
  readonly aside?: ReactNode
}

/** More than this would be a picture that nobody can read, and a browser that hangs. */
const drawLimit = 1000

export function GraphPanel({ view, about, aside }: Props) {
  const [wantsList, setAsList] = useState(false)
  const tooMany = view.nodes.length > drawLimit
  const asList = wantsList || tooMany
  const [chosen, setChosen] = useState<string | null>(null)
  const node = view.nodes.find(({ id }) => id === chosen) ?? null
  if (view.nodes.length === 0) return <Empty title="This graph has no nodes." />
  return (
    <div className="graph-panel">
      <div className="graph-tools">
        <fieldset className="choice">
          <legend className="unseen">Show the graph as</legend>
          <label>
            <input
              type="radio"
              name="graph-form"
              checked={!asList}
              disabled={tooMany}
              onChange={() => setAsList(false)}
            />
            Drawing
          </label>
          <label>
            <input type="radio" name="graph-form" checked={asList} onChange={() => setAsList(true)} />
            List
          </label>
        </fieldset>
        <span className="muted">
          {count(view.nodes.length)} {view.nodes.length === 1 ? 'box' : 'boxes'}
          {view.folded && ', siblings folded'}
          {tooMany && ': too many to draw'}
        </span>
        {aside}
      </div>
      <div className={node && about ? 'graph-split has-detail' : 'graph-split'}>
        {asList ? (
          <GraphList view={view} chosen={chosen} choose={setChosen} />
        ) : (
          <GraphCanvas view={view} chosen={chosen} choose={setChosen} />
        )}
        {node && about && <aside aria-label={`Node ${node.name}`}>{about(node, () => setChosen(null))}</aside>}
      </div>
    </div>
  )
}
