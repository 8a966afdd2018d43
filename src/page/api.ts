/** Reads the API of the server below `/v1`. */

import type { Delta } from '../cli/ui/delta.ts'
import type { Freshness } from '../cli/ui/events.ts'
import type { History } from '../cli/ui/history.ts'
import type { ClusterRow, ListName, Lists } from '../cli/ui/lists.ts'
import type { CheckAnswer } from '../cli/ui/questions/check.ts'
import type { LocateAnswer } from '../cli/ui/questions/locate.ts'
import type { WhatIfQuestion } from '../cli/ui/questions/read-what-if.ts'
import type { BodyProblem } from '../cli/ui/replies.ts'
import type { ServerReport } from '../cli/ui/server-report.ts'

export type Row<Name extends ListName> = Lists[Name][number] & { id: string }

export interface ListPage<Name extends ListName> {
  revision: number
  /** A sentence about rows that the reader may not see. */
  notice?: string
  total: number
  states: Record<string, number>
  offset: number
  items: Row<Name>[]
}

export interface Overview extends Freshness {
  /** The reader, if each one logs in. */
  user?: string
  /** The only namespace that is read. */
  namespace?: string
  /** A sentence about what is not shown. */
  notice?: string
  mode: 'hub' | 'member' | 'folder'
  origin: string
  revision: number
  totals: Record<ListName, number>
}

/** A line of an explanation, as `explain -o json` prints it. */
export interface Line {
  text: string
  apiVersion?: string
  kind?: string
  namespace?: string
  name?: string
  state?: string
  children: Line[]
}

/** The most bytes of a body with manifests. */
export const MAX_MANIFEST_BYTES = 1024 * 1024

/** The server answered with a problem. */
export class ProblemError extends Error {
  override name = 'ProblemError'
  readonly status: number
  /** Of the body, if the server names them one by one. */
  readonly problems: readonly BodyProblem[]
  constructor(status: number, message: string, problems: readonly BodyProblem[] = []) {
    super(message)
    this.status = status
    this.problems = problems
  }
}

/** Sent to the window when the server wants a login. */
export const LOGIN_NEEDED = 'lodestone:login'

const NO_CONTACT = 'the server does not respond; is lodestone ui still running?'

async function request<Body>(path: string, init: RequestInit = {}): Promise<Body> {
  return readAnswer(await respond(path, init), init)
}

async function respond(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(path, init).catch((error: Error) => {
    if (init.signal?.aborted) throw error
    throw new ProblemError(0, NO_CONTACT)
  })
  if (response.status === 401 && response.headers.has('www-authenticate')) dispatchEvent(new Event(LOGIN_NEEDED))
  return response
}

async function readAnswer<Body>(response: Response, init: RequestInit): Promise<Body> {
  const body = (await response.json().catch((error: Error) => {
    if (init.signal?.aborted) throw error
    // A proxy before the server answers with a page of its own.
    const { status } = response
    throw new ProblemError(status, `the server answers HTTP ${status} without JSON; is lodestone ui still running?`)
  })) as Body & { error?: { message: string; problems?: BodyProblem[] } }
  const { message = response.statusText, problems } = body.error ?? {}
  if (!response.ok) throw new ProblemError(response.status, message, problems)
  return body
}

export type ListQuery = Readonly<Record<string, string | undefined>>

export function fetchList<Name extends ListName>(
  name: Name,
  query: ListQuery,
  signal?: AbortSignal,
): Promise<ListPage<Name>> {
  return request(`/v1/${name}${queryText(query)}`, signal ? { signal } : {})
}

export function fetchOverview(): Promise<Overview> {
  return request('/v1')
}

export function fetchHistory(namespace: string | undefined): Promise<History> {
  return request(`/v1/history${queryText({ namespace })}`)
}

export function fetchServer(): Promise<ServerReport> {
  return request('/v1/server')
}

export function fetchExplanation(kind: string, name: string, namespace: string | undefined): Promise<{ object: Line }> {
  return request(`/v1/explain/${encodeURIComponent(kind)}/${encodeURIComponent(name)}${queryText({ namespace })}`)
}

export function fetchLocation(workload: object): Promise<LocateAnswer> {
  return post('/v1/locate', { workload })
}

/** Begins a session. Throws an error with the reason if the token is not accepted. */
export function logIn(token: string): Promise<unknown> {
  return post('/login', { token })
}

export function logOut(): Promise<unknown> {
  return post('/logout', {})
}

/** Checks manifests against the fleet. */
export function fetchCheck(
  question: { files: { file: string; text: string }[]; namespace: string | undefined },
  signal: AbortSignal,
): Promise<CheckAnswer> {
  return post('/v1/check', question, signal)
}

/** Asks what happens to workloads under suppositions. */
export function fetchWhatIf<Answer>(question: WhatIfQuestion, signal: AbortSignal): Promise<Answer> {
  return post('/v1/what-if', question, signal)
}

function post<Body>(path: string, body: object, signal?: AbortSignal): Promise<Body> {
  const headers = { 'content-type': 'application/json' }
  return request(path, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) })
}

/** Returns the clusters of the fleet, up to the first 500. */
export async function fetchClusters(): Promise<{ total: number; items: ClusterRow[] }> {
  return fetchList('clusters', { sort: 'region', limit: '500' })
}

export function queryText(query: ListQuery): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []))
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

/** Asks for the events, as a browser does not tell why it was refused. Throws the reason of the server. */
async function checkEvents(): Promise<void> {
  const ending = new AbortController()
  const init = { signal: ending.signal }
  const response = await respond('/v1/events', init)
  // The answer has no end.
  if (response.ok) ending.abort()
  else await readAnswer(response, init)
}

/** The differences between two states of lists. */
export interface Change {
  revision: number
  lists: Partial<Record<ListName, Delta>>
}

export interface LiveListener {
  /** The lists that changed; with their differences, unless every row may have changed. */
  changed(lists: readonly ListName[], change?: Change): void
  fresh(freshness: Freshness): void
  /** The connection ended, or is there again. The reason is that of the server, if it answers. */
  connected(isConnected: boolean, reason?: string): void
}

/** After a failure, until the next attempt. */
export const RETRY_MS = 3000
/** The server sends an event every five seconds, later if it waits for the API server. A connection can end without a word, as in a router. */
export const SILENCE_MS = 30_000

/**
 * Follows the events of the server until the returned function is called. The browser opens a lost connection again by itself. It does not
 * after an answer with another status than 200, as of a proxy without the server. Then the server is asked for the reason.
 *
 * A tab that is not shown does not follow. Browsers open six connections to a host: those of six tabs would keep a further one from loading.
 */
export function follow(listener: LiveListener): () => void {
  let source: ReturnType<typeof openEvents> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  /** The present attempt. One that has ended has no effect. */
  let attempt = {}
  const later = (run: () => void) => {
    timer = setTimeout(run, RETRY_MS)
  }
  const open = () => {
    source = openEvents(listener, () => later(() => void ask()))
  }
  const ask = async () => {
    const own = attempt
    const problem = await checkEvents().then(
      () => undefined,
      (error: Error) => error.message,
    )
    if (attempt !== own) return
    if (problem === undefined) return open()
    listener.connected(false, problem)
    later(() => void ask())
  }
  const end = () => {
    attempt = {}
    clearTimeout(timer)
    source?.close()
    source = undefined
  }
  const show = () => {
    end()
    if (!document.hidden) open()
  }
  document.addEventListener('visibilitychange', show)
  show()
  return () => {
    document.removeEventListener('visibilitychange', show)
    end()
  }
}

/** @param onClosed called when the browser does not open the connection again */
function openEvents(listener: LiveListener, onClosed: () => void): Pick<EventSource, 'close'> {
  const source = new EventSource('/v1/events')
  let silence: ReturnType<typeof setTimeout> | undefined
  const close = () => {
    clearTimeout(silence)
    source.close()
  }
  const hear = () => {
    clearTimeout(silence)
    silence = setTimeout(() => {
      close()
      listener.connected(false)
      onClosed()
    }, SILENCE_MS)
  }
  for (const event of ['open', 'state', 'change', 'alive']) source.addEventListener(event, hear)
  const read = <Data>(event: Event) => JSON.parse((event as MessageEvent<string>).data) as Data
  source.addEventListener('state', (event) => {
    const { lists, ...freshness } = read<Freshness & { lists: Record<ListName, unknown> }>(event)
    listener.connected(true)
    listener.fresh(freshness)
    // After a gap, every list may have changed.
    listener.changed(Object.keys(lists) as ListName[])
  })
  source.addEventListener('change', (event) => {
    const change = read<Change>(event)
    listener.changed(Object.keys(change.lists) as ListName[], change)
  })
  source.addEventListener('alive', (event) => listener.fresh(read<Freshness>(event)))
  source.addEventListener('error', () => {
    clearTimeout(silence)
    listener.connected(false)
    if (source.readyState === EventSource.CLOSED) onClosed()
  })
  return { close }
}
