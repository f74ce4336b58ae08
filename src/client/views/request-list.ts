/** What people asked of queues, schedules and the store itself, newest first: who, why, when. */
import { InvalidArgumentError } from '../../errors.ts'
import { toDate } from '../../primitives/to-date.ts'
import type { RequestAction, RequestRead, RequestRecord } from '../../store/request-store.ts'
import type { Store } from '../../store/store.ts'
import { encodedJson } from './encoded.ts'
import { limitFrom, type Page, type PageOptions, refuseUnknownOfPage } from './view-options.ts'

export interface RequestView {
  readonly id: string
  readonly action: RequestAction
  /** The queue or schedule; `null` where it is about none. */
  readonly name: string | null
  readonly by: string | null
  readonly reason: string | null
  readonly at: Date
  /** The new limits of a queue; of a prune what it was to remove, and how many it has. */
  readonly detail: unknown
}

export interface RequestListOptions extends PageOptions {
  readonly about?: RequestRead['about']
}

const uuid = /^[0-9a-f-]{36}$/

export async function listRequests(store: Store, options: RequestListOptions): Promise<Page<RequestView>> {
  refuseUnknownOfPage('requests', options, ['about'])
  const { cursor, about } = options
  const limit = limitFrom(options.limit)
  if (cursor !== undefined && !uuid.test(cursor)) {
    throw new InvalidArgumentError(`The cursor ${JSON.stringify(cursor)} is not one that a page has given.`)
  }
  const rows = await store.requests.list({
    limit: limit + 1,
    ...(cursor === undefined ? {} : { before: cursor }),
    ...(about === undefined ? {} : { about }),
  })
  const items = rows.slice(0, limit).map(requestView)
  return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
}

function requestView({ detail, at, ...rest }: RequestRecord): RequestView {
  return { ...rest, at: toDate(at), detail: encodedJson(detail) }
}
