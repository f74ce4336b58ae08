/** The way to every page, with a number where something waits for a person. */
import { useEffect, useRef } from 'react'
import { useOverview } from '../api/queries.ts'
import type { Route } from '../routing/route.ts'
import { Icon } from '../ui/icon.tsx'
import type { IconName } from '../ui/state-look.ts'
import { shortCount } from '../ui/wording.ts'

interface Entry {
  readonly place: string
  readonly name: string
  readonly icon: IconName
  readonly waiting?: 'approvals' | 'deadLetters'
}

const entries: readonly Entry[] = [
  { place: '', name: 'Overview', icon: 'chart' },
  { place: 'workflows', name: 'Workflows', icon: 'list' },
  { place: 'approvals', name: 'Approvals', icon: 'person', waiting: 'approvals' },
  { place: 'dead-letters', name: 'Dead letters', icon: 'letter', waiting: 'deadLetters' },
  { place: 'schedules', name: 'Schedules', icon: 'calendar' },
  { place: 'queues', name: 'Queues', icon: 'stack' },
  { place: 'workers', name: 'Workers', icon: 'chip' },
  { place: 'definitions', name: 'Definitions', icon: 'graph' },
]

export function Navigation({ route }: { readonly route: Route }) {
  const overview = useOverview()
  const [current = ''] = route.segments
  const list = useRef<HTMLUListElement>(null)
  // On a phone it is a strip that is longer than the screen.
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [current])
  return (
    <nav className="navigation" aria-label="Main">
      <ul ref={list}>
        {entries.map(({ place, name, icon, waiting }) => {
          const amount = waiting === undefined ? 0 : (overview.data?.[waiting] ?? 0)
          return (
            <li key={place}>
              <a href={`#/${place}`} aria-current={place === current ? 'page' : undefined}>
                <Icon name={icon} size={16} />
                {name}
                {amount > 0 && (
                  <span className="waiting-count">
                    {shortCount(amount)}
                    <span className="unseen"> waiting</span>
                  </span>
                )}
              </a>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}
