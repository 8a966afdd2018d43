/** Finds the pod templates of a workload at the paths of its kind, and writes changed values back. */
import type { K8sObject } from '../../api/meta.ts'
import type { PodTemplate } from '../../api/pod.ts'
import { isObject } from '../json.ts'
import { validatePodSpec } from './validate.ts'

type Key = string | number

export interface PlacedTemplate {
  /** In the notation of users: `spec.tasks[0].template`. */
  path: string
  keys: readonly Key[]
  template: PodTemplate
}

/**
 * Returns every pod template at these paths (core/dependencies/json-path.ts). A value of another shape is left out: its own API rejects it.
 */
export function templatesOf(object: K8sObject, paths: readonly string[]): PlacedTemplate[] {
  return paths
    .flatMap((path) => placesOf(object, path.split('.')))
    .filter(
      ({ value }) =>
        isObject(value) && isAbsentOrObject(value['metadata']) && validatePodSpec(value['spec']).length === 0,
    )
    .map(({ keys, value }) => ({ keys, path: pathOf(keys), template: value as PodTemplate }))
}

/** Returns a copy of the object with another value at the path; all unchanged parts are shared. */
export function withValueAt<T>(root: T, [key, ...rest]: readonly Key[], value: unknown): T {
  if (key === undefined) return value as T
  const below = withValueAt((root as Record<Key, unknown>)[key], rest, value)
  if (Array.isArray(root)) return root.with(Number(key), below) as T
  return { ...root, [key]: below }
}

function placesOf(root: unknown, segments: readonly string[]): { keys: readonly Key[]; value: unknown }[] {
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
    placesOf((root as Record<Key, unknown>)[key], rest).map((place) => ({ ...place, keys: [key, ...place.keys] })),
  )
}

function isAbsentOrObject(value: unknown): boolean {
  return value === undefined || isObject(value)
}

function pathOf(keys: readonly Key[]): string {
  return keys.reduce<string>((path, key) => {
    if (typeof key === 'number') return `${path}[${key}]`
    return path === '' ? key : `${path}.${key}`
  }, '')
}
