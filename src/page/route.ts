/** The view that the address of the browser names: a path and a query. A link shows the same view to another reader. */
import { useEffect, useState } from 'preact/hooks'
import { kindWord } from '../api/meta.ts'
import { queryText } from './api.ts'

export interface Route {
  path: string
  query: URLSearchParams
}

const CHANGED = 'lodestone:route'

function currentRoute(): Route {
  return { path: location.pathname, query: new URLSearchParams(location.search) }
}

/** Shows another view. `replace` keeps the history short while a user types a filter. */
export function goTo(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  dispatchEvent(new Event(CHANGED))
}

/** Changes parts of the query of the view; an empty value removes one. The others stay, also those that are repeated. */
export function changeQuery(changes: Readonly<Record<string, string | undefined>>, options = { replace: true }): void {
  const { path, query } = currentRoute()
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value)
    else query.delete(name)
  }
  goTo(query.size > 0 ? `${path}?${query}` : path, options)
}

/** Returns the query of the address of another view: the namespace stays when the user changes the view. */
export function keptNamespace({ query }: Pick<Route, 'query'> = currentRoute()): string {
  return queryText({ namespace: query.get('namespace') ?? undefined })
}

/** Returns the current view, and renders again when it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute)
  useEffect(() => {
    const update = () => setRoute(currentRoute())
    for (const event of ['popstate', CHANGED]) addEventListener(event, update)
    return () => {
      for (const event of ['popstate', CHANGED]) removeEventListener(event, update)
    }
  }, [])
  return route
}

/** Opens links of the page without a reload. A click that opens a tab stays one. */
export function openLinksInPlace(): void {
  addEventListener('click', (event) => {
    const link = (event.target as Element).closest?.('a')
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
    if (!link || !isPlain || link.origin !== location.origin || link.target) return
    event.preventDefault()
    goTo(link.pathname + link.search)
  })
}

/** Returns the parts of the path; the path as one part if it cannot be decoded. No view has such a name. */
export function pathParts({ path }: Route): string[] {
  try {
    return path.split('/').filter(Boolean).map(decodeURIComponent)
  } catch {
    return [path]
  }
}

/** The address of the view of an object. */
export function objectAddress(object: {
  apiVersion?: string | undefined
  kind: string
  namespace?: string | undefined
  name: string
}): string {
  return `/explain/${kindWord(object)}/${encodeURIComponent(object.name)}${queryText({ namespace: object.namespace })}`
}
