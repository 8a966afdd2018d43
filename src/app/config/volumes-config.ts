/** The volumes part of the configuration: the limits of VolumeManagers and the settings of movers. */
import type { FieldError } from '../../base/field-errors.ts'
import { isNetwork } from '../../base/net/local-address.ts'
import { BYTES } from '../../base/quantity.ts'
import { isBelow, overlap } from '../../core/volume-manager/rules/host-paths.ts'
import { QUANTITY } from '../../core/volume-manager/rules/options.ts'
import type { VolumeSettings } from '../../core/volume-manager/rules/settings.ts'
import { DEFAULT_VOLUME_LIMITS } from '../../core/volume-manager/rules/settings.ts'
import type { WhenNotReady } from '../../core/workload/decide-pod.ts'
import { choice, type Field, field, flag, list, optional, section, text } from './section.ts'

export interface VolumesConfig extends VolumeSettings {
  /** Whether Lodestone moves data to the nodes of the served cluster: a member or a single cluster, never a hub. */
  enabled: boolean
  /**
   * The treatment of pods whose data is not ready. `gate` adds a scheduling gate, `refuse` rejects them for API servers without gates.
   * These are older than Kubernetes 1.27, or have the feature gate PodSchedulingReadiness disabled.
   */
  whenNotReady: WhenNotReady
}

const percent = { type: 'integer', minimum: 1, maximum: 100 }
const architecture = {
  type: 'string',
  pattern: '^[a-z0-9]{1,63}$',
  errorMessage: 'must be an architecture such as amd64',
}
/** Absolute and without `.` and `..`, since paths are compared as text. Without lookahead: Go, and so helm, has none. */
const directory = {
  type: 'string',
  pattern: '^(/([^/.][^/]*|\\.[^/.][^/]*|\\.\\.[^/]+))+/?$',
  errorMessage: 'must be an absolute path without ".", ".." and double slashes, e.g. /var/data',
}
const quantity = {
  type: 'string',
  pattern: QUANTITY.source,
  errorMessage: 'must be a quantity such as 500m or 1Gi, in quotes if it is a number',
}
const quantities = { type: 'object', additionalProperties: quantity }
const texts = { type: 'array', items: text }
const { movers: moverLimits, ...volumeLimits } = DEFAULT_VOLUME_LIMITS

/** Most types and their meaning are those of `VolumeSettings`, which decisions read. */
export const volumesSection: Field<VolumesConfig> = section({
  enabled: field(flag, false),
  whenNotReady: choice<WhenNotReady>(['gate', 'refuse'], 'gate'),
  allowedRoots: field({ type: 'array', minItems: 1, items: directory }, volumeLimits.allowedRoots),
  localRoots: field({ type: 'array', items: directory }, volumeLimits.localRoots),
  localPaths: field({ enum: ['below', 'roots'] }, volumeLimits.localPaths),
  allowedLocalNetworks: field(texts, volumeLimits.allowedLocalNetworks),
  allowedMoverImages: field(texts, volumeLimits.allowedMoverImages),
  movers: section({
    image: field(text, 'lodestone:latest'),
    architectures: field({ type: 'array', minItems: 1, items: architecture }, ['amd64', 'arm64']),
    namespace: optional<string>({
      type: 'string',
      pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
      errorMessage: 'must be the name of a namespace',
    }),
    serviceAccountName: field(text, 'lodestone-mover'),
    imagePullSecrets: list(),
    priorityClassName: optional<string>(text),
    allowedPriorityClassNames: field(texts, moverLimits.allowedPriorityClassNames),
    allowedTolerationKeys: field(texts, moverLimits.allowedTolerationKeys),
    allowedServiceAccountNames: field(texts, moverLimits.allowedServiceAccountNames),
    stsEndpoint: optional<string>({
      type: 'string',
      pattern: '^https://[^/?#@]+(/[^?#]*)?$',
      errorMessage: 'must be an https URL without user and query, e.g. https://sts.eu-central-1.amazonaws.com',
    }),
    maxResources: field(quantities, moverLimits.maxResources),
    // A download takes about 125 MiB; an upload has eight parts of 8 MiB in memory (docs/dev/performance.md).
    resources: field(
      { type: 'object', properties: { requests: quantities, limits: quantities } },
      { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '512Mi' } },
    ),
    keepFree: field(
      { type: 'string', pattern: BYTES.source, errorMessage: 'must be an amount of bytes such as 1Gi' },
      '1Gi',
    ),
    maxInAll: field({ type: 'integer', minimum: 1 }, 20),
    maxPerNode: field({ type: 'integer', minimum: 1, maximum: 1000 }, 2),
    prepareTimeoutSeconds: field({ type: 'integer', minimum: 1 }, 1800),
    progressTimeoutSeconds: field({ type: 'integer', minimum: 30 }, 600),
    preemptAfterSeconds: field({ type: 'integer', minimum: 60, maximum: 604_800 }, 1800),
    minBytesPerSecond: field({ type: 'integer', minimum: 0 }, 65_536),
    logLines: field({ type: 'integer', minimum: 0, maximum: 10_000 }, 100),
  }),
  nodeLossSeconds: field({ type: 'integer', minimum: 1 }, 300),
  deletionNodeTimeoutSeconds: field({ type: 'integer', minimum: 1 }, 600),
  checks: section({
    intervalSeconds: field({ type: 'integer', minimum: 0, maximum: 31_536_000 }, 86_400),
    timeoutSeconds: field({ type: 'integer', minimum: 1, maximum: 604_800 }, 21_600),
  }),
  eviction: section({
    enabled: field(flag, true),
    pauseSeconds: field({ type: 'integer', minimum: 1 }, 360),
    highWatermarkPercent: optional<number>(percent),
    lowWatermarkPercent: field(percent, 80),
    minUnusedSeconds: field({ type: 'integer', minimum: 0 }, 600),
  }),
})

/** Returns errors that concern more than one field. */
export function volumesErrors({
  allowedRoots,
  localRoots,
  localPaths,
  allowedLocalNetworks,
  movers,
  eviction,
}: VolumesConfig): FieldError[] {
  const overlapping = localRoots.flatMap((root, i) => {
    const managed = allowedRoots.find((one) => overlap(root, one))
    if (managed === undefined) return []
    const message = `${root} overlaps ${managed} of volumes.allowedRoots; name a directory outside of it`
    return [{ path: `volumes.localRoots[${i}]`, code: 'Invalid' as const, message }]
  })
  const noNetworks = allowedLocalNetworks.flatMap((text, i) => {
    if (isNetwork(text)) return []
    const message = `Invalid value: "${text}": must be an address, or a network in CIDR notation, e.g. 127.0.0.0/8`
    return [{ path: `volumes.allowedLocalNetworks[${i}]`, code: 'Invalid' as const, message }]
  })
  const nested = localPaths === 'roots' ? nestedErrors(localRoots) : []
  return [...overlapping, ...nested, ...noNetworks, ...unusedLimits(movers), ...watermarkErrors(eviction)]
}

/** A pod with the outer root could replace the inner one by a symbolic link. */
function nestedErrors(localRoots: readonly string[]): FieldError[] {
  return localRoots.flatMap((root, i) => {
    const other = localRoots.find((one, k) => k !== i && isBelow(root, [one]))
    if (other === undefined) return []
    const message = `${root} is in ${other}; with volumes.localPaths: roots, name directories that are not in each other`
    return [{ path: `volumes.localRoots[${i}]`, code: 'Invalid' as const, message }]
  })
}

/** The limits of movers in one namespace for all. A limit without an effect would be taken for one that holds. */
function unusedLimits(movers: VolumesConfig['movers']): FieldError[] {
  if (movers.namespace !== undefined) return []
  const names = [
    'allowedPriorityClassNames',
    'allowedTolerationKeys',
    'allowedServiceAccountNames',
    'maxResources',
  ] as const
  const message = 'has no effect without volumes.movers.namespace; set that, or remove this'
  return names
    .filter((name) => Object.keys(movers[name]).length > 0)
    .map((name) => ({ path: `volumes.movers.${name}`, code: 'Forbidden', message }))
}

function watermarkErrors({
  highWatermarkPercent: high,
  lowWatermarkPercent: low,
}: VolumesConfig['eviction']): FieldError[] {
  if (high === undefined || low < high) return []
  const message = `Invalid value: ${low}: must be less than highWatermarkPercent, which is ${high}`
  return [{ path: 'volumes.eviction.lowWatermarkPercent', code: 'Invalid', message }]
}
