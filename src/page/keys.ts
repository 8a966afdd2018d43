/** The keys of the page: search, rows, views and help. */
import { useEffect } from 'preact/hooks'
import { goTo, keptNamespace } from './route.ts'

/** Listens to keys as long as the page is shown. `views`: the key that opens each path after `g`. */
export function useKeys(views: Readonly<Record<string, { key: string }>>, toggleHelp: () => void): void {
  useEffect(() => {
    let isGoing = false
    const press = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && isField(event.target)) event.target.blur()
      if (isForBrowser(event)) return
      const wasGoing = isGoing
      isGoing = event.key === 'g'
      const path = wasGoing && Object.keys(views).find((name) => views[name]?.key === event.key)
      if (path) return goTo(`/${path}${keptNamespace()}`)
      const run = actionOf(event.key, toggleHelp)
      if (!run) return
      event.preventDefault()
      run()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

/** Whether a key belongs to the browser: with a modifier, in a field, or on a link. */
function isForBrowser({ key, target, metaKey, ctrlKey, altKey }: KeyboardEvent): boolean {
  if (metaKey || ctrlKey || altKey) return true
  return isField(target) || (isPressable(target) && key === 'Enter')
}

function actionOf(key: string, toggleHelp: () => void): (() => void) | undefined {
  const closesHelp = key === 'Escape' && document.querySelector('dialog[open]') !== null
  return key === '?' || closesHelp ? toggleHelp : ACTIONS[key]
}

const ACTIONS: Readonly<Record<string, () => void>> = {
  '/': () => document.querySelector<HTMLInputElement>('#search')?.focus(),
  j: () => focusRow(1),
  k: () => focusRow(-1),
  Enter: () => focusedRow()?.querySelector('a')?.click(),
  Escape: () => history.back(),
}

function focusedRow(): HTMLElement | null {
  return (document.activeElement as HTMLElement | null)?.closest<HTMLElement>('[data-row]') ?? null
}

function focusRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')]
  const focused = focusedRow()
  const next = focused ? rows.indexOf(focused) + step : 0
  rows[Math.max(0, Math.min(next, rows.length - 1))]?.focus()
}

function isField(target: EventTarget | null): target is HTMLElement {
  return target instanceof HTMLElement && ['INPUT', 'SELECT', 'TEXTAREA'].includes(target.tagName)
}

/** The browser itself opens a focused link or presses a button. */
function isPressable(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && ['A', 'BUTTON'].includes(target.tagName)
}
