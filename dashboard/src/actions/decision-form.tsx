/** Confirm or reject, with what the form asks for and a comment. Data that does not fit comes back with what is wrong. */
import { type FormEvent, useState } from 'react'
import type { Approval, JsonSchema } from '../api/types.ts'
import { Failure } from '../ui/notice.tsx'
import { JsonField, readJson } from './json-field.tsx'
import { fieldsOf, SchemaFields, valuesFrom } from './schema-fields.tsx'
import { useAction } from './use-action.ts'

const wants = 'JSON, as the form of this step wants it.'
/** There may be none, it may be of a library that cannot say its JSON Schema, or its code is not in this process. */
const mayWant = 'JSON, if the step asks for data.'

export function DecisionForm({ approval }: { readonly approval: Approval }) {
  const action = useAction()
  const [comment, setComment] = useState('')
  const [json, setJson] = useState('')
  const [mistake, setMistake] = useState<unknown>(null)
  const { form } = approval
  const fields = form === null ? null : fieldsOf(form as JsonSchema)
  return (
    <form className="decision" onSubmit={submitted}>
      {fields !== null ? (
        <SchemaFields id={approval.executionId} fields={fields} />
      ) : (
        <JsonField label="Data" hint={form === null ? mayWant : wants} text={json} change={setJson} rows={4} />
      )}
      <label className="field">
        <span>
          Comment <span className="muted">(optional)</span>
        </span>
        <textarea rows={2} value={comment} maxLength={2000} onChange={event => setComment(event.target.value)} />
      </label>
      {(mistake ?? action.error) !== null && <Failure error={mistake ?? action.error} />}
      <div className="dialog-actions">
        {/* Who says no need not fill in the form. It does not submit: Enter in a field is for the first button that does. */}
        <button type="button" className="grave-quiet" disabled={action.isPending} onClick={() => send('rejected')}>
          Reject
        </button>
        <button type="submit" className="primary" disabled={action.isPending}>
          Confirm
        </button>
      </div>
    </form>
  )

  function submitted(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    try {
      const written =
        fields === null ? readJson(json, 'The data') : valuesFrom(new FormData(event.currentTarget), fields)
      send('confirmed', written)
    } catch (error) {
      setMistake(error)
    }
  }

  function send(decision: 'confirmed' | 'rejected', data?: unknown): void {
    setMistake(null)
    action.mutate({
      path: `executions/${encodeURIComponent(approval.executionId)}/decide`,
      body: {
        decision,
        ...(comment.trim() === '' ? {} : { comment: comment.trim() }),
        ...(data === undefined ? {} : { data }),
      },
      done: newsOf(approval, decision),
    })
  }
}

/** One no is enough; a yes may be one of several that are needed. */
function newsOf({ name, quorum, decisions }: Approval, decision: 'confirmed' | 'rejected'): string {
  const made = decisions.length + 1
  if (decision === 'rejected' || made >= quorum) return `${name} is ${decision}.`
  return `Your confirmation of ${name} is recorded (${made} of ${quorum}).`
}
