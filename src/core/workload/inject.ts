/** Injects volumes into a pod spec: the volumes, their mounts, and the node affinity for the nodes that have the data. */
import type { NodeAffinity, NodeSelectorTerm, PreferredSchedulingTerm } from '../../api/node.ts'
import type { PodSpec, PodVolume } from '../../api/pod.ts'
import type { FieldError } from '../field-errors.ts'
import { addPreferences, narrowTerms } from './affinity.ts'
import { MAX_REQUIREMENTS, MAX_TERMS } from './limits.ts'
import { mountVolumes, type WantedMount } from './mounts.ts'
import { withReadOnlyMounts } from './read-only.ts'
import type { WantedVolume } from './resolve.ts'
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

function isTooLarge(terms: readonly NodeSelectorTerm[]): boolean {
  if (terms.length > MAX_TERMS) return true
  const count = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm) =>
    matchExpressions.length + matchFields.length
  return terms.reduce((sum, term) => sum + count(term), 0) > MAX_REQUIREMENTS
}

function sourcesToProtect(wanted: readonly WantedVolume[]) {
  return wanted.filter(({ volume }) => volume.readOnly).map(({ source }) => source)
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

/** Narrows the affinity to the nodes of required volumes. Nodes of preferred volumes get a weight by their share of the bytes. */
function narrowAffinity(own: NodeAffinity | undefined, wanted: readonly WantedVolume[]): NodeAffinity | undefined {
  const isRequired = ({ request }: WantedVolume) => request.enforcement !== 'Preferred'
  const before = own?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  let terms: readonly NodeSelectorTerm[] | undefined = before
  for (const volume of wanted.filter(isRequired)) {
    const required = termsOf(volume)
    if (required.length > 0) terms = narrowTerms(terms, required)
    // Stops before the cross product of the terms is too large to compute.
    if (terms && isTooLarge(terms)) break
  }
  const preferences = own?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  const preferred = addPreferences(preferences, [
    ...weighed(wanted.filter((volume) => !isRequired(volume))),
    ...wanted.flatMap(({ volume }) => volume.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution ?? []),
  ])
  if (isSameList(terms, before) && preferred === preferences) return own
  return {
    ...own,
    ...(terms && {
      requiredDuringSchedulingIgnoredDuringExecution: {
        ...own?.requiredDuringSchedulingIgnoredDuringExecution,
        nodeSelectorTerms: [...terms],
      },
    }),
    ...(preferred.length > 0 && { preferredDuringSchedulingIgnoredDuringExecution: [...preferred] }),
  }
}

function weighed(wanted: readonly WantedVolume[]): PreferredSchedulingTerm[] {
  const total = wanted.reduce((sum, { volume }) => sum + (volume.bytes ?? 0), 0)
  const areKnown = total > 0 && wanted.every(({ volume }) => volume.bytes !== undefined)
  return wanted.flatMap((one) => {
    const share = areKnown ? (one.volume.bytes ?? 0) / total : 1 / wanted.length
    const weight = Math.max(1, Math.round(100 * share))
    return termsOf(one).map((preference) => ({ weight, preference }))
  })
}

function termsOf({ volume }: WantedVolume): readonly NodeSelectorTerm[] {
  return volume.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
}

function isSameList(one: readonly unknown[] | undefined, other: readonly unknown[] | undefined): boolean {
  return one === other || (one?.length === other?.length && (one ?? []).every((item, i) => item === other?.[i]))
}

function orderOf({ request, volume }: WantedVolume): string {
  return JSON.stringify([request.name, volume.id, request.shard ?? '', request])
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one === other ? 0 : 1
}
