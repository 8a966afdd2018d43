/** The Events of Lodestone about placements that the API server still has: the history of decisions. */
import { events } from '../../api/event.ts'
import { bindingTypes, clusterResourceBindings, type ResourceBinding, resourceBindings } from '../../api/karmada.ts'
import { DECISION_ID_LABEL } from '../../api/lodestone.ts'
import { collectionPath, type K8sObject, plainReference, type ResourceType } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import type { Clock } from '../../base/time/clock.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { ApiError, CredentialsError, isForbidden, RequestError } from '../../store/cluster/api-error.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { NamedObject } from './waiting.ts'

export interface History {
  /** `loops.maxMovesPerMinute` of the configuration of the page. */
  maxMovesPerMinute: number
  /** Newest first. */
  items: HistoryItem[]
  /** Why there are none, or not all of them. */
  problem?: string
}

interface HistoryItem {
  /** RFC 3339. */
  time: string
  /** The reason of the Event. */
  reason: string
  type: 'Normal' | 'Warning'
  message: string
  /** The workload of the binding, if it is known; else the object of the Event. */
  object: NamedObject
  decisionId?: string
}

export interface HistoryInput {
  /** Absent for a folder. */
  connection: ApiConnection | undefined
  store: ObjectStore
  maxMovesPerMinute: number
  signal: AbortSignal
  clock: Clock
}

interface Event extends K8sObject {
  involvedObject?: { apiVersion?: string; kind?: string; namespace?: string; name?: string }
  type?: string
  reason?: string
  message?: string
  firstTimestamp?: string | null
  lastTimestamp?: string | null
}

/** Any number of readers of a namespace cause one read in this time. */
const KEPT_MS = 15_000
const MAX_NAMESPACES = 20
const PAGE_SIZE = 500
/** Of each selector. The API server returns Events by name, so that a part has no meaning without the rest. */
const MAX_PAGES = 6
const MAX_ITEMS = 500
const TIMEOUT_MS = 15_000

/** The history has Events about bindings, and those about data that moved. */
const SELECTORS = [
  `source=lodestone,involvedObject.kind=${resourceBindings.kind}`,
  `source=lodestone,involvedObject.kind=${clusterResourceBindings.kind}`,
  'source=lodestone,reason=Moved',
]

/** Returns a function that reads the history of a namespace, or of all. A failed read is a sentence in the answer. */
export function openHistory(input: HistoryInput): (namespace: string | undefined) => Promise<History> {
  const { connection, clock, maxMovesPerMinute } = input
  if (!connection) return async () => ({ maxMovesPerMinute, items: [], problem: 'a folder has no Events' })
  const kept = new Map<string, { history: Promise<History>; at: number }>()
  return (namespace) => {
    const key = namespace ?? ''
    const last = kept.get(key)
    if (last && clock.now() - last.at < KEPT_MS) return last.history
    const history = readHistory(connection, namespace, input)
    kept.delete(key)
    kept.set(key, { history, at: clock.now() })
    const [oldest] = kept.keys()
    if (kept.size > MAX_NAMESPACES && oldest !== undefined) kept.delete(oldest)
    return history
  }
}

async function readHistory(
  connection: ApiConnection,
  namespace: string | undefined,
  { store, signal, maxMovesPerMinute }: HistoryInput,
): Promise<History> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  const path = collectionPath(events, namespace)
  const read = SELECTORS.map((selector) => readPages(connection, path, selector, bounded))
  const results = await Promise.all(read.map((each) => each.catch(problemPages)))
  const items = results
    .flatMap(({ found }) => found)
    .map((event) => historyItem(event, store))
    .sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
  const [problem] = results.flatMap((result) => result.problem ?? [])
  return { maxMovesPerMinute, items: items.slice(0, MAX_ITEMS), ...defined({ problem }) }
}

interface Pages {
  found: Event[]
  problem?: string
}

async function readPages(
  connection: ApiConnection,
  path: string,
  fieldSelector: string,
  signal: AbortSignal,
): Promise<Pages> {
  const found: Event[] = []
  let next: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = { fieldSelector, limit: PAGE_SIZE, continue: next }
    const answer = (await connection.request('GET', path, { query, signal })) as {
      items?: Event[]
      metadata?: { continue?: string }
    }
    found.push(...(answer.items ?? []))
    next = answer.metadata?.continue
    if (!next) return { found }
  }
  return {
    found,
    problem: `there are more than ${MAX_PAGES * PAGE_SIZE} Events; choose a namespace to see all of them`,
  }
}

function problemPages(error: Error): Pages {
  if (isForbidden(error)) {
    return { found: [], problem: `${error.message}; grant the user the verb list of events` }
  }
  const isOurs = error instanceof ApiError || error instanceof RequestError || error instanceof CredentialsError
  if (!isOurs) throw error
  return { found: [], problem: `the Events cannot be read: ${error.message}` }
}

function historyItem({ metadata, involvedObject = {}, ...event }: Event, store: ObjectStore): HistoryItem {
  const { type, reason = '', message = '', firstTimestamp, lastTimestamp } = event
  return {
    time: lastTimestamp ?? firstTimestamp ?? metadata.creationTimestamp ?? '',
    reason,
    type: type === 'Warning' ? 'Warning' : 'Normal',
    message,
    object: findWorkload(involvedObject, store),
    ...defined({ decisionId: metadata.labels?.[DECISION_ID_LABEL] }),
  }
}

function findWorkload(
  { apiVersion, kind = '', namespace, name = '' }: NonNullable<Event['involvedObject']>,
  store: ObjectStore,
): NamedObject {
  const type = bindingTypes.find((each) => each.kind === kind)
  const binding = type && store.get(type as ResourceType<ResourceBinding>, namespace, name)
  const { resource } = binding?.spec ?? {}
  // The cache keeps no workload of bindings without a decision.
  if (resource?.name) return plainReference(resource)
  return defined({ apiVersion, kind, namespace: namespace || undefined, name })
}
