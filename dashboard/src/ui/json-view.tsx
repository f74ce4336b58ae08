/** A payload, as text and nothing but text. Long ones are folded until somebody asks. */
import { useState } from 'react'
import { ScrollText } from './scroll-text.tsx'
import { count, pretty } from './wording.ts'

const shown = 4000

export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const [whole, setWhole] = useState(false)
  if (value === undefined || value === null) return <p className="muted">Nothing.</p>
  const text = pretty(value)
  const cut = !whole && text.length > shown
  return (
    <div className="json">
      <ScrollText label={`${label} as JSON`} text={cut ? `${text.slice(0, shown)}…` : text} />
      {cut && (
        <button type="button" className="link" onClick={() => setWhole(true)}>
          Show all {count(text.length)} characters
        </button>
      )}
    </div>
  )
}
