/** Resolves the volume requests of a pod to volumes of VolumeManagers. */
import type { NodeAffinity } from '../../../api/node.ts'
import type { VolumeSource } from '../../../api/pod.ts'
import type { FieldError } from '../../../base/field-errors.ts'
import { defined } from '../../../base/json.ts'
import { jsonBytes, MAX_OBJECT_BYTES } from '../../admission/object-size.ts'
import { cut } from '../../outcome.ts'
import { isDeployed } from '../../volume-manager/codes.ts'
import type { UsableVolume, VolumeManagerLookup } from '../injection/mountable-volumes.ts'
import type { PlacedRequest } from './volume-requests.ts'

/** A request and its volume. For a shard, the volume has the nodes of the shard. */
export interface WantedVolume extends PlacedRequest {
  volume: UsableVolume
  source: VolumeSource
}

export interface Resolved {
  wanted: WantedVolume[]
  /** Errors in the annotation. Only a change of the annotation fixes them. */
  errors: FieldError[]
  /** Errors of the VolumeManagers. They may disappear without a change of the pod. */
  unusable: FieldError[]
}

/** In characters: long enough for the reason of a failure, short enough for an Event. */
export const MAX_REASON_LENGTH = 300

/** Finds the volumes of all requests and collects all errors. */
export function resolveRequests(requests: readonly PlacedRequest[], managers: VolumeManagerLookup): Resolved {
  const resolved: Resolved = { wanted: [], errors: [], unusable: [] }
  let affinityBytes = 0
  for (const placed of requests) {
    const found = resolveOne(placed, managers)
    if ('error' in found) {
      resolved[found.list].push(found.error)
      continue
    }
    affinityBytes += affinitySize(found.wanted.volume.nodeAffinity)
    if (affinityBytes > MAX_OBJECT_BYTES) return { ...resolved, errors: [...resolved.errors, tooLarge(placed)] }
    resolved.wanted.push(found.wanted)
  }
  return resolved
}

/** Cached sizes: the affinities of cached VolumeManagers never change. */
const sizes = new WeakMap<NodeAffinity, number>()

function affinitySize(affinity: NodeAffinity): number {
  const size = sizes.get(affinity) ?? jsonBytes(affinity)
  sizes.set(affinity, size)
  return size
}

/** A pod gets the node affinities of all of its volumes. They are limited before they are compared with each other. */
function tooLarge({ path }: PlacedRequest): FieldError {
  return {
    path,
    code: 'TooLong',
    message: `the node affinities of the volumes up to this one have more than ${MAX_OBJECT_BYTES} bytes; request fewer volumes, or use fewer values in their nodeAffinity`,
  }
}

/**
 * The message for a VolumeManager that does not exist.
 *
 * @param hint a similar name, as `suggest` writes it
 */
export function missingVolumeManager(name: string, hint = ''): string {
  return `there is no VolumeManager ${name} in this namespace${hint}; create it first`
}

type Found = { wanted: WantedVolume } | { list: 'errors' | 'unusable'; error: FieldError }

function resolveOne(placed: PlacedRequest, managers: VolumeManagerLookup): Found {
  const { path, request } = placed
  const manager = managers(request.name)
  if (!manager) return unusable(`${path}.name`, missingVolumeManager(request.name))
  const title = `VolumeManager ${manager.name}`
  const ids = manager.volumes.map(({ id }) => id)
  const volume = request.id === undefined ? manager.volumes[0] : manager.volumes.find(({ id }) => id === request.id)
  if (!volume) return wrong(`${path}.id`, `${title} has ${choice('volume', ids)}`)
  if (manager.refusal !== undefined) {
    const because = volume.message === '' || isDeployed(volume) ? '' : ` (${volume.message})`
    const reason = cut(`${manager.refusal}${because}`, MAX_REASON_LENGTH)
    return unusable(path, `${title} cannot be used: ${reason}; see kubectl describe volumemanager ${manager.name}`)
  }
  const { source } = volume
  if (!source)
    return unusable(
      path,
      `volume ${volume.id} of ${title} cannot be mounted: its sourceType or options are wrong; correct them first`,
    )
  if (request.shard === undefined) return { wanted: { ...placed, volume, source } }
  const shard = volume.shards().find(({ name }) => name === request.shard)
  if (!shard) {
    const names = volume.shards().map(({ name }) => name)
    return wrong(`${path}.shard`, `volume ${volume.id} of ${title} has ${choice('shard', names)}`)
  }
  const { nodeAffinity, nodes } = shard
  const claims = volume.claims?.filter((claim) => claim.shard === request.shard)
  return { wanted: { ...placed, volume: { ...volume, nodeAffinity, nodes, ...defined({ claims }) }, source } }
}

/** Warns about required volumes that are ready, but not together on any node: the scheduler finds no node for the pods. */
export function separateVolumes(wanted: readonly WantedVolume[]): string[] {
  const onNodes = wanted.filter(({ request, volume }) => request.enforcement !== 'Preferred' && volume.nodes.length > 0)
  const [first, ...others] = onNodes.map(({ volume }) => volume.nodes)
  if (!first || first.some((node) => others.every((nodes) => nodes.includes(node)))) return []
  return [`no node has all of ${volumeNames(onNodes)}; give them the same nodeAffinity`]
}

/** The names of volumes for messages, e.g. `weights/bert`. */
export function volumeNames(wanted: readonly WantedVolume[]): string {
  const names = wanted.map(({ request, volume }) => [request.name, volume.id, request.shard].filter(Boolean).join('/'))
  return [...new Set(names)].sort().join(', ')
}

function choice(what: string, names: readonly string[]): string {
  return names.length === 0 ? `no ${what}` : `no such ${what}; it has ${names.join(', ')}`
}

function wrong(path: string, message: string): Found {
  return { list: 'errors', error: { path, code: 'NotSupported', message } }
}

function unusable(path: string, message: string): Found {
  return { list: 'unusable', error: { path, code: 'Invalid', message } }
}
