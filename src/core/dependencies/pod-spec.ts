/**
 * Finds the ConfigMaps, Secrets, ServiceAccounts and PersistentVolumeClaims that a pod spec names, as Karmada's native interpreter does.
 */
import { configMaps, secrets, serviceAccounts } from '../../api/dependencies.ts'
import type { ResourceType } from '../../api/meta.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import { isObject } from '../../base/json.ts'
import { stringsAt, valuesAt } from '../../base/json-path.ts'
import { type NamedObject, named } from '../workload-kinds/references.ts'

/** Paths in a container or any other object with `env` and `envFrom`. */
const CONTAINER_PATHS: readonly [ResourceType, string][] = [
  [configMaps, 'env.*.valueFrom.configMapKeyRef.name'],
  [configMaps, 'envFrom.*.configMapRef.name'],
  [secrets, 'env.*.valueFrom.secretKeyRef.name'],
  [secrets, 'envFrom.*.secretRef.name'],
]

/** Paths in a pod spec, besides its ServiceAccount. */
const POD_PATHS: readonly [ResourceType, string][] = [
  [secrets, 'imagePullSecrets.*.name'],
  [persistentVolumeClaims, 'volumes.*.persistentVolumeClaim.claimName'],
]

const CONTAINERS = ['containers.*', 'initContainers.*', 'ephemeralContainers.*']

/**
 * The volume sources that name a Secret or a ConfigMap, with the path of the name. A volume has one source. If a kind accepts two, the
 * first in this list counts, as in Karmada (VisitPodSecretNames and VisitPodConfigmapNames in pkg/util/lifted/visitpod.go).
 */
const SECRET_SOURCES: readonly [string, string][] = [
  ['azureFile', 'secretName'],
  ['cephfs', 'secretRef.name'],
  ['cinder', 'secretRef.name'],
  ['flexVolume', 'secretRef.name'],
  ['projected', 'sources.*.secret.name'],
  ['rbd', 'secretRef.name'],
  ['secret', 'secretName'],
  ['scaleIO', 'secretRef.name'],
  ['iscsi', 'secretRef.name'],
  ['storageos', 'secretRef.name'],
  ['csi', 'nodePublishSecretRef.name'],
]
const CONFIG_MAP_SOURCES: readonly [string, string][] = [
  ['projected', 'sources.*.configMap.name'],
  ['configMap', 'name'],
]

const POD_MEMBERS: ReadonlySet<string> = new Set([
  'volumes',
  'containers',
  'initContainers',
  'ephemeralContainers',
  'imagePullSecrets',
  'serviceAccountName',
  'serviceAccount',
])
const CONTAINER_MEMBERS: ReadonlySet<string> = new Set(['env', 'envFrom'])

/** Whether a value has fields of a pod spec that name objects. Hardly any value in a Workflow has. */
export function isPodSpec(value: unknown): boolean {
  return isObject(value) && Object.keys(value).some((name) => POD_MEMBERS.has(name))
}

/** Whether a value has fields of a container that name objects. */
export function isContainer(value: unknown): boolean {
  return isObject(value) && Object.keys(value).some((name) => CONTAINER_MEMBERS.has(name))
}

/**
 * Returns all objects that a pod spec names, with duplicates; parts of the wrong shape are ignored. Without the ServiceAccount `default`,
 * the result is that of GetDependenciesFromPodTemplate (Karmada, pkg/util/helper/pod.go).
 */
export function podSpecObjects(spec: unknown): NamedObject[] {
  const volumes = valuesAt(spec, 'volumes.*')
  return [
    ...objectsAt(spec, POD_PATHS),
    ...named(serviceAccounts, serviceAccountOf(spec)),
    ...CONTAINERS.flatMap((path) => valuesAt(spec, path)).flatMap(containerObjects),
    ...named(secrets, volumes.flatMap(namesIn(SECRET_SOURCES))),
    ...named(configMaps, volumes.flatMap(namesIn(CONFIG_MAP_SOURCES))),
  ]
}

/**
 * Returns the name of the ServiceAccount, or nothing. An API server sets `serviceAccountName` from the deprecated `serviceAccount` in its own
 * kinds only (pkg/apis/core/v1/conversion.go). In another kind, it does so when a pod is created.
 */
export function serviceAccountOf(spec: unknown): string[] {
  return [...stringsAt(spec, 'serviceAccountName'), ...stringsAt(spec, 'serviceAccount')].slice(0, 1)
}

/** Returns the objects that the environment of one container names. */
export function containerObjects(container: unknown): NamedObject[] {
  return objectsAt(container, CONTAINER_PATHS)
}

/**
 * Returns the Secrets that the drivers of inline volumes read, such as file.csi.azure.com: without a namespace, in that of the pod. Karmada
 * ignores them.
 */
export function inlineVolumeSecrets(spec: unknown): NamedObject[] {
  const attributes = valuesAt(spec, 'volumes.*.csi.volumeAttributes')
  const own = attributes.filter((one) => stringsAt(one, 'secretNamespace').length === 0)
  return objectsAt(own, [[secrets, '*.secretName']])
}

/** Returns the templates of claims in generic ephemeral volumes of a pod spec. Karmada ignores them. */
export function ephemeralTemplates(spec: unknown): unknown[] {
  return valuesAt(spec, 'volumes.*.ephemeral.volumeClaimTemplate')
}

/**
 * Returns the PersistentVolumeClaims that new claims clone. The member cluster creates a claim of each template per pod. Other sources, such
 * as a VolumeSnapshot, exist in one cluster only. Claims of another namespace are not propagated.
 */
export function clonedClaims(templates: readonly unknown[]): NamedObject[] {
  const sources = templates.flatMap((template) =>
    ['spec.dataSource', 'spec.dataSourceRef'].flatMap((path) => valuesAt(template, path)),
  )
  const claims = sources.filter(
    (source) =>
      stringsAt(source, 'kind')[0] === persistentVolumeClaims.kind &&
      stringsAt(source, 'apiGroup').length === 0 &&
      stringsAt(source, 'namespace').length === 0,
  )
  return objectsAt(claims, [[persistentVolumeClaims, '*.name']])
}

function objectsAt(value: unknown, paths: readonly [ResourceType, string][]): NamedObject[] {
  return paths.flatMap(([type, path]) => named(type, stringsAt(value, path)))
}

function namesIn(sources: readonly [string, string][]): (volume: unknown) => string[] {
  return (volume) => {
    for (const [source, path] of sources) {
      const [found] = valuesAt(volume, source)
      if (found !== undefined && found !== null) return stringsAt(found, path)
    }
    return []
  }
}
