/** The handful of numbers that say whether somebody has to do something. */
import type { Overview } from '../api/types.ts'
import { href, withQuery } from '../routing/route.ts'
import { shortCount, shortSpan, span } from '../ui/wording.ts'

interface Tile {
  readonly name: string
  readonly value: string
  readonly note: string
  readonly address: string
  /** Somebody should look. */
  readonly alarm?: boolean
}

const active = ['ready', 'performing', 'rolling_back'] as const
/** Where attempts that have failed are to be found, if nobody has put them right. */
const troubled = ['paused', 'dlq', 'rolling_back', 'failed'] as const

export function OverviewTiles({ facts }: { readonly facts: Overview }) {
  return (
    <ul className="tiles">
      {tilesOf(facts).map(({ name, value, note, address, alarm }) => (
        <li key={name}>
          <a href={address} className={alarm ? 'tile alarm' : 'tile'}>
            <span className="tile-name">{name}</span>
            <span className="tile-value">{value}</span>
            <span className="tile-note">{note}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}

function tilesOf(facts: Overview): Tile[] {
  const { states, series, approvals, deadLetters, oldestDueMs: late, workers } = facts
  const sum = (name: 'started' | 'finished' | 'failed') => series.reduce((total, point) => total + point[name], 0)
  const stretch = spanOf(series)
  const silent = workers.filter(({ alive }) => !alive).length
  const list = (state: string | readonly string[]) => withQuery(href('workflows'), { state })
  return [
    {
      name: 'Active',
      value: shortCount(active.reduce((total, state) => total + (states[state] ?? 0), 0)),
      note: `${shortCount(states.performing ?? 0)} performing`,
      address: list(active),
    },
    { name: 'Finished', value: shortCount(sum('finished')), note: stretch, address: list('finished') },
    {
      name: 'Failed attempts',
      value: shortCount(sum('failed')),
      note: stretch,
      address: list(troubled),
      alarm: sum('failed') > 0,
    },
    {
      name: 'Paused',
      value: shortCount(states.paused ?? 0),
      note: (states.paused ?? 0) > 0 ? 'until resumed' : 'none',
      address: list('paused'),
      alarm: (states.paused ?? 0) > 0,
    },
    {
      name: 'Approvals',
      value: shortCount(approvals),
      note: approvals > 0 ? 'wait for a person' : 'none wait',
      address: href('approvals'),
    },
    {
      name: 'Dead letters',
      value: shortCount(deadLetters),
      note: deadLetters > 0 ? 'given up' : 'none open',
      address: href('dead-letters'),
      alarm: deadLetters > 0,
    },
    {
      name: 'Oldest due',
      value: late === null ? '–' : shortSpan(late),
      note: late === null ? 'nothing waits' : 'waits for a worker',
      address: href('queues'),
      alarm: late !== null && late > 60_000,
    },
    {
      name: 'Workers',
      value: shortCount(workers.length - silent),
      note: silent > 0 ? `${silent} silent` : 'alive',
      address: href('workers'),
      alarm: workers.length - silent === 0,
    },
  ]
}

function spanOf(series: Overview['series']): string {
  const [first] = series
  const last = series.at(-1)
  if (!first || !last) return 'no data yet'
  return `in ${span(Math.max(60_000, new Date(last.at).getTime() - new Date(first.at).getTime()))}`
}
