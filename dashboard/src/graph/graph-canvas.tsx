/** The graph as a drawing that can be moved and zoomed. New states only repaint: the layout is kept while the shape is the same. */
import { Background, Controls, type Edge, MarkerType, MiniMap, ReactFlow, ReactFlowProvider } from '@xyflow/react'
import '@xyflow/react/dist/style.css'
import { useMemo } from 'react'
import type { GraphEdge, GraphView } from '../api/types.ts'
import { lookOf } from '../ui/state-look.ts'
import { useWidth } from '../ui/width.ts'
import { type Arrangement, arrange } from './arrange.ts'
import { describeNode, stateOf } from './describe-node.ts'
import { type BoxNode, NodeBox } from './node-box.tsx'

interface Props {
  readonly view: GraphView
  readonly chosen: string | null
  readonly choose: (id: string | null) => void
}

const nodeTypes = { box: NodeBox }
/** More than this, and only what is in sight is drawn. */
const manyNodes = 120

export function GraphCanvas({ view, chosen, choose }: Props) {
  const [ref, width] = useWidth<HTMLDivElement>()
  const shape = shapeOf(view)
  // The shape stands for nodes and edges: their states do not move anything.
  const arrangement = useMemo(() => (width === 0 ? null : arrange(view, width)), [shape, width])
  const nodes = useMemo(() => boxesOf(view, arrangement, chosen), [view, arrangement, chosen])
  const edges = useMemo(() => view.edges.map(edgeOf), [view.edges])
  return (
    <div className="graph-canvas" ref={ref} data-nodes={view.nodes.length}>
      {arrangement === null ? (
        <div style={{ height: 320 }} />
      ) : (
        <ReactFlowProvider key={`${width} ${shape.length}`}>
          <div style={{ height: arrangement.canvasHeight }}>
            <ReactFlow
              nodes={nodes}
              edges={edges}
              nodeTypes={nodeTypes}
              onNodeClick={(_, node) => choose(node.id)}
              onPaneClick={() => choose(null)}
              onSelectionChange={({ nodes: [only] }) => only && choose(only.id)}
              defaultViewport={arrangement.viewport}
              minZoom={0.03}
              maxZoom={1.6}
              nodesDraggable={false}
              nodesConnectable={false}
              edgesFocusable={false}
              onlyRenderVisibleElements={view.nodes.length > manyNodes}
              preventScrolling={false}
              zoomOnScroll={false}
              proOptions={{ hideAttribution: true }}
            >
              <Background gap={20} size={1} />
              <Controls showInteractive={false} orientation="horizontal" />
            </ReactFlow>
          </div>
          {arrangement.map !== null && (
            // Below the drawing and not on it, where it would cover nodes.
            <div className="graph-map">
              <MiniMap<BoxNode>
                pannable
                ariaLabel="Map of the graph"
                style={arrangement.map}
                offsetScale={2}
                nodeClassName={({ data }) => `tone-${lookOf(stateOf(data.node)).tone}`}
              />
            </div>
          )}
        </ReactFlowProvider>
      )}
    </div>
  )
}

function shapeOf({ nodes, edges }: GraphView): string {
  return JSON.stringify([nodes.map(({ id }) => id), edges.map(({ from, to }) => [from, to])])
}

function boxesOf(view: GraphView, arrangement: Arrangement | null, chosen: string | null): BoxNode[] {
  if (arrangement === null) return []
  const { places, direction, box } = arrangement
  return view.nodes.map(node => ({
    id: node.id,
    type: 'box',
    position: places.get(node.id) ?? { x: 0, y: 0 },
    data: { node, direction },
    selected: node.id === chosen,
    ariaLabel: describeNode(node),
    ...box,
  }))
}

function edgeOf({ from, to, kind, label }: GraphEdge, index: number): Edge {
  return {
    id: `${index}`,
    source: from,
    target: to,
    className: `edge-${kind}`,
    type: 'smoothstep',
    markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14 },
    ...(label ? { label } : {}),
  }
}
