/** Acts on many workflows: those that are selected, or all that the filter finds. It counts first and asks. */
import { useState } from 'react'
import { useMay } from '../api/queries.ts'
import type { Query } from '../api/request.ts'
import { counted } from '../ui/wording.ts'
import { type BulkAction, BulkDialog, bulkActions } from './bulk-dialog.tsx'
import { capital } from './workflow-actions.tsx'

interface Props {
  readonly chosen: readonly string[]
  /** The filter of the list. */
  readonly asked: Query
  readonly clear: () => void
}

export function BulkActions({ chosen, asked, clear }: Props) {
  const [action, setAction] = useState<BulkAction | null>(null)
  const [everything, setEverything] = useState(false)
  const isAdmin = useMay('admin')
  const active = everything || chosen.length > 0
  return (
    <section className={active ? 'bulk is-active' : 'bulk'} aria-label="Act on many">
      {isAdmin && (
        <label>
          <input type="checkbox" checked={everything} onChange={event => setEverything(event.target.checked)} />
          All that this filter finds
        </label>
      )}
      <span className="bulk-count" aria-live="polite">
        {everything ? 'everything found' : chosen.length > 0 ? `${counted(chosen.length, 'workflow')} selected` : ''}
      </span>
      <span className="row-actions">
        {bulkActions
          .filter(each => each !== 'abort' || isAdmin)
          .map(each => (
            <button key={each} type="button" disabled={!active} onClick={() => setAction(each)}>
              {capital(each)}
            </button>
          ))}
      </span>
      {action && (
        <BulkDialog
          action={action}
          chosen={everything ? null : chosen}
          asked={asked}
          close={() => setAction(null)}
          done={() => {
            clear()
            setEverything(false)
          }}
        />
      )}
    </section>
  )
}
