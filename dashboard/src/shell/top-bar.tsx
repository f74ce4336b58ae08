/** What stays in sight: the search, whether the page is live, who is looking, and light or dark. */
import { type FormEvent, type RefObject, useState } from 'react'
import type { LiveState } from '../api/live-updates.ts'
import { useMe } from '../api/queries.ts'
import { href, navigate, withQuery } from '../routing/route.ts'
import { Icon } from '../ui/icon.tsx'
import { useTheme } from '../ui/theme.ts'
import { Brand } from './brand.tsx'

interface Props {
  readonly search: RefObject<HTMLInputElement | null>
  readonly live: LiveState
  readonly help: () => void
}

const liveWords: Readonly<Record<LiveState, string>> = {
  connecting: 'Connecting',
  live: 'Live',
  broken: 'Reconnecting',
}

export function TopBar({ search, live, help }: Props) {
  const [theme, turn] = useTheme()
  const me = useMe()
  return (
    <header className="top-bar">
      <Brand />
      <SearchBox search={search} />
      <span className={`live is-${live}`} role="status">
        <span className="live-dot" aria-hidden="true" />
        {liveWords[live]}
      </span>
      {me.data && (
        <span className="me" title={me.data.readOnly ? 'You can look, not change.' : undefined}>
          {me.data.by} <span className="muted">{me.data.role}</span>
        </span>
      )}
      <button type="button" className="quiet" onClick={help} aria-label="Keyboard shortcuts">
        <Icon name="help" size={16} />
      </button>
      <button
        type="button"
        className="quiet"
        onClick={turn}
        aria-label={theme === 'dark' ? 'Switch to light' : 'Switch to dark'}
      >
        <Icon name={theme === 'dark' ? 'sun' : 'moon'} size={16} />
      </button>
    </header>
  )
}

function SearchBox({ search }: { readonly search: RefObject<HTMLInputElement | null> }) {
  const [text, setText] = useState('')
  return (
    <search className="search-box">
      <form onSubmit={submitted}>
        <Icon name="search" />
        <input
          ref={search}
          type="search"
          value={text}
          placeholder="Workflow or hero id"
          aria-label="Search by workflow id or hero id"
          onChange={event => setText(event.target.value)}
          onKeyDown={event => event.key === 'Escape' && event.currentTarget.blur()}
        />
        <kbd>/</kbd>
      </form>
    </search>
  )

  function submitted(event: FormEvent): void {
    event.preventDefault()
    if (text.trim() === '') return
    navigate(withQuery(href('workflows'), { q: text.trim() }))
    setText('')
    search.current?.blur()
  }
}
