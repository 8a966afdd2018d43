/** The choice between light and dark colors, which the browser remembers. */
import { useEffect, useState } from 'preact/hooks'

const THEMES = ['system', 'light', 'dark'] as const

const KEY = 'theme'

export function Theme() {
  const [theme, setTheme] = useState(readTheme)
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme
    storeTheme(theme)
  }, [theme])
  return (
    <label class="theme">
      <span>Theme</span>
      <select value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
        {THEMES.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  )
}

/** A browser may have no storage, or deny it: then `localStorage` is null, or throws. The page needs it for nothing else. */
function readTheme(): string {
  try {
    return localStorage.getItem(KEY) ?? 'system'
  } catch {
    return 'system'
  }
}

/** The storage may also be full. */
function storeTheme(theme: string): void {
  try {
    localStorage.setItem(KEY, theme)
  } catch {
    // The choice lasts until the page is closed.
  }
}
