/** Tells the absence of a kind from the deletion of its objects, by its CustomResourceDefinition. */

import { type CustomResourceDefinition, definitionName, definitions } from '../../../api/definition.ts'
import { collectionPath, type K8sObject, type ResourceType, resourceWord } from '../../../api/meta.ts'
import { isTrue } from '../../../base/conditions.ts'
import { backoffMs, spreadInterval } from '../../../base/time/backoff.ts'
import type { Clock } from '../../../base/time/clock.ts'
import type { KindCache } from '../../cache/cached-store.ts'
import type { UnavailableKind, UnavailableReason } from '../../store.ts'
import type { ApiConnection } from '../api-connection.ts'
import { ApiError } from '../api-error.ts'
import { APPLY_ROLES } from '../apply-roles.ts'
import type { WatchEventType } from './watcher.ts'

/** The objects of a kind are unknown at present: what is missing may exist. */
export class KindUnavailableError extends Error {
  override name = 'KindUnavailableError'
  readonly unavailable: UnavailableKind
  constructor(unavailable: UnavailableKind, options?: ErrorOptions) {
    super(unavailable.message, options)
    this.unavailable = unavailable
  }
}

/** 404 responses in a row before a kind that was served counts as removed. An API server that restarts lacks CRDs for a moment. */
export const GONE_AFTER = 2
/** The first check for a kind that is not served; the interval then doubles. CRDs are often applied together with Lodestone. */
const FIRST_LOOK_MS = 2000

/** Returns the delay before the next list of an absent kind, after this many lists; `lastMs` is the longest interval. */
export function checkAgainMs(lists: number, lastMs: number | undefined, clock: Clock): number {
  return spreadInterval(backoffMs({ firstMs: FIRST_LOOK_MS, lastMs: lastMs ?? 30_000 }, lists), clock.random())
}

/** The watchdog of a watch must not end it while the CRD is read. */
const TIMEOUT_MS = 10_000
const APPLY_AGAIN = 'the last known objects stay in use; apply the CRD and its objects again'

/**
 * Returns why a kind is not available after an error of this status. Undefined for another error, and for a kind whose last objects do not
 * stay cached. An optional kind without objects has nothing to lose.
 */
export function whyUnavailable(kind: KindCache, error: unknown, status: 403 | 404): KindUnavailableError | undefined {
  if (!(error instanceof ApiError) || error.status !== status) return undefined
  if (kind.absence === undefined || !kind.cache.synced || (kind.cache.size === 0 && kind.optional)) return undefined
  return status === 403 ? forbidden(kind.type, error) : notServed(kind.type, error)
}

/** Whether an event deletes a cached object, or marks it as deleted. Such an event counts only after the kind was confirmed. */
export function endsObject(kind: KindCache, type: WatchEventType, { metadata }: K8sObject): boolean {
  if (kind.absence !== 'confirm' || (type !== 'DELETED' && metadata.deletionTimestamp === undefined)) return false
  const before = kind.cache.get(metadata.namespace, metadata.name ?? '')
  return before !== undefined && before.metadata.deletionTimestamp === undefined
}

/**
 * Confirms that missing objects of a kind were deleted by clients, and not with their CRD. The controller of CRDs marks a CRD as deleted
 * before it deletes the first object (apiextensions-apiserver, pkg/controller/finalizer/crd_finalizer.go). So a read of the CRD after such an
 * event shows the mark, or that the CRD is gone. The events alone do not: the watches of two kinds are not ordered.
 *
 * Before the first list nothing is known that could be lost, so only a CRD that is being deleted counts.
 *
 * @throws KindUnavailableError if the kind is not available, and the errors of the connection
 */
export async function confirmKind(connection: ApiConnection, kind: KindCache, signal: AbortSignal): Promise<void> {
  if (kind.absence !== 'confirm') return
  const problem = await findDefinitionProblem(connection, kind.type, signal)
  if (problem && (kind.cache.synced || problem.unavailable.reason === 'Terminating')) throw problem
}

async function findDefinitionProblem(
  connection: ApiConnection,
  type: ResourceType,
  signal: AbortSignal,
): Promise<KindUnavailableError | undefined> {
  const name = definitionName(type)
  const problem = (reason: UnavailableReason, message: string, options?: ErrorOptions) =>
    new KindUnavailableError({ type, reason, message: `CustomResourceDefinition ${name} ${message}` }, options)
  let definition: CustomResourceDefinition
  try {
    const path = `${collectionPath(definitions)}/${name}`
    definition = (await connection.request('GET', path, { signal, timeoutMs: TIMEOUT_MS })) as CustomResourceDefinition
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    if (cause.status === 404) return problem('NotServed', `does not exist; ${APPLY_AGAIN}`, { cause })
    if (cause.status === 403) return forbidden(type, cause)
    throw cause
  }
  if (definition.metadata.deletionTimestamp !== undefined)
    return problem('Terminating', `is being deleted; ${APPLY_AGAIN}`)
  return isTrue(definition.status?.conditions, 'Established')
    ? undefined
    : problem('NotEstablished', 'is not established; see its conditions')
}

/** Returns the error for a kind whose list answers 404 again and again. */
function notServed(type: ResourceType, cause: ApiError): KindUnavailableError {
  const message = `the API server does not serve ${type.plural}.${type.group}; ${APPLY_AGAIN}`
  return new KindUnavailableError({ type, reason: 'NotServed', message }, { cause })
}

/** Returns the error for a kind that Lodestone may no longer read. */
function forbidden(type: ResourceType, cause: ApiError): KindUnavailableError {
  const message = `${cause.message}; ${APPLY_ROLES}`
  return new KindUnavailableError({ type, reason: 'Forbidden', message }, { cause })
}

/** Returns why a kind is empty for a user who may read one namespace only. */
export function notPermitted(type: ResourceType, namespace: string | undefined): UnavailableKind {
  const place = type.namespaced ? ` in namespace ${namespace}` : ''
  return { type, reason: 'Forbidden', message: `you may not list ${resourceWord(type)}${place}` }
}

/** Whether the API server serves a kind in one of its versions; true for a user without the right of discovery. Throws as `request` does. */
export async function servesKind(connection: ApiConnection, type: ResourceType, signal: AbortSignal): Promise<boolean> {
  const versions = [type.version, ...(type.otherVersions ?? [])]
  const served = versions.map((version) => servesVersion(connection, { ...type, version }, signal))
  return (await Promise.all(served)).includes(true)
}

async function servesVersion(connection: ApiConnection, type: ResourceType, signal: AbortSignal): Promise<boolean> {
  const path = collectionPath(type)
  try {
    const list = await connection.request('GET', path.slice(0, path.lastIndexOf('/')), {
      signal,
      timeoutMs: TIMEOUT_MS,
    })
    return (list as ResourceList).resources?.some(({ name }) => name === type.plural) ?? false
  } catch (error) {
    if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error
    return error.status === 403
  }
}

/** An APIResourceList of meta.k8s.io/v1. */
interface ResourceList {
  resources?: { name: string }[]
}
