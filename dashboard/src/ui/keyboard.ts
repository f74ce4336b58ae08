/** Keys of the whole page: `/` to search, `?` for help, `g` and a letter to go somewhere. Dialogs close by Escape themselves. */
import { useEffect } from 'react'
import { navigate } from '../routing/route.ts'

/** Where `g` and a letter lead. */
export const places: readonly { readonly key: string; readonly name: string; readonly address: string }[] = [
  { key: 'o', name: 'overview', address: '#/' },
  { key: 'w', name: 'workflows', address: '#/workflows' },
  { key: 'a', name: 'approvals', address: '#/approvals' },
  { key: 'd', name: 'dead letters', address: '#/dead-letters' },
  { key: 's', name: 'schedules', address: '#/schedules' },
  { key: 'q', name: 'queues', address: '#/queues' },
  { key: 'r', name: 'workers', address: '#/workers' },
  { key: 'e', name: 'definitions', address: '#/definitions' },
]

export function usePageKeys(act: { readonly search: () => void; readonly help: () => void }): void {
  useEffect(() => {
    let going = false
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)

    function pressed(event: KeyboardEvent): void {
      if (isTyping(event)) return
      const place = going ? places.find(({ key }) => key === event.key) : undefined
      going = event.key === 'g'
      if (place) navigate(place.address)
      else if (event.key === '/') act.search()
      else if (event.key === '?') act.help()
      else return
      event.preventDefault()
    }
  }, [act])
}

/** A letter that belongs to a field, to a dialog, or to the browser. */
export function isTyping(event: KeyboardEvent): boolean {
  const isForBrowser = event.ctrlKey || event.metaKey || event.altKey
  return isField(event.target as Element) || isForBrowser || document.querySelector('dialog[open]') !== null
}

/** Letters that are pressed there are text. */
export function isField(element: Element | null): boolean {
  return !!element?.closest('input:not([type=checkbox]), textarea, select, [contenteditable]')
}
