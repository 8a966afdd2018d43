/** How the stores name kinds among themselves, and the one type under which kinds of different shapes fit in one list. */
import { apiVersionOf, type K8sObject, type ResourceType } from '../../api/meta.ts'

/** Any `CachedKind<T>`: its functions take a `T` that only the kind itself knows. */
export interface AnyCachedKind {
  type: ResourceType
  keep(raw: never): K8sObject
  indexes: Record<string, (object: never) => readonly string[]>
  metadataOnly?: true
  optional?: boolean
}

/** A kind whatever its version: one object must not be cached twice because two versions of its API exist. */
export function kindKey(type: { group: string; kind: string }): string {
  return type.group === '' ? type.kind : `${type.kind}.${type.group}`
}

/**
 * Sets `apiVersion` and `kind`, which every reader needs. Items of a LIST have neither in the built-in groups, and metadata that is read
 * alone comes as a PartialObjectMetadata.
 */
export function withType(type: ResourceType, raw: K8sObject): K8sObject {
  return raw.kind === type.kind && raw.apiVersion !== undefined
    ? raw
    : { ...raw, apiVersion: apiVersionOf(type), kind: type.kind }
}
