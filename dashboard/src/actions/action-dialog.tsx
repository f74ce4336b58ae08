/** Asks before something is done: what will happen, why it is wanted, and then a yes. An error leaves it open. */
import { type FormEvent, type ReactNode, useState } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { Failure } from '../ui/notice.tsx'
import { type Deed, useAction } from './use-action.ts'

interface Props {
  readonly title: string
  readonly confirm: string
  /** It cannot be taken back: the reason must be given, and the button is red. */
  readonly grave?: boolean
  readonly close: () => void
  /** What to do; throws with what the person has to put right. */
  readonly deed: (reason: string) => Deed
  readonly children?: ReactNode
}

export function ActionDialog({ title, confirm, grave = false, close, deed, children }: Props) {
  const action = useAction()
  const [reason, setReason] = useState('')
  const [mistake, setMistake] = useState<unknown>(null)
  return (
    <Dialog title={title} close={close}>
      <form onSubmit={submitted}>
        {children}
        <label className="field">
          <span>Reason {grave ? '' : <span className="muted">(optional)</span>}</span>
          <input value={reason} onChange={event => setReason(event.target.value)} required={grave} maxLength={500} />
          <span className="hint">Kept in the record of the workflow, with your name.</span>
        </label>
        {(mistake ?? action.error) !== null && <Failure error={mistake ?? action.error} />}
        <div className="dialog-actions">
          <button type="button" onClick={close}>
            Back
          </button>
          <button type="submit" className={grave ? 'grave' : 'primary'} disabled={action.isPending}>
            {action.isPending ? 'Working…' : confirm}
          </button>
        </div>
      </form>
    </Dialog>
  )

  function submitted(event: FormEvent): void {
    event.preventDefault()
    setMistake(null)
    try {
      action.mutate(deed(reason.trim()), { onSuccess: close })
    } catch (error) {
      setMistake(error)
    }
  }
}

/** Left out when nothing was given. */
export function reasonOf(reason: string): { reason?: string } {
  return reason === '' ? {} : { reason }
}
