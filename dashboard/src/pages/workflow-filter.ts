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
  readonly side: 'newerThanMs' | 'olderThanMs'
}

const hour = 3_600_000

export const ages: readonly Age[] = [
  { name: 'hour', label: 'started in the last hour', ms: hour, side: 'newerThanMs' },
  { name: 'day', label: 'started in the last day', ms: 24 * hour, side: 'newerThanMs' },
  { name: 'week', label: 'started in the last week', ms: 168 * hour, side: 'newerThanMs' },
  { name: 'older-day', label: 'older than a day', ms: 24 * hour, side: 'olderThanMs' },
  { name: 'older-week', label: 'older than a week', ms: 168 * hour, side: 'olderThanMs' },
  { name: 'older-month', label: 'older than 30 days', ms: 720 * hour, side: 'olderThanMs' },
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

/** What the server is asked. It counts an age back from the time of the database: the clock here may be wrong. */
export function askedOf({ age, ...rest }: WorkflowFilter): Query {
  const chosen = ages.find(({ name }) => name === age)
  const asked = Object.fromEntries(Object.entries(rest).filter(([, value]) => value.length > 0))
  return chosen === undefined ? asked : { ...asked, [chosen.side]: String(chosen.ms) }
}

export function isEmptyFilter(filter: WorkflowFilter): boolean {
  return Object.values(filter).every(value => value.length === 0)
}
