/** Detects that an API server was restored from an older state, such as a snapshot of etcd. */
import { collectionPath } from '../../../api/meta.ts'
import { isObject } from '../../../base/json.ts'
import type { KindCache } from '../../cache/cached-store.ts'
import { acceptFor } from '../../kinds/metadata-only.ts'
import type { ApiConnection } from '../api-connection.ts'

interface ObservedVersion {
  connection: ApiConnection
  kind: Pick<KindCache, 'type' | 'metadataOnly'>
  namespace: string | undefined
  /** A resource version that the server has sent before. */
  resourceVersion: string
  signal: AbortSignal
}

/**
 * Whether the server is at a lower resource version than before. A watch from a higher one sends nothing, not even a bookmark, until the server has
 * passed it. It never sends the events before (k8s.io/apiserver v0.34, pkg/storage/cacher/cache_watcher.go, process). Versions that are not decimal
 * numbers cannot be compared.
 */
export async function wasRestored(observed: ObservedVersion): Promise<boolean> {
  const { connection, kind, namespace, resourceVersion, signal } = observed
  const accept = acceptFor('PartialObjectMetadataList', kind.metadataOnly)
  const path = collectionPath(kind.type, namespace)
  const list = await connection.request('GET', path, { query: { limit: 1 }, accept, signal })
  const metadata = isObject(list) && isObject(list['metadata']) ? list['metadata'] : {}
  return isBefore(metadata['resourceVersion'], resourceVersion)
}

function isBefore(version: unknown, other: string): boolean {
  return typeof version === 'string' && DECIMAL.test(version) && DECIMAL.test(other) && BigInt(version) < BigInt(other)
}

/** A resource version of etcd has at most 19 digits. */
const DECIMAL = /^\d{1,19}$/
