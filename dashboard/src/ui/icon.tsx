/** A small line icon. It decorates what a word beside it says, so it is hidden from screen readers. */
import { type IconName, iconPaths } from './state-look.ts'

export function Icon({ name, size = 14 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={iconPaths[name]} />
    </svg>
  )
}
