/** What can be done to one node: leave it out, take it as done, try it again, send it the message it waits for. */
import { useState } from 'react'
import type { GraphNode } from '../api/types.ts'
import { ActionDialog, reasonOf } from './action-dialog.tsx'
import { JsonField, readJson } from './json-field.tsx'
import { capital } from './workflow-actions.tsx'

interface NodeDeed {
  readonly name: string
  readonly means: string
  readonly done: string
  /** The payload that it takes besides, as it is called in the request. */
  readonly payload?: 'output' | 'payload'
}

const deeds: readonly NodeDeed[] = [
  {
    name: 'reattempt',
    means: 'A new attempt is scheduled, as long as nothing that comes after it has started.',
    done: 'A new attempt is scheduled.',
  },
  {
    name: 'skip',
    means: 'It is left out, and what depends on it goes on.',
    done: 'Skipped.',
  },
  {
    name: 'resolve',
    means: 'It is taken as done, because somebody has done by hand what it was to do. What depends on it goes on.',
    done: 'Taken as done.',
    payload: 'output',
  },
  {
    name: 'signal',
    means: 'The message is delivered once, and the node goes on.',
    done: 'The signal is sent.',
    payload: 'payload',
  },
]

interface Props {
  readonly workflowId: string
  readonly node: GraphNode
}

export function NodeActions({ workflowId, node }: Props) {
  const [asked, setAsked] = useState<NodeDeed | null>(null)
  const [payload, setPayload] = useState('')
  // What is legal now, and allowed to this person, is said by the server.
  const offered = deeds.filter(({ name }) => node.actions.some(each => each === name))
  return (
    <div className="node-actions">
      {offered.map(deed => (
        <button key={deed.name} type="button" onClick={() => setAsked(deed)}>
          {capital(deed.name)}
        </button>
      ))}
      {asked && (
        <ActionDialog
          title={`${capital(asked.name)} ${node.name}?`}
          confirm={capital(asked.name)}
          close={() => setAsked(null)}
          deed={reason => {
            const value = asked.payload === undefined ? undefined : readJson(payload, 'What you wrote')
            return {
              path: `workflows/${encodeURIComponent(workflowId)}/nodes/${encodeURIComponent(node.id)}/${asked.name}`,
              body: {
                ...reasonOf(reason),
                ...(asked.payload && value !== undefined ? { [asked.payload]: value } : {}),
              },
              done: asked.done,
            }
          }}
        >
          <p>{asked.means}</p>
          {asked.payload && (
            <JsonField
              label={asked.payload === 'output' ? 'Output' : 'Payload'}
              hint={node.kind === 'condition' ? 'Its answer: true or false.' : 'JSON, or nothing.'}
              text={payload}
              change={setPayload}
              rows={4}
            />
          )}
        </ActionDialog>
      )}
    </div>
  )
}
