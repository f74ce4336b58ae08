/** Shows what a query has: loading, an error, or the answer. Data that is there stays while it is asked again. */
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Failure, Loading } from './notice.tsx'

interface Props<T> {
  readonly query: UseQueryResult<T>
  readonly what: string
  readonly children: (data: T) => ReactNode
}

export function Answer<T>({ query, what, children }: Props<T>) {
  if (query.data !== undefined) {
    return (
      <>
        {query.error !== null && <Failure error={query.error} />}
        {children(query.data)}
      </>
    )
  }
  return query.error === null ? <Loading what={what} /> : <Failure error={query.error} />
}
