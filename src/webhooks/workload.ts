/** Admission of workloads whose pods request volumes: checks the requested volumes, and labels the pod templates. */
import { VOLUMES_ANNOTATION } from '../api/lodestone.ts'
import { pods } from '../api/pod.ts'
import { interpretedKind, interpretedKinds } from '../core/dependencies/kinds.ts'
import { decideWorkload } from '../core/workload/decide-workload.ts'
import { isHub, volumeManagersOf } from '../queries/volumes.ts'
import { defineWebhook } from './define.ts'

/** The kinds that create pods from templates, with third-party kinds. */
const kinds = interpretedKinds.filter(({ type, templates }) => type.namespaced && type.kind !== pods.kind && templates)

export const workload = defineWebhook({
  name: 'workload',
  type: 'mutating',
  resources: kinds.map(({ type }) => type),
  operations: ['CREATE', 'UPDATE'],
  matchCondition: {
    name: 'asks-for-volumes',
    expression: asksForVolumes(kinds.flatMap(({ templates = [] }) => templates)),
  },
  // The webhook for pods checks the rest when the pods are created.
  failurePolicy: 'Ignore',
  gather({ object, oldObject, namespace }, { store, volumeLimits }) {
    const { apiVersion, kind, metadata } = object
    return {
      object,
      stored: oldObject ?? undefined,
      templatePaths: interpretedKind(apiVersion, kind)?.templates ?? [],
      managers: volumeManagersOf(store, namespace || metadata.namespace, volumeLimits),
      isHub: isHub(store),
    }
  },
  decide: decideWorkload,
})

/**
 * Returns a CEL expression: whether the workload or one of its pod templates has the annotation. It uses only features of Kubernetes 1.28.
 * It must not fail for a valid object, since a failure counts as a failure of Lodestone.
 */
function asksForVolumes(paths: readonly string[]): string {
  return anyOf(
    'object',
    [[], ...new Set(paths)].map((path) => (typeof path === 'string' ? path.split('.') : path)),
    0,
  )
}

/** Returns a CEL expression: whether an object at one of these paths, starting from `value`, has the annotation. */
function anyOf(value: string, paths: readonly (readonly string[])[], depth: number): string {
  const ends = paths.some((path) => path.length === 0)
  const below = Map.groupBy(
    paths.filter((path) => path.length > 0),
    ([segment]) => segment as string,
  )
  return [
    ...(ends ? [isAnnotated(value)] : []),
    ...[...below].map(([segment, through]) => {
      const rest = through.map((path) => path.slice(1))
      if (segment === '*')
        return `${itemsOf(value)}.exists(v${depth}, type(v${depth}) == map && (${anyOf(`v${depth}`, rest, depth + 1)}))`
      return `has(${value}.${segment}) && (${anyOf(`${value}.${segment}`, rest, depth)})`
    }),
  ].join(' || ')
}

function isAnnotated(value: string): string {
  return `has(${value}.metadata) && has(${value}.metadata.annotations) && '${VOLUMES_ANNOTATION}' in ${value}.metadata.annotations`
}

/** Returns a CEL expression for the items of a list or the values of a map; CEL iterates over the keys of a map. */
function itemsOf(value: string): string {
  return `${value}.map(k, type(${value}) == map ? ${value}[k] : k)`
}
