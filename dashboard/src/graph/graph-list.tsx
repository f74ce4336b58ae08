/** The graph as a list in its own order: for screen readers, for phones, and for whoever would rather read. */
import { useState } from 'react'
import type { GraphView } from '../api/types.ts'
import { Icon } from '../ui/icon.tsx'
import { ProgressBar } from '../ui/progress-bar.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { kindIcon } from '../ui/state-look.ts'
import { count, words } from '../ui/wording.ts'
import { describeNode, foldText, nodeName, stateOf } from './describe-node.ts'

interface Props {
  readonly view: GraphView
  readonly chosen: string | null
  readonly choose: (id: string) => void
}

const atOnce = 200

export function GraphList({ view, chosen, choose }: Props) {
  const [shown, setShown] = useState(atOnce)
  const [text, setText] = useState('')
  const names = new Map(view.nodes.map(node => [node.id, nodeName(node)]))
  const before = new Map<string, string[]>()
  for (const { from, to, label } of view.edges) {
    const told = `${names.get(from) ?? from}${label ? ` (${label})` : ''}`
    const known = before.get(to)
    if (known) known.push(told)
    else before.set(to, [told])
  }
  const wanted = text.trim().toLowerCase()
  const found = view.nodes.filter(node => wanted === '' || describeNode(node).toLowerCase().includes(wanted))
  return (
    <div>
      {view.nodes.length > atOnce && (
        <label className="inline-field">
          <span>Find by name or state</span>
          <input type="search" value={text} onChange={event => setText(event.target.value)} />
        </label>
      )}
      <ol className="graph-list">
        {found.slice(0, shown).map(node => {
          const state = stateOf(node)
          const after = before.get(node.id) ?? []
          return (
            <li key={node.id} data-node={node.id}>
              <button type="button" aria-pressed={node.id === chosen} onClick={() => choose(node.id)}>
                <span className="graph-list-name">
                  <Icon name={kindIcon(node.kind)} /> {nodeName(node)}
                </span>
                {state !== null && <StateBadge state={state} />}
                <span className="muted">
                  {words(node.kind)}
                  {node.attempt > 1 && `, attempt ${node.attempt}`}
                  {node.fold !== null && `, ${count(node.fold.count)} items: ${foldText(node.fold.states)}`}
                  {after.length > 0 && `, after ${after.slice(0, 4).join(', ')}`}
                  {after.length > 4 && ` and ${count(after.length - 4)} more`}
                </span>
                {node.progress !== null && <ProgressBar {...node.progress} label={`Progress of ${node.name}`} />}
              </button>
            </li>
          )
        })}
      </ol>
      {found.length > shown && (
        <button type="button" onClick={() => setShown(shown + atOnce)}>
          Show more of {count(found.length)} nodes
        </button>
      )}
    </div>
  )
}
