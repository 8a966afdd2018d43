/** Finds the ConfigMaps, Secrets, ServiceAccounts and claims that a pod spec names, as Karmada's native interpreter does. */
import { configMaps, secrets, serviceAccounts } from '../../api/dependencies.ts'
import type { ResourceType } from '../../api/meta.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import { isObject } from '../json.ts'
import { stringsAt, valuesAt } from './json-path.ts'
import { type NamedObject, named } from './references.ts'

/** In a container, or anything else with `env` and `envFrom`. */
const CONTAINER_PATHS: readonly [ResourceType, string][] = [
  [configMaps, 'env.*.valueFrom.configMapKeyRef.name'],
  [configMaps, 'envFrom.*.configMapRef.name'],
  [secrets, 'env.*.valueFrom.secretKeyRef.name'],
  [secrets, 'envFrom.*.secretRef.name'],
]

/** In a pod spec. The deprecated `serviceAccount` is the same as `serviceAccountName`: API servers fill in either from the other. */
const POD_PATHS: readonly [ResourceType, string][] = [
  [secrets, 'imagePullSecrets.*.name'],
  [serviceAccounts, 'serviceAccountName'],
  [persistentVolumeClaims, 'volumes.*.persistentVolumeClaim.claimName'],
]

const CONTAINERS = ['containers.*', 'initContainers.*', 'ephemeralContainers.*']

/**
 * The sources of a volume by which it names a Secret or a ConfigMap, and where. A volume has one source; should a kind let two through, the
 * first of these counts, as with Karmada (VisitPodSecretNames and VisitPodConfigmapNames in pkg/util/lifted/visitpod.go).
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
])
const CONTAINER_MEMBERS: ReadonlySet<string> = new Set(['env', 'envFrom'])

/** Whether a value may name something as a pod spec does: of everything below a Workflow, hardly anything does. */
export function isPodSpec(value: unknown): boolean {
  return isObject(value) && Object.keys(value).some((name) => POD_MEMBERS.has(name))
}

/** Whether a value may name something as a container does. */
export function isContainer(value: unknown): boolean {
  return isObject(value) && Object.keys(value).some((name) => CONTAINER_MEMBERS.has(name))
}

/**
 * Everything that a pod spec names, with doubles; parts of the wrong shape name nothing. With the ServiceAccount `default` left out, that is
 * what GetDependenciesFromPodTemplate gives (Karmada, pkg/util/helper/pod.go).
 */
export function podSpecObjects(spec: unknown): NamedObject[] {
  const volumes = valuesAt(spec, 'volumes.*')
  return [
    ...objectsAt(spec, POD_PATHS),
    ...CONTAINERS.flatMap((path) => valuesAt(spec, path)).flatMap(containerObjects),
    ...named(secrets, volumes.flatMap(namesIn(SECRET_SOURCES))),
    ...named(configMaps, volumes.flatMap(namesIn(CONFIG_MAP_SOURCES))),
  ]
}

/** The objects that the environment of one container names. */
export function containerObjects(container: unknown): NamedObject[] {
  return objectsAt(container, CONTAINER_PATHS)
}

/**
 * The claims that generic ephemeral volumes of a pod spec copy; Karmada does not look for them. The member cluster makes and owns the
 * volume's own claim, pod by pod. The source of another copy, such as a VolumeSnapshot, belongs to the storage of one cluster. The workload
 * does not bring along a claim of another namespace.
 */
export function ephemeralVolumeObjects(spec: unknown): NamedObject[] {
  const templates = valuesAt(spec, 'volumes.*.ephemeral.volumeClaimTemplate.spec')
  const sources = ['dataSource', 'dataSourceRef'].flatMap((path) => templates.flatMap((at) => valuesAt(at, path)))
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
