/** Writers of manifests as an API server sees them: the object of their request, made of the stored one and the manifests. */
import { type K8sObject, LAST_APPLIED_ANNOTATION } from '../../../api/meta.ts'
import { isObject } from '../../../base/json.ts'
import { applyMergePatch, mergePatch } from '../../../base/merge-patch.ts'

/** Returns the object of a request that writes a manifest. `before` is the manifest that the same writer wrote last. */
type Writer = (manifest: K8sObject, stored?: K8sObject, before?: K8sObject) => K8sObject

export const WRITERS: Readonly<Record<string, Writer>> = {
  'kubectl apply': (manifest, stored, before) => merge(applied(manifest), stored, before && applied(before)),
  // The API server records the fields of the manifest before admission.
  'kubectl apply --server-side': (manifest, stored, before) => {
    const owned = before && stored ? removeOwned(stored, before, manifest) : stored
    const merged = applyMergePatch(owned ?? {}, manifest) as K8sObject
    const managedFields = [{ manager: 'kubectl', fieldsV1: fieldsOf(manifest) }]
    return { ...merged, metadata: { ...merged.metadata, managedFields } }
  },
  'kubectl replace': (manifest) => manifest,
  // The release has the last manifest. Helm adds the annotation to what it sends (pkg/action/validate.go, setMetadataVisitor).
  'helm upgrade': (manifest, stored, before) =>
    merge(withAnnotation(manifest, 'meta.helm.sh/release-name', 'server'), stored, before),
}

/** The three-way merge: what the last manifest had is removed, maps as a whole; what the manifest has is set, and all else stays. */
function merge(manifest: K8sObject, stored?: K8sObject, before?: K8sObject): K8sObject {
  if (!stored) return manifest
  const removals = mergePatch(before ?? {}, manifest) ?? {}
  return applyMergePatch(applyMergePatch(stored, removals), manifest) as K8sObject
}

/** Server-side apply removes single fields that the last manifest had and this one has not. */
function removeOwned(stored: unknown, before: unknown, manifest: unknown): unknown {
  if (!isObject(stored) || !isObject(before)) return stored
  const members = Object.entries(stored).flatMap(([key, value]) => {
    if (!Object.hasOwn(before, key)) return [[key, value]]
    const wanted = isObject(manifest) ? manifest[key] : undefined
    if (isObject(value)) return [[key, removeOwned(value, before[key], wanted)]]
    return wanted === undefined ? [] : [[key, value]]
  })
  return Object.fromEntries(members)
}

/** kubectl apply adds the manifest to what it sends. */
function applied(manifest: K8sObject): K8sObject {
  return withAnnotation(manifest, LAST_APPLIED_ANNOTATION, JSON.stringify(manifest))
}

function withAnnotation(object: K8sObject, key: string, value: string): K8sObject {
  const annotations = { ...object.metadata.annotations, [key]: value }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

function fieldsOf(value: unknown): object {
  if (!isObject(value)) return {}
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [`f:${key}`, fieldsOf(member)]))
}
