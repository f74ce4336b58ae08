/** j and k go through the rows of a table, Enter or o opens one, x selects it. Not while somebody types. */
import { type RefObject, useEffect, useRef } from 'react'
import { navigate } from '../routing/route.ts'
import { isTyping } from './keyboard.ts'

/** `addresses` has one for each row; `null` switches the keys off. */
export function useRowKeys(addresses: readonly string[] | null): RefObject<HTMLTableSectionElement | null> {
  const body = useRef<HTMLTableSectionElement>(null)
  const known = useRef(addresses)
  known.current = addresses
  useEffect(() => {
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)

    function pressed(event: KeyboardEvent): void {
      const rows = [...(body.current?.rows ?? [])]
      if (known.current === null || rows.length === 0 || isTyping(event)) return
      const at = rows.findIndex(row => row.dataset.current === 'true')
      if (event.key === 'j') mark(rows, Math.min(rows.length - 1, at + 1))
      else if (event.key === 'k') mark(rows, Math.max(0, at - 1))
      else if (event.key === 'x' && at >= 0) rows[at]?.querySelector<HTMLInputElement>('input[type=checkbox]')?.click()
      else if (event.key === 'o' && at >= 0) navigate(known.current[at] ?? '#/')
    }
  }, [])
  return body
}

/** The link of the row gets the focus, so that Enter opens it and a screen reader reads it. */
function mark(rows: readonly HTMLTableRowElement[], index: number): void {
  for (const [at, row] of rows.entries()) {
    if (at === index) row.dataset.current = 'true'
    else delete row.dataset.current
  }
  rows[index]?.scrollIntoView({ block: 'nearest' })
  rows[index]?.querySelector<HTMLElement>('a')?.focus()
}
