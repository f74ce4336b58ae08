/** One dead letter: its error, its input to be corrected where it takes one, and requeue or discard. */
import { useState } from 'react'
import { ActionDialog, reasonOf } from '../actions/action-dialog.tsx'
import { JsonField, readJson } from '../actions/json-field.tsx'
import { useDeadLetter, useMay, useWorkflow } from '../api/queries.ts'
import type { DeadLetterDetail } from '../api/types.ts'
import { href } from '../routing/route.ts'
import { Answer } from '../ui/answer.tsx'
import { Card } from '../ui/card.tsx'
import { ErrorText } from '../ui/error-text.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { typeName } from '../ui/link.tsx'
import { Page } from '../ui/page.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { Time } from '../ui/time.tsx'
import { letterReason, pretty } from '../ui/wording.ts'

export function DeadLetterPage({ id }: { readonly id: string }) {
  const letter = useDeadLetter(id)
  return (
    <Page
      title={letter.data ? `Dead letter: ${nameOf(letter.data)}` : 'Dead letter'}
      lead={letter.data && <Facts letter={letter.data} />}
    >
      <Answer query={letter} what="the dead letter">
        {data => (
          <>
            {data.error && (
              <Card title="Error">
                <ErrorText error={data.error} />
              </Card>
            )}
            {data.takesInput ? (
              <Handling key={data.state} letter={data} />
            ) : (
              <HandlingAsItIs key={data.state} letter={data} />
            )}
          </>
        )}
      </Answer>
    </Page>
  )
}

function Facts({ letter }: { readonly letter: DeadLetterDetail }) {
  return (
    <ul className="facts">
      <li>
        <StateBadge state={letter.state} />
      </li>
      <li>
        <a href={href('workflows', letter.workflowId)}>{typeName(letter.workflowType)} workflow</a>
      </li>
      <li>
        Given up <Time at={letter.createdAt} />: {letterReason(letter.reason)}
      </li>
      <li>Attempt {letter.attempt}</li>
      {letter.handledAt && (
        <li>
          Handled <Time at={letter.handledAt} /> {letter.handledBy ? `by ${letter.handledBy}` : ''}
          {letter.handledReason ? `: ${letter.handledReason}` : ''}
        </li>
      )}
    </ul>
  )
}

const thens = {
  cancel: 'cancel the workflow, and undo what it has done',
  skip: 'let the workflow go on without this step',
  rollback: 'roll the workflow back to its last save point',
  abort: 'abort the workflow: nothing is undone',
} as const

function isCompensation({ kind }: DeadLetterDetail): boolean {
  return kind === 'compensate'
}

function nameOf(letter: DeadLetterDetail): string {
  return isCompensation(letter) ? `undoing ${letter.name}` : letter.name
}

/** A compensation has no input, and a step that waits for something works on what has come. */
function HandlingAsItIs({ letter }: { readonly letter: DeadLetterDetail }) {
  const mayRequeue = useMay('operator')
  if (letter.state !== 'open' || !mayRequeue) return null
  return (
    <Card title="Put it right">
      {isCompensation(letter) ? (
        <p>
          What undoes {letter.name} was given up. Put right what kept it from that, then requeue; or discard, when it is
          undone by hand or stays as it is.
        </p>
      ) : (
        <p>
          What {letter.name} works on is what it has waited or asked for, so there is no input to correct. Put right
          what made it fail, then requeue; or discard it.
        </p>
      )}
      <Actions letter={letter} input={null} />
    </Card>
  )
}

const noInput = 'Write null for no input.'

function Handling({ letter }: { readonly letter: DeadLetterDetail }) {
  const mayRequeue = useMay('operator')
  const before = pretty(letter.input ?? undefined)
  const [input, setInput] = useState(before)
  if (letter.state !== 'open' || !mayRequeue) {
    return (
      <Card title="Input">
        <JsonView value={letter.input} label="Input" />
      </Card>
    )
  }
  const edited = input.trim() !== before
  const hint = edited
    ? input.trim() === ''
      ? noInput
      : 'Changed: a requeue runs with this input.'
    : letter.input === null
      ? 'The step had no input of its own. What you write here it reads as this.execution.input.'
      : 'A requeue runs with this input. Change it if it was the cause.'
  return (
    <Card title="Put it right">
      <WorkflowInput id={letter.workflowId} copy={letter.input === null ? setInput : null} />
      <JsonField label="Input" hint={hint} text={input} change={setInput} rows={6} />
      <Actions letter={letter} input={edited ? input : null} />
    </Card>
  )
}

/** `input`: what the person has written instead; `null` where it is as it was. */
function Actions({ letter, input }: { readonly letter: DeadLetterDetail; readonly input: string | null }) {
  const mayDiscard = useMay('admin')
  const [asked, setAsked] = useState<'requeue' | 'discard' | null>(null)
  const close = () => setAsked(null)
  const Discard = isCompensation(letter) ? DiscardUndoDialog : DiscardDialog
  return (
    <>
      <div className="dialog-actions">
        {mayDiscard && (
          <button type="button" className="grave-quiet" onClick={() => setAsked('discard')}>
            Discard
          </button>
        )}
        <button type="button" className="primary" onClick={() => setAsked('requeue')}>
          {input === null ? 'Requeue' : 'Requeue with the new input'}
        </button>
      </div>
      {asked === 'requeue' && <RequeueDialog letter={letter} input={input} close={close} />}
      {asked === 'discard' && <Discard letter={letter} close={close} />}
    </>
  )
}

interface DialogProps {
  readonly letter: DeadLetterDetail
  readonly close: () => void
}

function RequeueDialog({ letter, input, close }: DialogProps & { readonly input: string | null }) {
  return (
    <ActionDialog
      title={`Requeue ${nameOf(letter)}?`}
      confirm="Requeue"
      close={close}
      deed={reason => {
        const value = input === null ? undefined : readJson(input, 'The input')
        // A request without an input keeps the old one, which is not what an empty field looks like.
        if (input !== null && value === undefined) throw new Error(`The input is empty. ${noInput}`)
        return {
          path: `${pathOf(letter)}/requeue`,
          body: { ...reasonOf(reason), ...(value === undefined ? {} : { input: value }) },
          done: `${nameOf(letter)} is requeued.`,
        }
      }}
    >
      <p>
        A new attempt is scheduled{input === null ? '' : ' with the input that you wrote'}
        {isCompensation(letter) ? '; where the workflow has ended, it keeps its end.' : ', and the workflow goes on.'}
      </p>
    </ActionDialog>
  )
}

function DiscardUndoDialog({ letter, close }: DialogProps) {
  return (
    <ActionDialog
      title={`Discard the dead letter of ${nameOf(letter)}?`}
      confirm="Discard"
      grave
      close={close}
      deed={reason => ({ path: `${pathOf(letter)}/discard`, body: reasonOf(reason), done: 'Discarded.' })}
    >
      <p>What {letter.name} has done stays done, and the workflow stays as it is.</p>
    </ActionDialog>
  )
}

function DiscardDialog({ letter, close }: DialogProps) {
  const [then, setThen] = useState<keyof typeof thens>('cancel')
  return (
    <ActionDialog
      title={`Discard the dead letter of ${letter.name}?`}
      confirm="Discard"
      grave
      close={close}
      deed={reason => ({ path: `${pathOf(letter)}/discard`, body: { then, ...reasonOf(reason) }, done: 'Discarded.' })}
    >
      <label className="field">
        <span>Then</span>
        <select value={then} onChange={event => setThen(event.target.value as keyof typeof thens)}>
          {Object.entries(thens).map(([name, means]) => (
            <option key={name} value={name}>
              {means}
            </option>
          ))}
        </select>
      </label>
    </ActionDialog>
  )
}

function pathOf({ id }: DeadLetterDetail): string {
  return `dead-letters/${encodeURIComponent(id)}`
}

interface WorkflowInputProps {
  readonly id: string
  /** Takes it as what to begin from; `null` where the step has an input of its own. */
  readonly copy: ((text: string) => void) | null
}

function WorkflowInput({ id, copy }: WorkflowInputProps) {
  const { data } = useWorkflow(id)
  if (data === undefined || data.input === null) return null
  return (
    <details className="field" open>
      <summary>Input of the workflow</summary>
      <JsonView value={data.input} label="Input of the workflow" />
      {copy && (
        <button type="button" className="link" onClick={() => copy(pretty(data.input))}>
          Begin from this
        </button>
      )}
    </details>
  )
}
