/** What stands where there is nothing, not yet anything, or something went wrong. Each says what to do next. */
import type { ReactNode } from 'react'
import { ApiError } from '../api/request.ts'

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="notice empty">
      <p className="notice-title">{title}</p>
      {children && <div className="notice-text">{children}</div>}
    </div>
  )
}

export function Failure({ error }: { readonly error: unknown }) {
  const { message, remedy } = describe(error)
  return (
    <div className="notice failure" role="alert">
      <p className="notice-title">{message}</p>
      {remedy && <p className="notice-text">{remedy}</p>}
    </div>
  )
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <div className="notice loading" role="status">
      <span className="spinner" aria-hidden="true" />
      Loading {what}…
    </div>
  )
}

export function describe(error: unknown): { message: string; remedy: string | null } {
  if (error instanceof ApiError) return { message: error.message, remedy: error.remedy ?? remedyFor(error.status) }
  return { message: error instanceof Error ? error.message : String(error), remedy: null }
}

function remedyFor(status: number): string | null {
  if (status === 401) return 'Sign in to the application that serves this page, then reload.'
  if (status === 403) return 'Your role may not do this. Ask somebody who is operator or admin.'
  if (status === 404) return 'It may have been pruned, or the id is not right.'
  if (status === 409) return 'It has changed meanwhile. Look again, then decide.'
  return null
}
