/** A modal dialog: the browser keeps the focus inside, closes it by Escape, and gives the focus back. */
import { type ReactNode, useEffect, useId, useRef } from 'react'

interface Props {
  readonly title: string
  readonly close: () => void
  readonly children: ReactNode
}

export function Dialog({ title, close, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = ref.current
    const before = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog ref={ref} aria-labelledby={id} onCancel={close}>
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" className="quiet" onClick={close} aria-label="Close">
          ×
        </button>
      </div>
      {children}
    </dialog>
  )
}
