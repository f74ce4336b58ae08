/** Starts a workflow by hand: its hero, its input, and a key that keeps it from being started twice. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { post } from '../api/request.ts'
import type { WorkflowSummary } from '../api/types.ts'
import { href, navigate } from '../routing/route.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Failure } from '../ui/notice.tsx'
import { useTell } from '../ui/toasts.tsx'
import { JsonField, readJson } from './json-field.tsx'

interface Props {
  readonly type: string
  /** The first that the class declares; empty where it declares none. */
  readonly heroType: string
  readonly close: () => void
}

export function StartDialog({ type, heroType, close }: Props) {
  const client = useQueryClient()
  const tell = useTell()
  const [fields, setFields] = useState(() => ({ heroType, heroId: '', input: '', idempotencyKey: randomKey() }))
  const set = (name: keyof typeof fields) => (value: string) => setFields({ ...fields, [name]: value })
  const start = useMutation({
    mutationFn: () => post<WorkflowSummary>('workflows', bodyOf(type, fields)),
    onSuccess: workflow => {
      tell(`${type} is started.`)
      void client.invalidateQueries()
      // Not left to the page: whoever comes back before it has noticed would find the dialog of a start that is done.
      close()
      navigate(href('workflows', workflow.id))
    },
  })
  return (
    <Dialog title={`Start ${type}`} close={close}>
      <form onSubmit={submitted}>
        <div className="field-row">
          <Field label="Hero type" value={fields.heroType} change={set('heroType')} required={fields.heroId !== ''} />
          <Field label="Hero id" value={fields.heroId} change={set('heroId')} />
        </div>
        <JsonField label="Input" hint="JSON, or nothing." text={fields.input} change={set('input')} rows={5} />
        <Field
          label="Idempotency key"
          hint="However often it is sent with this key, one workflow is started."
          value={fields.idempotencyKey}
          change={set('idempotencyKey')}
        />
        {start.error && <Failure error={start.error} />}
        <div className="dialog-actions">
          <button type="button" onClick={close}>
            Back
          </button>
          <button type="submit" className="primary" disabled={start.isPending}>
            Start
          </button>
        </div>
      </form>
    </Dialog>
  )

  function submitted(event: FormEvent): void {
    event.preventDefault()
    start.mutate()
  }
}

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly change: (value: string) => void
  readonly hint?: string
  readonly required?: boolean
}

function Field({ label, value, change, hint, required = false }: FieldProps) {
  return (
    <label className="field">
      <span>
        {label} {!required && <span className="muted">(optional)</span>}
      </span>
      <input value={value} required={required} onChange={event => change(event.target.value)} />
      {hint && <span className="hint">{hint}</span>}
    </label>
  )
}

/** One for each dialog, so that it can be sent again when no answer came. `randomUUID` is not there on pages without TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

function bodyOf(
  type: string,
  {
    heroType,
    heroId,
    input,
    idempotencyKey,
  }: Readonly<Record<'heroType' | 'heroId' | 'input' | 'idempotencyKey', string>>,
): object {
  const value = readJson(input, 'The input')
  return {
    type,
    ...(heroId === '' ? {} : { hero: { type: heroType, id: heroId } }),
    ...(value === undefined ? {} : { input: value }),
    ...(idempotencyKey === '' ? {} : { idempotencyKey }),
  }
}
