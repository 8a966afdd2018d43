/** A workload, reduced to its metadata and the inputs of its dependencies. The caches store nothing else of it. */
import { type DependentObjectReference, serviceAccounts } from '../../api/dependencies.ts'
import { INJECT_LABEL, VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import { defined, isObject, parseJson, sortedUnique, without } from '../../base/json.ts'
import { isName, openPaths, stringsAt, valuesAt } from '../../base/json-path.ts'
import type { WorkloadKind, WorkloadKinds } from '../workload-kinds/kinds.ts'
import { type NamedObject, named, referenceTo, sortedReferences } from '../workload-kinds/references.ts'
import { parseDependsOn } from './depends-on.ts'
import { podLabelsOf } from './pod-labels.ts'
import {
  clonedClaims,
  containerObjects,
  ephemeralTemplates,
  inlineVolumeSecrets,
  isContainer,
  isPodSpec,
  podSpecObjects,
  serviceAccountOf,
} from './pod-spec.ts'

export interface WorkloadDependencies {
  /** The objects that it names, sorted and without duplicates: those that Karmada's native interpreter would find. */
  references: readonly DependentObjectReference[]
  /** The objects that it names and Karmada's interpreter ignores: claims that its volumes clone, Secrets of inline volumes, and declared ones. */
  furtherReferences: readonly DependentObjectReference[]
  /** The labels of each kind of its pods, to find the Services that select them; empty for an object without pods. */
  podLabels: readonly Record<string, string>[]
  /** Whether a pod has the ServiceAccount `default`. It is no dependency, since every namespace has it, but its pull Secrets are. */
  usesDefaultServiceAccount: boolean
  /** Whether its controller reads the `secrets` of its ServiceAccounts, besides their pull Secrets. */
  usesAccountSecrets?: boolean
  /** The names in the annotation `lodestone.dev/volumes` of the pod templates, sorted. */
  volumeManagers: readonly string[]
  /** The VolumeManagers that every request only prefers: the workload does not wait for their data. */
  preferredVolumeManagers: readonly string[]
  /** The names of the Services that are backends of an Ingress, sorted. */
  backends: readonly string[]
  /** The names of its templates of PersistentVolumeClaims for its own pods, sorted; absent if none. Each cluster makes claims of its own of them. */
  claimTemplates?: readonly string[]
}

/** The object's own metadata, with the dependencies instead of the spec. */
export interface Workload extends K8sObject {
  dependencies: WorkloadDependencies
  /** The annotations `lodestone.dev/volumes` of its pods, sorted and without duplicates. Only cached workloads have them; absent if none. */
  volumeRequests?: readonly string[]
  /** The controller that created it. Only cached workloads have it; absent for one that a user created. */
  controller?: Readonly<{ apiVersion: string; kind: string; name: string }>
}

/** Every namespace of every cluster has this ServiceAccount. */
export const DEFAULT_SERVICE_ACCOUNT = 'default'

const NO_DEPENDENCIES: WorkloadDependencies = {
  references: [],
  furtherReferences: [],
  podLabels: [],
  usesDefaultServiceAccount: false,
  volumeManagers: [],
  preferredVolumeManagers: [],
  backends: [],
}

/** Returns a workload with what decisions on its binding read, and without its other dependencies. */
export function workloadWithVolumesOnly<T extends Workload>(workload: T): T {
  const { volumeManagers, preferredVolumeManagers, claimTemplates } = workload.dependencies
  const rest = without(workload, 'volumeRequests', 'controller')
  const volumes = defined({ volumeManagers, preferredVolumeManagers, claimTemplates })
  return { ...rest, dependencies: { ...NO_DEPENDENCIES, ...volumes } } as T
}

/** Returns the annotations that request volumes for the pods of an object, sorted and without duplicates. `"false"` excludes a template. */
export function podVolumeAnnotations(raw: K8sObject, kinds: WorkloadKinds): string[] {
  const kind = kinds.find(raw.apiVersion, raw.kind)
  if (!kind) return []
  const valuesIn = openPaths(raw)
  const requesting = kind.allPodMetadata.flatMap(valuesIn).filter(mayRequest)
  return sortedUnique([...requesting, ...(kind.inherits ? [raw.metadata] : [])].flatMap(volumesAnnotationOf))
}

/** Whether admission considers the annotation of these pods: it adds a missing label. */
export function mayRequest(metadata: unknown): boolean {
  const labels = isObject(metadata) && isObject(metadata['labels']) ? metadata['labels'] : {}
  return (labels[INJECT_LABEL] ?? 'true') === 'true'
}

/** Returns the annotation that requests volumes, if it is a text. */
export function volumesAnnotationOf(metadata: unknown): string[] {
  const annotations = isObject(metadata) && isObject(metadata['annotations']) ? metadata['annotations'] : {}
  const annotation = annotations[VOLUMES_ANNOTATION]
  return typeof annotation === 'string' ? [annotation] : []
}

/**
 * Returns the object with its dependencies instead of its spec. Parts of the wrong shape add no dependencies, and neither does a kind that
 * is not in the table. It throws nothing for an object that an API server accepted.
 */
export function interpretWorkload(raw: K8sObject, kinds: WorkloadKinds): Workload {
  const { apiVersion, kind, metadata } = raw
  const interpreted = kinds.find(apiVersion, kind)
  return {
    apiVersion,
    kind,
    metadata,
    dependencies: interpreted ? dependenciesOf(raw, interpreted, kinds) : NO_DEPENDENCIES,
  }
}

function dependenciesOf(raw: K8sObject, kind: WorkloadKind, kinds: WorkloadKinds): WorkloadDependencies {
  const valuesIn = openPaths(raw)
  const at = (paths: readonly string[] = []) => paths.map(valuesIn).reduce(joined, [])
  const templates = at(kind.templates)
  const podSpecs = [...templatePodSpecs(templates), ...at(kind.podSpecs).filter(isPodSpec)]
  const podMetadata = at(kind.allPodMetadata)
  const objects = [
    ...podSpecs.flatMap(podSpecObjects),
    ...at(kind.containers).filter(isContainer).flatMap(containerObjects),
    ...(kind.moreNames?.(raw) ?? []),
    ...kind.names.flatMap(([type, path]) => named(type, valuesIn(path).filter(isName))),
  ]
  const ownClaims = new Set(at(kind.claimTemplates).flatMap((template) => valuesAt(template, 'metadata.name')))
  const requests = [...podMetadata, ...(kind.inherits ? [raw.metadata] : [])].flatMap(volumeRequestsOf)
  const required = new Set(requests.filter(isRequired).flatMap(requestedNames))
  const volumeManagers = sortedUnique(requests.flatMap(requestedNames))
  const isLeftOut = ({ type, name }: NamedObject) =>
    (type === serviceAccounts && name === DEFAULT_SERVICE_ACCOUNT) ||
    (type === persistentVolumeClaims && ownClaims.has(name))
  return {
    references: sortedReferences([
      ...referencesFrom(
        raw,
        kind,
        objects.filter((object) => !isLeftOut(object)),
      ),
      ...(kind.more?.(raw) ?? []),
    ]),
    furtherReferences: sortedReferences(
      referencesFrom(raw, kind, [
        ...clonedClaims([...podSpecs.flatMap(ephemeralTemplates), ...at(kind.claimTemplates)]),
        ...podSpecs.flatMap(inlineVolumeSecrets),
        ...kinds.related.flatMap(({ type, podPaths = [] }) =>
          podPaths.flatMap((path) =>
            named(
              type,
              podSpecs.flatMap((spec) => stringsAt(spec, path)),
            ),
          ),
        ),
        ...declared(raw, kinds),
      ]),
    ),
    podLabels: podLabelsOf(raw, podMetadata, kind.podLabels),
    usesDefaultServiceAccount: templatePodSpecs(templates).some(usesDefaultServiceAccount),
    ...defined({ usesAccountSecrets: kind.accountSecrets }),
    volumeManagers,
    preferredVolumeManagers: volumeManagers.filter((name) => !required.has(name)),
    backends: sortedUnique((kind.backends ?? []).flatMap((path) => stringsAt(raw, path))),
    // A runtime has no pods of its own.
    ...(kind.templates && ownClaims.size > 0 && { claimTemplates: sortedUnique([...ownClaims].filter(isName)) }),
  }
}

/** The objects that its annotation declares. An invalid annotation, which admission rejects, declares none. */
function declared(raw: K8sObject, kinds: WorkloadKinds): NamedObject[] {
  if (!isObject(raw.metadata)) return []
  const parsed = parseDependsOn(raw, kinds)
  return 'objects' in parsed ? parsed.objects : []
}

function templatePodSpecs(templates: unknown[]): unknown[] {
  return templates.flatMap((template) => valuesAt(template, 'spec'))
}

/** Whether admission of ServiceAccounts sets `default` in a pod. A part of a pod spec, as in patches, has no containers. */
function usesDefaultServiceAccount(spec: unknown): boolean {
  if (!isObject(spec) || spec['containers'] === undefined) return false
  const [account = DEFAULT_SERVICE_ACCOUNT] = serviceAccountOf(spec)
  return account === DEFAULT_SERVICE_ACCOUNT
}

/** Most kinds have only one path; then nothing is copied. */
function joined(all: unknown[], more: unknown[]): unknown[] {
  return all.length === 0 ? more : [...all, ...more]
}

/** The namespace of a cluster-scoped object's references may be unknown. Such references find nothing, so they are left out. */
function referencesFrom(raw: K8sObject, kind: WorkloadKind, objects: NamedObject[]): DependentObjectReference[] {
  const [namespace] = kind.namespace === undefined ? [] : stringsAt(raw, kind.namespace)
  if (namespace === undefined && !kind.type.namespaced) return []
  return objects.map((object) => referenceTo(object, namespace))
}

/** Returns the requests in a pod's annotation: JSON of one object with a `name`, or of a list of such objects. */
function volumeRequestsOf(metadata: unknown): unknown[] {
  const annotations = valuesAt(metadata, 'annotations').filter(isObject)
  return annotations.flatMap((annotation) => parseJson(annotation[VOLUMES_ANNOTATION]))
}

function requestedNames(request: unknown): string[] {
  return stringsAt(request, 'name')
}

function isRequired(request: unknown): boolean {
  return stringsAt(request, 'enforcement')[0] !== 'Preferred'
}
