/** The page: a rail with views, a bar with the filter and the state of the connection, and the view that the address names. */
import { type FunctionComponent, render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { formatAge } from '../base/time/duration.ts'
import type { ListName } from '../cli/ui/lists.ts'
import { fetchOverview } from './api.ts'
import { Check } from './check.tsx'
import { Claims } from './claims.tsx'
import { Data } from './data.tsx'
import { Explanation } from './explanation.tsx'
import { useKeys } from './keys.ts'
import { type Live, useLive, useNow } from './live.ts'
import { Login, User, useLoginNeeded } from './login.tsx'
import { Moves } from './moves.tsx'
import { changeQuery, keptNamespace, openLinksInPlace, pathParts, type Route, useRoute } from './route.ts'
import { Server } from './server.tsx'
import { Systems } from './systems.tsx'
import { Theme } from './theme.tsx'
import { useLoaded } from './use-list.ts'
import type { ViewInput } from './view-input.ts'
import { Volumes } from './volumes.tsx'
import { Waiting } from './waiting.tsx'
import { WhatIf } from './what-if.tsx'
import { Workloads } from './workloads.tsx'

interface ViewEntry {
  title: string
  /** Opens the view after `g`. */
  key: string
  /** The list whose rows are counted beside the title. */
  list?: ListName
  /** The filters of the view. */
  filters: readonly ('search' | 'namespace')[]
  View: FunctionComponent<ViewInput>
}

const BY_NAMESPACE = ['search', 'namespace'] as const

/** The views, by the first part of the path. */
const VIEWS: Readonly<Record<string, ViewEntry>> = {
  waiting: { title: 'Waiting', key: 'w', list: 'waiting', filters: BY_NAMESPACE, View: Waiting },
  workloads: { title: 'Workloads', key: 'l', list: 'workloads', filters: BY_NAMESPACE, View: Workloads },
  data: { title: 'Data', key: 'd', list: 'sources', filters: ['search'], View: Data },
  claims: { title: 'Claims', key: 'c', list: 'claims', filters: BY_NAMESPACE, View: Claims },
  volumes: { title: 'Volumes', key: 'v', list: 'volumes', filters: BY_NAMESPACE, View: Volumes },
  systems: { title: 'Systems', key: 's', list: 'systems', filters: ['search'], View: Systems },
  moves: { title: 'Moves', key: 'm', list: 'moves', filters: BY_NAMESPACE, View: Moves },
  check: { title: 'Check', key: 'k', filters: ['namespace'], View: Check },
  'what-if': { title: 'What if', key: 'i', filters: ['namespace'], View: WhatIf },
  server: { title: 'Server', key: 'r', filters: [], View: Server },
}

function Page() {
  const route = useRoute()
  const [isPaused, setPaused] = useState(false)
  const [isHelpOpen, setHelpOpen] = useState(false)
  const isLoginNeeded = useLoginNeeded()
  const live = useLive(isPaused || isLoginNeeded)
  const now = useNow()
  const newest = Object.values(live.versions).reduce((sum, version) => sum + version, 0)
  const { data: overview } = useLoaded('overview', newest, fetchOverview)
  const [first = '', kind, name] = pathParts(route)
  const path = first === '' ? 'waiting' : first
  const view = Object.hasOwn(VIEWS, path) ? VIEWS[path] : undefined
  const isExplanation = first === 'explain' && kind !== undefined && name !== undefined
  const title = isExplanation ? name : (view?.title ?? 'Not found')
  useKeys(VIEWS, () => setHelpOpen((isOpen) => !isOpen))
  useEffect(() => {
    document.title = `${title} · Lodestone`
  }, [title])

  const { namespace, ...query } = Object.fromEntries(route.query)
  const input: ViewInput = {
    // The namespace stays in the address while the user looks at lists without namespaces.
    query: view?.filters.includes('namespace') && namespace ? { ...query, namespace } : query,
    version: (list) => live.versions[list] ?? 0,
    folder: overview?.mode === 'folder' ? overview.origin : undefined,
    now,
  }
  const View = view?.View
  if (isLoginNeeded) return <Login />
  return (
    <div class="frame">
      <a class="skip" href="#view" target="_self">
        Skip to the view
      </a>
      <nav class="rail" aria-label="Views">
        <p class="brand">Lodestone</p>
        <ul>
          {Object.entries(VIEWS).map(([each, { title: words, list }]) => (
            <li key={each}>
              <a href={`/${each}${keptNamespace(route)}`} aria-current={path === each ? 'page' : undefined}>
                {words}
                {overview && list && <span class="count">{overview.totals[list].toLocaleString('en')}</span>}
              </a>
            </li>
          ))}
        </ul>
        {overview?.user !== undefined && <User name={overview.user} />}
        <Theme />
      </nav>
      <header class="bar">
        <p class="origin" title={overview?.origin}>
          {overview && (
            <>
              <span class="mode">{overview.mode}</span> {overview.origin}
            </>
          )}
        </p>
        {!isExplanation && view && view.filters.length > 0 && <Filters route={route} filters={view.filters} />}
        <Freshness live={live} now={now} isPaused={isPaused} onPause={() => setPaused(!isPaused)} />
      </header>
      <main id="view">
        {overview?.namespace !== undefined && (
          <p class="quiet">
            Only namespace {overview.namespace} is shown{overview.notice === undefined ? '' : `; ${overview.notice}`}.
          </p>
        )}
        <h1>{isExplanation ? `${kind?.split('.')[0]} ${name}` : title}</h1>
        {isExplanation && (
          <Explanation
            kind={kind}
            name={name}
            namespace={route.query.get('namespace') ?? undefined}
            version={newest}
            folder={input.folder}
            now={now}
          />
        )}
        {!isExplanation && View && <View {...input} />}
        {!isExplanation && !View && <p>There is no such view. Choose one on the left.</p>}
      </main>
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
    </div>
  )
}

function Filters({ route, filters }: { route: Route; filters: ViewEntry['filters'] }) {
  const change = (name: string) => (event: Event) =>
    changeQuery({ [name]: (event.currentTarget as HTMLInputElement).value || undefined, offset: undefined })
  return (
    <search class="filters">
      {filters.includes('search') && (
        <input
          type="search"
          id="search"
          placeholder="Search  /"
          aria-label="Search"
          value={route.query.get('search') ?? ''}
          onInput={change('search')}
        />
      )}
      {filters.includes('namespace') && (
        <input
          type="search"
          placeholder="Namespace"
          aria-label="Namespace"
          value={route.query.get('namespace') ?? ''}
          onInput={change('namespace')}
        />
      )}
    </search>
  )
}

/** An API server whose watches were silent for longer is not believed to be reachable. */
const OLD_SECONDS = 90

function Freshness({
  live,
  now,
  isPaused,
  onPause,
}: {
  live: Live
  now: number
  isPaused: boolean
  onPause: () => void
}) {
  const { isConnected, lostAt, reason = 'no contact with lodestone ui', freshness } = live
  const { ageSeconds = 0, unavailable } = freshness
  const [words, ms] = isPaused
    ? ['paused']
    : !isConnected
      ? [reason, now - (lostAt ?? now)]
      : ageSeconds > OLD_SECONDS
        ? ['the API server is silent', ageSeconds * 1000]
        : ['live']
  const tone = words === 'live' ? 'fine' : 'waiting'
  return (
    <div class="freshness">
      <span class={`state ${tone}`}>
        <span role="status">{words}</span>
        {/* Beside the status: a screen reader would say it again each second. */}
        {ms !== undefined && <span> ({formatAge(ms)})</span>}
      </span>
      {unavailable.length > 0 && (
        <span class="state failed" title={unavailable.join('\n')}>
          {unavailable.length === 1 ? unavailable[0] : `${unavailable.length} kinds cannot be read`}
        </span>
      )}
      <button type="button" onClick={onPause} aria-pressed={isPaused}>
        {isPaused ? 'Continue' : 'Pause'}
      </button>
    </div>
  )
}

const KEYS = [
  ['/', 'search'],
  ['j  k', 'next row, row before'],
  ['Enter', 'open the row'],
  ['Esc', 'close the keys, or back'],
  ...Object.values(VIEWS).map(({ key, title }) => [`g ${key}`, title] as const),
  ['?', 'these keys'],
] as const

function Help({ onClose }: { onClose: () => void }) {
  const close = useRef<HTMLButtonElement>(null)
  useEffect(() => close.current?.focus(), [])
  return (
    <dialog open class="help" aria-label="Keys">
      <dl>
        {KEYS.map(([key, words]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <button ref={close} type="button" onClick={onClose}>
        Close
      </button>
    </dialog>
  )
}

openLinksInPlace()
render(<Page />, document.querySelector('#page') as Element)
