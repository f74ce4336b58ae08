/** The frame around every page: navigation, search, the live stream, and which page is shown. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { followChanges, type LiveState } from './api/live-updates.ts'
import { pageFor } from './routing/page-for.tsx'
import { type Route, useRoute } from './routing/route.ts'
import { Help } from './shell/help.tsx'
import { Navigation } from './shell/navigation.tsx'
import { TopBar } from './shell/top-bar.tsx'
import { usePageKeys } from './ui/keyboard.ts'

export function App() {
  const route = useRoute()
  const live = useLive(route)
  const search = useRef<HTMLInputElement>(null)
  const [help, setHelp] = useState(false)
  usePageKeys(useMemo(() => ({ search: () => search.current?.focus(), help: () => setHelp(true) }), []))
  return (
    <div className="shell">
      <button type="button" className="skip-link" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the page
      </button>
      <TopBar search={search} live={live} help={() => setHelp(true)} />
      <Navigation route={route} />
      <main id="main" tabIndex={-1}>
        {/* A page of another thing is another page: it begins with its own state. */}
        <div key={route.segments.join('/')}>{pageFor(route)}</div>
      </main>
      {help && <Help close={() => setHelp(false)} />}
    </div>
  )
}

/** One stream for the page: of the workflow that is looked at, or of everything. */
function useLive({ segments }: Route): LiveState {
  const client = useQueryClient()
  const [state, setState] = useState<LiveState>('connecting')
  const workflowId = segments[0] === 'workflows' ? (segments[1] ?? null) : null
  useEffect(() => followChanges(client, workflowId, setState), [client, workflowId])
  return state
}
