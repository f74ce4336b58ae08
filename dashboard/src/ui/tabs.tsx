/** Tabs, by the pattern that screen readers know: arrows move, and only the chosen one is in the order of Tab. */
import { type KeyboardEvent, type ReactNode, useId, useRef } from 'react'

export interface Tab {
  readonly name: string
  readonly label: string
  readonly show: () => ReactNode
}

interface Props {
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly chosen: string
  readonly choose: (name: string) => void
}

export function Tabs({ label, tabs, chosen, choose }: Props) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const current = tabs.find(tab => tab.name === chosen) ?? tabs[0]
  if (current === undefined) return null
  return (
    <div className="tabs">
      <div role="tablist" aria-label={label} ref={list} onKeyDown={moved}>
        {tabs.map(tab => (
          <button
            key={tab.name}
            type="button"
            role="tab"
            id={`${id}-${tab.name}`}
            aria-selected={tab === current}
            aria-controls={tab === current ? `${id}-panel` : undefined}
            tabIndex={tab === current ? 0 : -1}
            onClick={() => choose(tab.name)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current.name}`}>
        {current.show()}
      </div>
    </div>
  )

  function moved(event: KeyboardEvent): void {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0 || current === undefined) return
    const at = (tabs.indexOf(current) + step + tabs.length) % tabs.length
    const tab = tabs[at]
    if (tab === undefined) return
    choose(tab.name)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[at]?.focus()
  }
}
