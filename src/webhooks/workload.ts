/** Admission of workloads whose pods ask for volumes: checks what they ask for, and labels the pods to come. */
import { VOLUMES_ANNOTATION } from '../api/lodestone.ts'
import { pods } from '../api/pod.ts'
import { interpretedKind, interpretedKinds } from '../core/dependencies/kinds.ts'
import { decideWorkload } from '../core/workload/decide-workload.ts'
import { isHub, volumeManagersOf } from '../store/gather-volumes.ts'
import { defineWebhook } from './define.ts'

/** The kinds that make pods of templates, third-party kinds among them. */
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
  // What is not checked here is checked when the pods are created.
  failurePolicy: 'Ignore',
  gather({ object, oldObject, namespace }, { store }) {
    const { apiVersion, kind, metadata } = object
    return {
      object,
      stored: oldObject ?? undefined,
      templatePaths: interpretedKind(apiVersion, kind)?.templates ?? [],
      managers: volumeManagersOf(store, namespace || metadata.namespace),
      isHub: isHub(store),
    }
  },
  decide: decideWorkload,
})

/**
 * In CEL: whether the workload or one of its pod templates has the annotation. Nothing newer than Kubernetes 1.28 is in it, and no
 * object makes it fail, since a failure would be counted as one.
 */
function asksForVolumes(paths: readonly string[]): string {
  return ['', ...new Set(paths.map((path) => path))]
    .map((path) => annotated('object', path === '' ? [] : path.split('.'), 0))
    .join(' || ')
}

function annotated(value: string, [segment, ...rest]: readonly string[], depth: number): string {
  if (segment === undefined) {
    const metadata = `${value}.metadata`
    return `has(${metadata}) && has(${metadata}.annotations) && '${VOLUMES_ANNOTATION}' in ${metadata}.annotations`
  }
  if (segment !== '*') return `has(${value}.${segment}) && ${annotated(`${value}.${segment}`, rest, depth)}`
  const item = `v${depth}`
  const items = `${value}.map(k, type(${value}) == map ? ${value}[k] : k)`
  return `${items}.exists(${item}, type(${item}) == map && ${annotated(item, rest, depth + 1)})`
}
