/** A part of a page with a heading of its own. */
import { type ReactNode, useId } from 'react'

interface Props {
  readonly title: string
  readonly aside?: ReactNode
  readonly className?: string
  readonly children: ReactNode
}

export function Card({ title, aside, className = '', children }: Props) {
  const id = useId()
  return (
    <section className={`card ${className}`} aria-labelledby={id}>
      <div className="card-head">
        <h2 id={id}>{title}</h2>
        {aside && <div className="card-aside">{aside}</div>}
      </div>
      {children}
    </section>
  )
}
