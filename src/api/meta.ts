/** The few parts of Kubernetes' object model that Lodestone reads; everything else in an object is carried along untouched. */

/** Any JSON value, as it arrives from an API server or a manifest. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export interface ObjectMeta {
  name?: string
  generateName?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
  ownerReferences?: OwnerReference[]
  creationTimestamp?: string | null
  deletionTimestamp?: string
}

/** What every Kubernetes object has. */
export interface K8sObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
}

/** A Kubernetes condition (meta/v1 Condition). */
export interface Condition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
  lastTransitionTime: string
  observedGeneration?: number
}

export interface LabelSelectorRequirement {
  key: string
  operator: string
  values?: string[]
}

export interface LabelSelector {
  matchLabels?: Record<string, string>
  matchExpressions?: LabelSelectorRequirement[]
}

/** A kind as an API server serves it; `T` is the shape that Lodestone reads of it. */
export interface ResourceType<T extends K8sObject = K8sObject> {
  group: string
  version: string
  kind: string
  plural: string
  namespaced: boolean
  /** Never set: carries `T` so that `store.get(claims, …)` is typed. */
  shape?: T
}

/** `group/version`, or only the version for the core group. */
export function apiVersionOf(type: { group: string; version: string }): string {
  return type.group === '' ? type.version : `${type.group}/${type.version}`
}

/** The group of an `apiVersion`: `apps` of `apps/v1`, empty of `v1`. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}

/** The path of a kind's collection on an API server, in one namespace or in all. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const root = type.group === '' ? '/api' : '/apis'
  const scope = type.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${root}/${apiVersionOf(type)}${scope}/${type.plural}`
}

/** On everything that `kubectl apply` made: the manifest as it was last applied, as JSON. */
export const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration'

/** `namespace/name`, or only the name for a cluster-scoped object: how an object is called in keys, logs and messages. */
export function objectKey(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`
}

/** How `objectKey` calls this object. */
export function keyOfObject(object: { metadata: ObjectMeta }): string {
  const { namespace, name } = nameOfObject(object)
  return objectKey(namespace, name)
}

/** The inverse of `objectKey`: neither part can have a slash in it. */
export function splitObjectKey(key: string): { namespace?: string; name: string } {
  const slash = key.indexOf('/')
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** Which object of its kind; without a namespace for a cluster-scoped one. */
export function nameOfObject({ metadata }: { metadata: ObjectMeta }): { namespace?: string; name: string } {
  const { namespace, name = '' } = metadata
  return { ...(namespace && { namespace }), name }
}

/** What others write into their fields to refer to the object. */
export function referenceOf(object: K8sObject): { apiVersion: string; kind: string; namespace?: string; name: string } {
  return { apiVersion: object.apiVersion, kind: object.kind, ...nameOfObject(object) }
}
