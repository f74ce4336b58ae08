/** A state as icon, word and colour. */
import { Icon } from './icon.tsx'
import { lookOf } from './state-look.ts'
import { words } from './wording.ts'

export function StateBadge({ state }: { readonly state: string }) {
  const { tone, icon } = lookOf(state)
  return (
    <span className={`badge tone-${tone}`} data-state={state}>
      <Icon name={icon} size={12} />
      {words(state)}
    </span>
  )
}
