/**
 * The frame of a page: its heading, which gets the focus when the page is entered, and what can be done there. Whoever types by then, into
 * the search for one, keeps it.
 */
import { type ReactNode, useEffect, useRef } from 'react'
import { isField } from './keyboard.ts'

interface Props {
  readonly title: string
  /** What the heading shows, where it is more than the title. */
  readonly heading?: ReactNode
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** The first page is opened by the browser, which looks after its own focus. */
let entered = false

export function Page({ title, heading, lead, actions, children }: Props) {
  const ref = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Geneva Drive`
  }, [title])
  useEffect(() => {
    if (entered && !isField(document.activeElement)) ref.current?.focus({ preventScroll: true })
    entered = true
    scrollTo(0, 0)
  }, [])
  return (
    <>
      <header className="page-head">
        <div className="page-title">
          <h1 ref={ref} tabIndex={-1}>
            {heading ?? title}
          </h1>
          {lead && <div className="lead">{lead}</div>}
        </div>
        {actions && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}
