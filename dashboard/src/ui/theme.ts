/** Light or dark: what the system says, until the person says otherwise. Remembered in this browser. */
import { useState } from 'react'

export type Theme = 'light' | 'dark'

const key = 'geneva-theme'

export function applyStoredTheme(): void {
  const stored = read()
  if (stored !== null) document.documentElement.dataset.theme = stored
}

export function useTheme(): readonly [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(() => read() ?? (prefersDark() ? 'dark' : 'light'))
  return [
    theme,
    () => {
      const next = theme === 'dark' ? 'light' : 'dark'
      document.documentElement.dataset.theme = next
      write(next)
      setTheme(next)
    },
  ]
}

function prefersDark(): boolean {
  return matchMedia('(prefers-color-scheme: dark)').matches
}

/** Storage may be forbidden; then the choice lasts as long as the page. */
function read(): Theme | null {
  try {
    const stored = localStorage.getItem(key)
    return stored === 'light' || stored === 'dark' ? stored : null
  } catch {
    return null
  }
}

function write(theme: Theme): void {
  try {
    localStorage.setItem(key, theme)
  } catch {
    // Nothing to do: see above.
  }
}
