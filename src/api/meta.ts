/** The fields of Kubernetes objects that Lodestone reads. All other fields of an object are kept. */

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
  managedFields?: ManagedFieldsEntry[]
}

/** The fields that one writer of an object set last (meta/v1 ManagedFieldsEntry). */
export interface ManagedFieldsEntry {
  manager?: string
  /** `Apply` for a server-side apply. */
  operation?: string
  /** The subresource by which the writer changed them; absent or empty for the object itself. */
  subresource?: string
  /** RFC 3339: when the writer last changed them. */
  time?: string
  /** The fields as a tree: a member `x` has the key `f:x`. An empty object is a field that was set as a whole. */
  fieldsV1?: unknown
}

/** The fields of every Kubernetes object. */
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

/** A kind that an API server serves; `T` has the fields that Lodestone reads. */
export interface ResourceType<T extends K8sObject = K8sObject> {
  group: string
  version: string
  /** Versions to read if the server does not serve `version`. */
  otherVersions?: readonly string[]
  kind: string
  plural: string
  namespaced: boolean
  /** Never set. It carries `T`, so that `store.get(claims, …)` is typed. */
  shape?: T
}

/** `status.observedGeneration` before the first write of a status, by the default of our CRDs. */
export const NOT_OBSERVED = -1

/** Returns `group/version`, or only the version for the core group. */
export function apiVersionOf(type: { group: string; version: string }): string {
  return type.group === '' ? type.version : `${type.group}/${type.version}`
}

/** Returns the group of an `apiVersion`: `apps` for `apps/v1`, and an empty text for `v1`. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}

/**
 * Returns the word for a kind that `lodestone explain` accepts: `Deployment`, or `Job.v1alpha1.batch.volcano.sh`. A kind of another project may
 * share its name with one of Kubernetes, so it has its version and group.
 */
export function kindWord({ apiVersion = '', kind }: { apiVersion?: string | undefined; kind: string }): string {
  const group = groupOf(apiVersion)
  return group.includes('.') ? `${kind}.${apiVersion.slice(group.length + 1)}.${group}` : kind
}

/** Returns the word for a resource as kubectl writes it: `pods`, or `jobs.batch.volcano.sh`. */
export function resourceWord({ group, plural }: Pick<ResourceType, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`
}

/** Returns the path of a kind's collection on an API server, in one namespace or in all. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const root = type.group === '' ? '/api' : '/apis'
  const scope = type.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${root}/${apiVersionOf(type)}${scope}/${type.plural}`
}

/** The annotation of `kubectl apply`: the last applied manifest, as JSON. */
export const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration'

/** Returns `namespace/name`, or only the name for a cluster-scoped object. Keys, logs and messages use it. */
export function objectKey(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`
}

/** Returns `Kind namespace/name`, for messages. */
export function referenceTitle({
  kind,
  namespace,
  name,
}: {
  kind: string
  namespace?: string | undefined
  name: string
}): string {
  return `${kind} ${objectKey(namespace, name)}`
}

/** Returns the `objectKey` of an object. */
export function keyOfObject(object: { metadata: ObjectMeta }): string {
  const { namespace, name } = nameOfObject(object)
  return objectKey(namespace, name)
}

/** The inverse of `objectKey`. Neither part can contain a slash. */
export function splitObjectKey(key: string): { namespace?: string; name: string } {
  const slash = key.indexOf('/')
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** Returns the name of an object, without a namespace if the object is cluster-scoped. */
export function nameOfObject({ metadata }: { metadata: ObjectMeta }): { namespace?: string; name: string } {
  const { namespace, name = '' } = metadata
  return { ...(namespace && { namespace }), name }
}

/** A reference to an object; `namespace` is absent for a cluster-scoped one. */
export interface ObjectReference {
  apiVersion: string
  kind: string
  namespace?: string
  name: string
}

/** Returns only these fields of a reference, without an empty namespace. */
export function plainReference({
  apiVersion,
  kind,
  namespace,
  name,
}: Omit<ObjectReference, 'namespace'> & { namespace?: string | undefined }): ObjectReference {
  return { apiVersion, kind, ...(namespace && { namespace }), name }
}

/** Returns a reference to an object, for a field of another object. */
export function referenceOf(object: K8sObject): ObjectReference {
  return { apiVersion: object.apiVersion, kind: object.kind, ...nameOfObject(object) }
}
