/** The keys, as a person asks for them with `?`. */
import { Dialog } from '../ui/dialog.tsx'
import { places } from '../ui/keyboard.ts'

const keys: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['j, k', 'next or previous row of a list'],
  ['Enter, o', 'open the row'],
  ['x', 'select the row'],
  ['Esc', 'close a dialog, leave the search'],
  ['?', 'this list'],
]

export function Help({ close }: { readonly close: () => void }) {
  return (
    <Dialog title="Keyboard" close={close}>
      <dl className="keys">
        {[...keys, ...places.map(({ key, name }) => [`g ${key}`, `go to ${name}`] as const)].map(([key, means]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{means}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
