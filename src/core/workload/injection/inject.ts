/** Injects volumes into a pod spec: the volumes, their mounts, and the node affinity for the nodes that have the data. */
import type { NodeSelectorTerm } from '../../../api/node.ts'
import type { PodSpec, PodVolume, VolumeSource } from '../../../api/pod.ts'
import type { FieldError } from '../../field-errors.ts'
import { isTooLarge, narrowAffinity } from '../node-affinity/volume-affinity.ts'
import { MAX_REQUIREMENTS, MAX_TERMS } from '../requests/limits.ts'
import type { WantedVolume } from '../requests/resolve.ts'
import { mountVolumes, type WantedMount } from './mounts.ts'
import { withReadOnlyMounts } from './read-only.ts'
import { volumeName } from './volume-name.ts'
import { findVolume, mountedSource } from './volume-source.ts'

export type Injected = { spec: PodSpec } | { errors: FieldError[] }

/**
 * Injects volumes into a pod spec. Existing volumes and mounts stay as they are, so a second injection changes nothing. The order of the
 * volumes does not matter. Unchanged parts are shared with `spec`.
 *
 * @param at the path of the pod spec in the object
 */
export function injectVolumes(spec: PodSpec, wanted: readonly WantedVolume[], at = 'spec'): Injected {
  const ordered = wanted.toSorted((a, b) => compare(orderOf(a), orderOf(b)))
  const { volumes, mounts, errors } = addVolumes(spec.volumes ?? [], ordered, at)
  const mounted = mountVolumes(spec, mounts, at)
  const nodeAffinity = narrowAffinity(spec.affinity?.nodeAffinity, ordered)
  const terms = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const all = [...errors, ...('errors' in mounted ? mounted.errors : []), ...tooManyTerms(terms, at)]
  if (all.length > 0 || 'errors' in mounted) return { errors: all }
  const { affinity } = spec
  const containers = withReadOnlyMounts(mounted.containers, volumes, sourcesToProtect(wanted))
  return {
    spec: {
      ...spec,
      ...containers,
      ...(volumes.length > 0 && { volumes }),
      ...(nodeAffinity && {
        affinity: nodeAffinity === affinity?.nodeAffinity ? affinity : { ...affinity, nodeAffinity },
      }),
    },
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

function addVolumes(own: readonly PodVolume[], wanted: readonly WantedVolume[], at: string) {
  const volumes = [...own]
  const errors: FieldError[] = []
  const mounts = wanted.map(({ path, request, volume, source }): WantedMount => {
    const readOnly = volume.readOnly || request.readOnly === true
    const found = findVolume(volumes, source)
    if (found) return { path, request, volume: found.name, readOnly }
    const name = volumeName(request.name, volume.id, request.shard)
    const taken = volumes.findIndex((one) => one.name === name)
    if (taken < 0) volumes.push({ name, ...mountedSource(source, request.enforcement ?? 'Required') })
    else {
      errors.push({
        path: `${at}.volumes[${taken}].name`,
        code: 'Duplicate',
        message: `${name} duplicates the name of volume ${volume.id} of VolumeManager ${request.name}; rename the volume of the pod`,
      })
    }
    return { path, request, volume: name, readOnly }
  })
  return { volumes, mounts, errors }
}

function orderOf({ request, volume }: WantedVolume): string {
  return JSON.stringify([request.name, volume.id, request.shard ?? '', request])
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one === other ? 0 : 1
}
