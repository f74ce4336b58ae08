/** What can be done to a workflow as a whole. Only what is legal now, and allowed to this person, is offered. */
import { useState } from 'react'
import type { WorkflowDetail } from '../api/types.ts'
import { words } from '../ui/wording.ts'
import { ActionDialog, reasonOf } from './action-dialog.tsx'
import { RollbackPreview } from './rollback-preview.tsx'

const told: Readonly<Record<string, { readonly done: string; readonly means: string; readonly grave?: boolean }>> = {
  pause: { done: 'Paused.', means: 'Nothing new starts from now on. A step that runs ends and is recorded.' },
  resume: {
    done: 'Resumed.',
    means: 'It goes on where it was: held steps at their own time, a failed step with a new attempt.',
  },
  cancel: {
    done: 'Canceled.',
    means: 'A step that runs gets its signal and is waited for. Then what was done is undone, newest first.',
    grave: true,
  },
  abort: {
    done: 'Aborted.',
    means: 'It ends at once: nothing is undone, and nothing that runs is waited for.',
    grave: true,
  },
}

export function WorkflowActions({ workflow }: { readonly workflow: WorkflowDetail }) {
  const [asked, setAsked] = useState<string | null>(null)
  const offered = Object.keys(told).filter(action => workflow.actions.some(each => each === action))
  const choice = asked === null ? undefined : told[asked]
  return (
    <>
      {offered.map(action => (
        <button
          key={action}
          type="button"
          className={told[action]?.grave ? 'grave-quiet' : ''}
          onClick={() => setAsked(action)}
        >
          {capital(action)}
        </button>
      ))}
      {asked !== null && choice && (
        <ActionDialog
          title={`${capital(asked)} this workflow?`}
          confirm={`${capital(asked)} the workflow`}
          grave={choice.grave ?? false}
          close={() => setAsked(null)}
          deed={reason => ({
            path: `workflows/${encodeURIComponent(workflow.id)}/${asked}`,
            body: reasonOf(reason),
            done: choice.done,
          })}
        >
          <p>{choice.means}</p>
          {asked === 'cancel' && <RollbackPreview id={workflow.id} />}
        </ActionDialog>
      )}
    </>
  )
}

export function capital(name: string): string {
  return words(name).replace(/^./, first => first.toUpperCase())
}
