/** A workload cut down to what its dependencies follow from: this is all of it that the caches hold. */
import { type DependentObjectReference, serviceAccounts } from '../../api/dependencies.ts'
import { VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import { isObject, sortedUnique } from '../json.ts'
import { isName, openPaths, stringsAt, valuesAt } from './json-path.ts'
import { type InterpretedKind, interpretedKind } from './kinds.ts'
import { containerObjects, ephemeralVolumeObjects, isContainer, isPodSpec, podSpecObjects } from './pod-spec.ts'
import { type NamedObject, named, referenceTo, sortedReferences } from './references.ts'

export interface WorkloadDependencies {
  /** The objects that it names itself, sorted and without doubles: those that Karmada's native interpreter would find. */
  references: readonly DependentObjectReference[]
  /** The objects that it names but Karmada's interpreter does not look for: claims of generic ephemeral volumes. */
  furtherReferences: readonly DependentObjectReference[]
  /** The labels of each pod template, for the Services that select its pods; empty for an object without pods. */
  podLabels: readonly Record<string, string>[]
  /** The names in the annotation `lodestone.dev/volumes` of the pod templates, sorted. */
  volumeManagers: readonly string[]
  /** Those of them that all requests only prefer: their data is no reason to wait. */
  preferredVolumeManagers: readonly string[]
  /** The names of the Services that an Ingress sends to, sorted. */
  backends: readonly string[]
}

/** Metadata is the object's own; of its spec only the dependencies are left. */
export interface Workload extends K8sObject {
  dependencies: WorkloadDependencies
}

/** Every namespace of every cluster has its own. */
const DEFAULT_SERVICE_ACCOUNT = 'default'

const NO_DEPENDENCIES: WorkloadDependencies = {
  references: [],
  furtherReferences: [],
  podLabels: [],
  volumeManagers: [],
  preferredVolumeManagers: [],
  backends: [],
}

/**
 * The object with its dependencies instead of its spec. Parts of the wrong shape add no dependencies, nor does an object of a kind that is
 * not interpreted (kinds.ts). Nothing is thrown for an object that an API server accepted.
 */
export function workloadOf(raw: K8sObject): Workload {
  const { apiVersion, kind, metadata } = raw
  const interpreted = interpretedKind(apiVersion, kind)
  return { apiVersion, kind, metadata, dependencies: interpreted ? dependenciesOf(raw, interpreted) : NO_DEPENDENCIES }
}

function dependenciesOf(raw: K8sObject, kind: InterpretedKind): WorkloadDependencies {
  const valuesIn = openPaths(raw)
  const at = (paths: readonly string[] = []) => paths.map(valuesIn).reduce(joined, [])
  const templates = at(kind.templates)
  const podSpecs = [
    ...templates.flatMap((template) => valuesAt(template, 'spec')),
    ...at(kind.podSpecs).filter(isPodSpec),
  ]
  const podMetadata = [...templates.flatMap((template) => valuesAt(template, 'metadata')), ...at(kind.podMetadata)]
  const objects = [
    ...podSpecs.flatMap(podSpecObjects),
    ...at(kind.containers).filter(isContainer).flatMap(containerObjects),
    ...(kind.names ?? []).flatMap(([type, path]) => named(type, valuesIn(path).filter(isName))),
  ]
  const ownClaims = new Set(at(kind.ownClaims))
  const requests = podMetadata.flatMap(volumeRequestsOf)
  const required = new Set(requests.filter(isRequired).flatMap(nameOf))
  const volumeManagers = sortedUnique(requests.flatMap(nameOf))
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
    furtherReferences: sortedReferences(referencesFrom(raw, kind, podSpecs.flatMap(ephemeralVolumeObjects))),
    podLabels: distinctLabels(podMetadata),
    volumeManagers,
    preferredVolumeManagers: volumeManagers.filter((name) => !required.has(name)),
    backends: sortedUnique((kind.backends ?? []).flatMap((path) => stringsAt(raw, path))),
  }
}

/** Hardly any kind has more than one path: nothing is copied then. */
function joined(all: unknown[], more: unknown[]): unknown[] {
  return all.length === 0 ? more : [...all, ...more]
}

/** A cluster-scoped object that does not say which namespace it means refers to nothing that could be found. */
function referencesFrom(raw: K8sObject, kind: InterpretedKind, objects: NamedObject[]): DependentObjectReference[] {
  const [namespace] = kind.namespace === undefined ? [] : stringsAt(raw, kind.namespace)
  if (namespace === undefined && !kind.type.namespaced) return []
  return objects.map((object) => referenceTo(object, namespace))
}

/** Each set is compared with the Services of the namespace; no real workload has pods of so many kinds. */
const MAX_POD_LABELS = 100

/** The first sets of labels that are not empty, in one order whatever the order of the templates. */
function distinctLabels(podMetadata: unknown[]): Record<string, string>[] {
  const byText = new Map<string, Record<string, string>>()
  for (const labels of podMetadata.flatMap((metadata) => valuesAt(metadata, 'labels')).filter(isObject)) {
    const entries = Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
    entries.sort(([a], [b]) => (a < b ? -1 : 1))
    if (entries.length > 0) byText.set(JSON.stringify(entries), Object.fromEntries(entries))
  }
  return sortedUnique(byText.keys())
    .slice(0, MAX_POD_LABELS)
    .map((text) => byText.get(text) ?? {})
}

/** The requests in a pod's annotation: JSON of one object with a `name`, or of a list of them. */
function volumeRequestsOf(metadata: unknown): unknown[] {
  const annotations = valuesAt(metadata, 'annotations').filter(isObject)
  return annotations.flatMap((annotation) => parsed(annotation[VOLUMES_ANNOTATION]))
}

function nameOf(request: unknown): string[] {
  return stringsAt(request, 'name')
}

function isRequired(request: unknown): boolean {
  return stringsAt(request, 'enforcement')[0] !== 'Preferred'
}

function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined // Not JSON: the component that reads the annotation to mount volumes reports it to the user.
  }
}
