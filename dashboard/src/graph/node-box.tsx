/** One box of the drawn graph: what it is, how it stands, how far it has come. */
import { Handle, type Node, type NodeProps, Position } from '@xyflow/react'
import type { GraphNode } from '../api/types.ts'
import { Segments } from '../charts/state-bar.tsx'
import { Icon } from '../ui/icon.tsx'
import { kindIcon, lookOf } from '../ui/state-look.ts'
import { count, words } from '../ui/wording.ts'
import { foldText, nodeName, stateOf } from './describe-node.ts'
import type { Direction } from './lay-out.ts'

export type BoxNode = Node<{ readonly node: GraphNode; readonly direction: Direction }, 'box'>

export function NodeBox({ data, selected }: NodeProps<BoxNode>) {
  const { node, direction } = data
  const state = stateOf(node)
  const { tone, icon } = lookOf(state)
  const [target, source] = direction === 'LR' ? [Position.Left, Position.Right] : [Position.Top, Position.Bottom]
  const classes = [
    'node-box',
    state === null ? 'tone-idle' : `tone-${tone}`,
    `kind-${node.kind}`,
    node.fold === null ? '' : 'is-folded',
    node.compensates === null ? '' : 'is-undo',
    selected ? 'is-chosen' : '',
  ]
  return (
    <div className={classes.join(' ')} data-node={node.id} data-state={state ?? ''}>
      <Handle type="target" position={target} isConnectable={false} />
      <div className="node-name">
        <Icon name={kindIcon(node.kind)} size={13} />
        <span title={node.name}>{nodeName(node)}</span>
        {node.fold !== null && <span className="node-count">× {count(node.fold.count)}</span>}
      </div>
      {node.fold !== null && <Segments entries={Object.entries(node.fold.states)} />}
      <div className="node-state" title={node.fold === null ? undefined : foldText(node.fold.states)}>
        {state === null ? (
          <span className="muted">{words(node.kind)}</span>
        ) : (
          <>
            <Icon name={icon} size={12} />
            <span>{words(state)}</span>
            {node.attempt > 1 && <span className="muted">attempt {node.attempt}</span>}
          </>
        )}
        {node.progress !== null && <span className="muted">{progressText(node.progress)}</span>}
      </div>
      {node.progress?.total ? (
        <svg className="node-progress" width="100%" height="3" aria-hidden="true" focusable="false">
          <rect width={`${Math.min(100, (node.progress.done / node.progress.total) * 100)}%`} height="3" />
        </svg>
      ) : null}
      <Handle type="source" position={source} isConnectable={false} />
    </div>
  )
}

function progressText({ done, total }: { readonly done: number; readonly total: number | null }): string {
  return total ? `${Math.floor((done / total) * 100)} %` : `${count(done)} done`
}
