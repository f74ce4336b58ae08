/** Short news of what an action has done, also for screen readers. They go by themselves. */
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react'

const Tell = createContext<(text: string) => void>(() => {})

const staysMs = 6000

/** Says something to the person, once. */
export function useTell(): (text: string) => void {
  return useContext(Tell)
}

export function Toasts({ children }: { readonly children: ReactNode }) {
  const [news, setNews] = useState<readonly { readonly id: number; readonly text: string }[]>([])
  const tell = useCallback((text: string) => {
    const id = performance.now()
    setNews(before => [...before.slice(-2), { id, text }])
    setTimeout(() => setNews(before => before.filter(each => each.id !== id)), staysMs)
  }, [])
  return (
    <Tell value={tell}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {news.map(({ id, text }) => (
          <p key={id}>{text}</p>
        ))}
      </div>
    </Tell>
  )
}
