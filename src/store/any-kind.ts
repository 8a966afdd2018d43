/** The keys of kinds in stores, and a type for lists of kinds with different objects. */
import { apiVersionOf, type K8sObject, type ResourceType } from '../api/meta.ts'
import type { ObjectStore } from './store.ts'

/** A `CachedKind<T>` of any `T`. */
export interface AnyCachedKind {
  type: ResourceType
  keep(raw: never): K8sObject
  indexes: Record<string, (object: never) => readonly string[]>
  metadataOnly?: true
  optional?: boolean
  absence?: 'keep' | 'confirm'
}

/** The key of a kind in any version: an object must not be cached twice when its API has two versions. */
export function kindKey(type: { group: string; kind: string }): string {
  return type.group === '' ? type.kind : `${type.kind}.${type.group}`
}

/** Whether a store caches a kind, in any version. */
export function isCached(type: ResourceType, store: Pick<ObjectStore, 'kinds'>): boolean {
  return store.kinds().some((cached) => kindKey(cached) === kindKey(type))
}

/**
 * Sets `apiVersion` and `kind`, which every reader needs. Items of a LIST of a built-in kind have neither, and metadata-only objects have
 * the kind PartialObjectMetadata.
 */
export function withType(type: ResourceType, raw: K8sObject): K8sObject {
  return raw.kind === type.kind && raw.apiVersion !== undefined
    ? raw
    : { ...raw, apiVersion: apiVersionOf(type), kind: type.kind }
}
