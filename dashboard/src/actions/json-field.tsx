/** An editor for a JSON payload. What is not JSON is said at once and is never sent. */
import { useId } from 'react'

interface Props {
  readonly label: string
  readonly text: string
  readonly change: (text: string) => void
  readonly hint?: string
  readonly rows?: number
}

export function JsonField({ label, text, change, hint, rows = 8 }: Props) {
  const id = useId()
  const mistake = mistakeIn(text)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className="mono"
        rows={rows}
        spellCheck={false}
        value={text}
        aria-invalid={mistake !== null}
        aria-describedby={`${id}-hint`}
        onChange={event => change(event.target.value)}
      />
      <span id={`${id}-hint`} className={mistake === null ? 'hint' : 'hint bad'} aria-live="polite">
        {mistake ?? hint ?? ''}
      </span>
    </div>
  )
}

/** `undefined` where nothing was written. Throws with what to put right. */
export function readJson(text: string, what: string): unknown {
  if (text.trim() === '') return undefined
  const mistake = mistakeIn(text)
  if (mistake !== null) throw new Error(`${what} is not JSON. ${mistake}`)
  return JSON.parse(text)
}

function mistakeIn(text: string): string | null {
  if (text.trim() === '') return null
  try {
    JSON.parse(text)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
