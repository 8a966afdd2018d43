/** Finds the places of a workload that have the labels and annotations of its pods, and writes changed values back. */
import type { K8sObject } from '../../../api/meta.ts'
import type { PodSpec } from '../../../api/pod.ts'
import { defined, isObject } from '../../../base/json.ts'
import { pathSegments } from '../../../base/json-path.ts'
import type { WorkloadKind } from '../../workload-kinds/kinds.ts'
import { readPodSpec } from '../validate.ts'

type Key = string | number

export interface PlacedPodSpec {
  path: string
  keys: readonly Key[]
  spec: PodSpec
}

/** Labels and annotations in a workload. Its own API checks that each value is a text, after admission. */
export type Texts = Readonly<Record<string, unknown>>

export interface PodMetadata {
  labels?: Texts
  annotations?: Texts
}

/** An object with the labels and annotations of pods: the metadata of a pod template, or a field such as `spec.podMetadata`. */
export interface PodPlace {
  /** In the notation of users: `spec.tasks[0].template.metadata`. */
  path: string
  keys: readonly Key[]
  metadata: PodMetadata
  /** The pod spec of the template, with its path; absent if the place has none, or only a part of one. */
  pod?: PlacedPodSpec
  /** Whether the place has the labels and annotations of all pods. */
  forAll: boolean
}

type Kind = Pick<WorkloadKind, 'templates' | 'podMetadata' | 'allPods'>

/** Cached places: a decision needs those of one object several times, and each pod spec is validated to find them. */
const known = new WeakMap<K8sObject, { kind: Kind; places: PodPlace[] }>()

/** Returns every place of a workload. A value of another shape is left out: its own API rejects it. The place for all pods may be absent. */
export function podPlacesOf(object: K8sObject, kind: Kind): readonly PodPlace[] {
  const before = known.get(object)
  if (before?.kind === kind) return before.places
  const places = findPlaces(object, kind)
  known.set(object, { kind, places })
  return places
}

function findPlaces(object: K8sObject, { templates = [], podMetadata = [], allPods }: Kind): PodPlace[] {
  const found = [
    ...templates.flatMap((path) => placesAt(object, pathSegments(path))).flatMap(templatePlace),
    ...podMetadata.flatMap((path) => placesAt(object, pathSegments(path))).flatMap(metadataPlace),
  ].map((place) => ({ ...place, forAll: place.path === allPods }))
  if (allPods === undefined || found.some(({ forAll }) => forAll)) return found
  const keys = pathSegments(allPods)
  const [value] = placesAt(object, keys)
  const place = metadataPlace({ keys, value: value?.value ?? {} })
  return [...found, ...place.map((one) => ({ ...one, forAll: true }))]
}

/** Returns a copy of the object with another value at the path; all unchanged parts are shared, and absent objects are created. */
export function withValueAt<T>(root: T, [key, ...rest]: readonly Key[], value: unknown): T {
  if (key === undefined) return value as T
  const below = withValueAt((root as Record<Key, unknown> | undefined)?.[key], rest, value)
  if (Array.isArray(root)) return root.with(Number(key), below) as T
  return { ...root, [key]: below } as T
}

interface Place {
  keys: readonly Key[]
  value: unknown
}

type FoundPlace = Omit<PodPlace, 'forAll'>

function templatePlace({ keys, value }: Place): FoundPlace[] {
  if (!isObject(value)) return []
  const { metadata, spec } = value
  const isPartial = isAbsent(spec) || (isObject(spec) && isAbsent(spec['containers']))
  const read = isPartial ? undefined : readPodSpec(spec)
  const [place] = metadataPlace({ keys: [...keys, 'metadata'], value: metadata ?? {} })
  if (!place || (!isPartial && !read)) return []
  const at = [...keys, 'spec']
  return [{ ...place, ...defined({ pod: read && { path: fieldPath(at), keys: at, spec: read } }) }]
}

function metadataPlace({ keys, value }: Place): FoundPlace[] {
  if (!isObject(value)) return []
  const { labels, annotations } = value
  if (!isAbsentOrObject(labels) || !isAbsentOrObject(annotations)) return []
  const metadata = defined({ labels: labels ?? undefined, annotations: annotations ?? undefined })
  return [{ path: fieldPath(keys), keys, metadata }]
}

function placesAt(root: unknown, segments: readonly string[]): Place[] {
  const [segment, ...rest] = segments
  if (segment === undefined) return [{ keys: [], value: root }]
  const keys: Key[] = Array.isArray(root)
    ? segment === '*'
      ? [...root.keys()]
      : []
    : isObject(root)
      ? segment === '*'
        ? Object.keys(root)
        : [segment].filter((name) => Object.hasOwn(root, name))
      : []
  return keys.flatMap((key) =>
    placesAt((root as Record<Key, unknown>)[key], rest).map((place) => ({ ...place, keys: [key, ...place.keys] })),
  )
}

function isAbsentOrObject(value: unknown): value is Texts | null | undefined {
  return isAbsent(value) || isObject(value)
}

/** Helm writes null for a member without a value. A workload whose schema keeps unknown fields has it still. */
function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null
}

function fieldPath(keys: readonly Key[]): string {
  return keys.reduce<string>((path, key) => {
    if (typeof key === 'number') return `${path}[${key}]`
    return path === '' ? key : `${path}.${key}`
  }, '')
}
