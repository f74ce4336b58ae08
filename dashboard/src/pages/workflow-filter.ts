/** The filter of the list of workflows, as it stands in the address. */
import type { Query } from '../api/request.ts'

export interface WorkflowFilter {
  readonly state: readonly string[]
  readonly type: string
  readonly q: string
  readonly hero: string
  readonly at: string
  readonly tag: string
  readonly error: string
  /** One of the ages below. */
  readonly age: string
}

interface Age {
  readonly name: string
  readonly label: string
  readonly ms: number
  readonly side: 'createdAfter' | 'createdBefore'
}

const hour = 3_600_000

export const ages: readonly Age[] = [
  { name: 'hour', label: 'started in the last hour', ms: hour, side: 'createdAfter' },
  { name: 'day', label: 'started in the last day', ms: 24 * hour, side: 'createdAfter' },
  { name: 'week', label: 'started in the last week', ms: 168 * hour, side: 'createdAfter' },
  { name: 'older-day', label: 'older than a day', ms: 24 * hour, side: 'createdBefore' },
  { name: 'older-week', label: 'older than a week', ms: 168 * hour, side: 'createdBefore' },
  { name: 'older-month', label: 'older than 30 days', ms: 720 * hour, side: 'createdBefore' },
]

export function filterFrom(query: URLSearchParams): WorkflowFilter {
  const text = (name: string) => query.get(name) ?? ''
  return {
    state: query.getAll('state'),
    type: text('type'),
    q: text('q'),
    hero: text('hero'),
    at: text('at'),
    tag: text('tag'),
    error: text('error'),
    age: text('age'),
  }
}

/** What the server is asked. The hour is rounded to a minute, so that looking again is the same question. */
export function askedOf({ age, ...rest }: WorkflowFilter, now: number): Query {
  const chosen = ages.find(({ name }) => name === age)
  const asked = Object.fromEntries(Object.entries(rest).filter(([, value]) => value.length > 0))
  if (chosen === undefined) return asked
  const moment = new Date(Math.floor(now / 60_000) * 60_000 - chosen.ms)
  return { ...asked, [chosen.side]: moment.toISOString() }
}

export function isEmptyFilter(filter: WorkflowFilter): boolean {
  return Object.values(filter).every(value => value.length === 0)
}
