/** Says how many workflows an action would reach, shows some of them, and asks for a reason and a yes. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { post, type Query } from '../api/request.ts'
import type { WorkflowSummary } from '../api/types.ts'
import { Answer } from '../ui/answer.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { describe, Failure } from '../ui/notice.tsx'
import { useTell } from '../ui/toasts.tsx'
import { counted } from '../ui/wording.ts'
import { capital } from './workflow-actions.tsx'

export const bulkActions = ['pause', 'resume', 'cancel', 'abort'] as const
export type BulkAction = (typeof bulkActions)[number]

interface Props {
  readonly action: BulkAction
  /** Ids; `null` for all that the filter finds. */
  readonly chosen: readonly string[] | null
  readonly asked: Query
  readonly close: () => void
  readonly done: () => void
}

interface Trial {
  readonly count: number
  /** There are more than one request reaches: the server would refuse it. */
  readonly capped: boolean
  readonly sample: readonly Pick<WorkflowSummary, 'id' | 'type'>[]
}

export function BulkDialog({ action, chosen, asked, close, done }: Props) {
  const client = useQueryClient()
  const tell = useTell()
  const [reason, setReason] = useState('')
  const trial = useQuery({
    queryKey: ['bulk-trial', action, chosen, asked],
    queryFn: () => tryOut(action, chosen, asked),
    meta: { still: true },
  })
  const run = useMutation({
    mutationFn: () => perform(action, chosen, { asked, expect: trial.data?.count ?? 0, reason: reason.trim() }),
    onSuccess: text => {
      tell(text)
      done()
      close()
    },
    onSettled: () => client.invalidateQueries(),
  })
  return (
    <Dialog title={`${capital(action)} many workflows?`} close={close}>
      <form onSubmit={submitted}>
        <Answer query={trial} what="how many there are">
          {found => (found.capped ? <OutOfReach /> : <Reach action={action} trial={found} />)}
        </Answer>
        <label className="field">
          <span>Reason</span>
          <input value={reason} required maxLength={500} onChange={event => setReason(event.target.value)} />
        </label>
        {run.error && <Failure error={run.error} />}
        <div className="dialog-actions">
          <button type="button" onClick={close}>
            Back
          </button>
          <button type="submit" className="grave" disabled={run.isPending || !trial.data?.count || trial.data.capped}>
            {run.isPending ? 'Working…' : `${capital(action)} ${counted(trial.data?.count ?? 0, 'workflow')}`}
          </button>
        </div>
      </form>
    </Dialog>
  )

  function submitted(event: FormEvent): void {
    event.preventDefault()
    run.mutate()
  }
}

function OutOfReach() {
  return (
    <p role="alert">
      One request does not reach all that fit, so it would be refused. Narrow the filter, or search for more of the id.
    </p>
  )
}

/** How many it would reach, and some of them. */
function Reach({ action, trial: { count, sample } }: { readonly action: BulkAction; readonly trial: Trial }) {
  return (
    <>
      <p>
        This will {action} <strong>{counted(count, 'workflow')}</strong>
        {action === 'cancel' && ', and undo what each of them has done'}
        {action === 'abort' && ', and undo nothing'}.
      </p>
      {sample.length > 0 && (
        <ul className="sample">
          {sample.slice(0, 5).map(each => (
            <li key={each.id} className="mono">
              {each.type} {each.id}
            </li>
          ))}
          {count > 5 && <li className="muted">and others</li>}
        </ul>
      )}
    </>
  )
}

async function tryOut(action: BulkAction, chosen: readonly string[] | null, asked: Query): Promise<Trial> {
  if (chosen !== null) return { count: chosen.length, capped: false, sample: chosen.map(id => ({ id, type: '' })) }
  return post<Trial>('workflows/bulk', { filter: asked, action, dryRun: true })
}

interface Outcome {
  readonly found: number
  readonly changed: number
  readonly refused: readonly { readonly id: string; readonly message: string }[]
}

interface Order {
  readonly asked: Query
  readonly expect: number
  readonly reason: string
}

/** One by one where they were picked by hand: each has its own answer, and one that refuses stops none of the others. */
async function perform(action: BulkAction, chosen: readonly string[] | null, order: Order): Promise<string> {
  const { asked, expect, reason } = order
  if (chosen === null) {
    const { found, changed, refused } = await post<Outcome>('workflows/bulk', { filter: asked, action, expect, reason })
    const [first] = refused
    const left = first === undefined ? '' : ` ${counted(found - changed, 'workflow')} refused: ${first.message}`
    return `${capital(action)}: done for ${counted(changed, 'workflow')}.${left}`
  }
  const refused: string[] = []
  for (const id of chosen) {
    try {
      await post(`workflows/${encodeURIComponent(id)}/${action}`, { reason })
    } catch (error) {
      refused.push(describe(error).message)
    }
  }
  const [first] = refused
  if (first !== undefined && refused.length === chosen.length) throw new Error(first)
  const left = first === undefined ? '' : ` ${counted(refused.length, 'workflow')} refused: ${first}`
  return `${capital(action)}: done for ${counted(chosen.length - refused.length, 'workflow')}.${left}`
}
