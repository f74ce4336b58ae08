/** How many of each state, as one bar with its legend. Every part of the legend may lead somewhere. */
import { StateBadge } from '../ui/state-badge.tsx'
import { inOrder, lookOf } from '../ui/state-look.ts'
import { count } from '../ui/wording.ts'

interface Props {
  readonly states: Readonly<Record<string, number>>
  /** Where the list of one state is. */
  readonly address?: (state: string) => string
  readonly capped?: boolean
}

export function StateBar({ states, address, capped = false }: Props) {
  const entries = inOrder(states)
  return (
    <div className="state-bar">
      <Segments entries={entries} />
      <ul>
        {entries.map(([state, amount]) => (
          <li key={state}>
            {address ? (
              <a href={address(state)}>
                <StateBadge state={state} /> <strong>{count(amount)}</strong>
              </a>
            ) : (
              <span>
                <StateBadge state={state} /> <strong>{count(amount)}</strong>
              </span>
            )}
          </li>
        ))}
      </ul>
      {capped && <p className="muted small">Counting stops at a limit: there are more.</p>}
    </div>
  )
}

/** The bar alone. The words are elsewhere, so it is hidden from screen readers. */
export function Segments({ entries }: { readonly entries: readonly (readonly [string, number])[] }) {
  const total = entries.reduce((sum, [, amount]) => sum + amount, 0)
  let x = 0
  return (
    <svg className="segments" width="100%" height="8" aria-hidden="true" focusable="false">
      {entries.map(([state, amount]) => {
        const width = (amount / total) * 100
        const start = x
        x += width
        return (
          <rect
            key={state}
            className={`tone-${lookOf(state).tone} is-${state}`}
            x={`${start}%`}
            width={`${width}%`}
            height="8"
          />
        )
      })}
    </svg>
  )
}
