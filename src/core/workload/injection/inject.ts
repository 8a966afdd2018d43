/** Injects volumes into a pod spec: the volumes, their mounts, and the node affinity for the nodes that have the data. */
import { type NodeSelectorTerm, requiredTermsOf } from '../../../api/node.ts'
import type { Container, PodSpec, PodVolume, VolumeMount, VolumeSource } from '../../../api/pod.ts'
import type { FieldError } from '../../../base/field-errors.ts'
import { fnv1a } from '../../../base/hash.ts'
import { defined } from '../../../base/json.ts'
import { cleanHostPath, isBelow, mountedHostPath } from '../../volume-manager/rules/host-paths.ts'
import { isTooLarge, narrowAffinity } from '../node-affinity/volume-affinity.ts'
import { MAX_REQUIREMENTS, MAX_TERMS, specSizeErrors } from '../requests/limits.ts'
import type { WantedVolume } from '../requests/resolve.ts'
import { mountVolumes, type WantedMount } from './mounts.ts'
import { mountedSource, sourceKey } from './volume-source.ts'

export type Injected = { spec: PodSpec } | { errors: FieldError[] }

/** Injects the same volumes into any pod spec; `at` is the path of the spec in its object. */
export type Injector = (spec: PodSpec, at?: string) => Injected

/**
 * Injects volumes into a pod spec. Existing volumes and mounts stay as they are, so a second injection changes nothing. The order of the
 * volumes does not matter. Unchanged parts are shared with `spec`.
 */
export function injectVolumes(spec: PodSpec, wanted: readonly WantedVolume[]): Injected {
  return injectorOf(wanted)(spec)
}

/** Prepares the injection of volumes: a workload injects the same ones into hundreds of pod templates. */
export function injectorOf(wanted: readonly WantedVolume[]): Injector {
  const ordered = wanted
    .map((one) => ({ one, order: volumeSortKey(one) }))
    .sort((a, b) => compare(a.order, b.order))
    .map(({ one }) => one)
  const prepared = ordered.map(prepare)
  const protect = readOnlyMounts(sourcesToProtect(wanted))
  // Most templates have no terms of their own.
  const plain = narrowAffinity(undefined, ordered)
  return (spec, at = 'spec') => {
    const { volumes, mounts, errors } = addVolumes(spec.volumes ?? [], prepared, at)
    const mounted = mountVolumes(spec, mounts, at)
    const { affinity } = spec
    const nodeAffinity = affinity?.nodeAffinity ? narrowAffinity(affinity.nodeAffinity, ordered) : plain
    const terms = requiredTermsOf(nodeAffinity) ?? []
    const all = [...errors, ...('errors' in mounted ? mounted.errors : []), ...tooManyTerms(terms, at)]
    if (all.length > 0 || 'errors' in mounted) return { errors: all }
    const injected = {
      ...spec,
      ...protect(mounted.containers, volumes),
      ...defined({
        volumes: volumes.length > 0 ? volumes : undefined,
        affinity: nodeAffinity && (nodeAffinity === affinity?.nodeAffinity ? affinity : { ...affinity, nodeAffinity }),
      }),
    }
    const tooLarge = specSizeErrors(at, injected, wanted.length)
    return tooLarge.length > 0 ? { errors: tooLarge } : { spec: injected }
  }
}

function tooManyTerms(terms: readonly NodeSelectorTerm[], at: string): FieldError[] {
  const path = `${at}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`
  if (!isTooLarge(terms)) return []
  const message = `must have at most ${MAX_TERMS} terms and ${MAX_REQUIREMENTS} requirements after injection; request fewer volumes, or use fewer terms`
  return [{ path, code: 'TooLong', message }]
}

function sourcesToProtect(wanted: readonly WantedVolume[]) {
  return wanted
    .filter(({ volume }) => volume.readOnly)
    .flatMap(({ source, volume: { claims = [] } }): VolumeSource[] => [
      source,
      ...claims.map(({ claimName }) => ({ persistentVolumeClaim: { claimName } })),
    ])
}

/** A volume with what does not depend on the pod. */
interface PreparedVolume extends WantedVolume {
  /** Equal for volumes with the same data. */
  key: string
  /** The volume that is added to a pod without it. */
  added: PodVolume
  mountsReadOnly: boolean
}

function prepare(one: WantedVolume): PreparedVolume {
  const { request, volume, source } = one
  const name = volumeName(request.name, volume.id, request.shard)
  return {
    ...one,
    key: sourceKey(source),
    added: { name, ...mountedSource(source, request.enforcement ?? 'Required') },
    mountsReadOnly: volume.readOnly || request.readOnly === true,
  }
}

function addVolumes(own: readonly PodVolume[], wanted: readonly PreparedVolume[], at: string) {
  const volumes = [...own]
  const errors: FieldError[] = []
  const nameByKey = new Map<string, string>()
  const indexByName = new Map<string, number>()
  const note = (volume: PodVolume, key: string, i: number) => {
    if (!nameByKey.has(key)) nameByKey.set(key, volume.name)
    if (!indexByName.has(volume.name)) indexByName.set(volume.name, i)
  }
  for (const [i, volume] of own.entries()) note(volume, sourceKey(volume), i)
  const mounts = wanted.map(({ path, request, volume, key, added, mountsReadOnly }): WantedMount => {
    const found = nameByKey.get(key)
    if (found !== undefined) return { path, request, volume: found, readOnly: mountsReadOnly }
    const { name } = added
    const taken = indexByName.get(name)
    if (taken === undefined) {
      note(added, key, volumes.length)
      volumes.push(added)
    } else {
      errors.push({
        path: `${at}.volumes[${taken}].name`,
        code: 'Duplicate',
        message: `${name} duplicates the name of volume ${volume.id} of VolumeManager ${request.name}; rename the volume of the pod`,
      })
    }
    return { path, request, volume: name, readOnly: mountsReadOnly }
  })
  return { volumes, mounts, errors }
}

function volumeSortKey({ request, volume }: WantedVolume): string {
  return JSON.stringify([request.name, volume.id, request.shard ?? '', request])
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one === other ? 0 : 1
}

/** The maximum length of a DNS label (k8s.io/apimachinery, pkg/util/validation). */
const MAX_LENGTH = 63
const PLAIN = /^[a-z0-9]+(-[a-z0-9]+)*$/

/**
 * Returns `manager--id`, or `manager--id--shard` for a shard. A name that is too long or has other characters gets a hash at its end.
 *
 * The hash makes names unique: `a.b` and `a-b` get different names, and so do `a-b` of `c` and `b-c` of `a`.
 */
export function volumeName(manager: string, id: string, shard?: string): string {
  const parts = shard === undefined ? [manager, id] : [manager, id, shard]
  const name = parts.join('--')
  if (name.length <= MAX_LENGTH && parts.every((part) => PLAIN.test(part))) return name
  const hash = fnv1a(JSON.stringify(parts))
  const readable = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
  return `${readable.slice(0, MAX_LENGTH - hash.length - 1)}-${hash}`.replaceAll(/-+/g, '-').replace(/^-/, '')
}

type Containers = Pick<PodSpec, 'containers' | 'initContainers'>

/**
 * Returns a function that makes every mount of data of these sources read-only. It takes the containers of a pod and all of its volumes.
 * The request of the pod and the name of the volume in the pod do not matter. Unchanged parts are shared.
 */
function readOnlyMounts(
  sources: readonly VolumeSource[],
): (given: Containers, volumes: readonly PodVolume[]) => Containers {
  const claims = new Set(sources.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []))
  const roots = [...new Set(sources.flatMap(({ hostPath }) => (hostPath ? cleanHostPath(hostPath.path) : [])))]
  /** Whether all of a volume of a pod is data of a source. */
  const isData = ({ hostPath, persistentVolumeClaim }: PodVolume) => {
    if (persistentVolumeClaim) return claims.has(persistentVolumeClaim.claimName)
    return hostPath !== undefined && roots.length > 0 && isBelow(cleanHostPath(hostPath.path), roots)
  }
  return (given, volumes) => {
    if (sources.length === 0) return given
    const names = new Set(volumes.filter(isData).map(({ name }) => name))
    const around = new Map(
      volumes.flatMap(({ name, hostPath }) => {
        if (!hostPath || names.has(name)) return []
        const path = cleanHostPath(hostPath.path)
        return roots.some((root) => isBelow(root, [path])) ? [[name, path] as const] : []
      }),
    )
    if (names.size + around.size === 0) return given
    const isProtected = (mount: VolumeMount) => {
      const path = around.get(mount.name)
      return path === undefined ? names.has(mount.name) : isBelow(mountedHostPath(path, mount), roots)
    }
    const { containers, initContainers } = given
    const protect = (list: Container[]) => list.map((container) => protectMounts(container, isProtected))
    return defined({ containers: protect(containers), initContainers: initContainers && protect(initContainers) })
  }
}

function protectMounts(container: Container, isProtected: (mount: VolumeMount) => boolean): Container {
  const { volumeMounts = [] } = container
  const isOpen = (mount: VolumeMount) => mount.readOnly !== true && isProtected(mount)
  if (!volumeMounts.some(isOpen)) return container
  return {
    ...container,
    volumeMounts: volumeMounts.map((mount) => (isOpen(mount) ? { ...mount, readOnly: true } : mount)),
  }
}
