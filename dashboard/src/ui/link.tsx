/** Links to pages of the dashboard, by what they show. */
import type { ReactNode } from 'react'
import type { Hero } from '../api/types.ts'
import { href } from '../routing/route.ts'
import { shortId } from './wording.ts'

export function WorkflowLink({ id, children }: { readonly id: string; readonly children?: ReactNode }) {
  return (
    <a href={href('workflows', id)} className="mono" title={id}>
      {children ?? shortId(id)}
    </a>
  )
}

export function HeroLink({ hero }: { readonly hero: Hero | null }) {
  if (hero === null) return <span className="muted">–</span>
  return (
    <a href={href('heroes', hero.type, hero.id)} className="hero-link">
      {hero.type} <span className="mono">{hero.id}</span>
    </a>
  )
}

/** The name of a class; a graph that was built at run time has none. */
export function typeName(type: string): string {
  return type === '' ? 'graph' : type
}
