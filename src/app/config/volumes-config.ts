/** The volumes part of the configuration: the limits of VolumeManagers and the settings of movers. */
import type { FieldError } from '../../base/field-errors.ts'
import { isNetwork } from '../../base/net/local-address.ts'
import { BYTES } from '../../base/quantity.ts'
import { isBelow, overlap } from '../../core/volume-manager/rules/host-paths.ts'
import { QUANTITY } from '../../core/volume-manager/rules/options.ts'
import type { VolumeSettings } from '../../core/volume-manager/rules/settings.ts'
import { DEFAULT_VOLUME_LIMITS } from '../../core/volume-manager/rules/settings.ts'
import type { WhenNotReady } from '../../core/workload/decide-pod.ts'

export interface VolumesConfig extends VolumeSettings {
  /** Whether Lodestone moves data to the nodes of the served cluster: a member or a single cluster, never a hub. */
  enabled: boolean
  /**
   * The treatment of pods whose data is not ready. `gate` adds a scheduling gate, `refuse` rejects them for API servers without gates.
   * These are older than Kubernetes 1.27, or have the feature gate PodSchedulingReadiness disabled.
   */
  whenNotReady: WhenNotReady
}

export const DEFAULT_VOLUMES: VolumesConfig = {
  enabled: false,
  whenNotReady: 'gate',
  ...DEFAULT_VOLUME_LIMITS,
  movers: {
    ...DEFAULT_VOLUME_LIMITS.movers,
    image: 'lodestone:latest',
    architectures: ['amd64', 'arm64'],
    serviceAccountName: 'lodestone-mover',
    imagePullSecrets: [],
    // A download takes about 125 MiB; an upload has eight parts of 8 MiB in memory (docs/performance.md).
    resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '512Mi' } },
    keepFree: '1Gi',
    maxInAll: 20,
    maxPerNode: 2,
    prepareTimeoutSeconds: 1800,
    progressTimeoutSeconds: 600,
    preemptAfterSeconds: 1800,
    minBytesPerSecond: 65_536,
    logLines: 100,
  },
  nodeLossSeconds: 300,
  deletionNodeTimeoutSeconds: 600,
  checks: { intervalSeconds: 86_400, timeoutSeconds: 21_600 },
  eviction: { enabled: true, pauseSeconds: 360, lowWatermarkPercent: 80, minUnusedSeconds: 600 },
}

const percent = { type: 'integer', minimum: 1, maximum: 100 }
const text = { type: 'string', minLength: 1 }
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

export const volumesSchema = {
  type: 'object',
  properties: {
    enabled: { type: 'boolean' },
    whenNotReady: { enum: ['gate', 'refuse'] },
    allowedRoots: { type: 'array', minItems: 1, items: directory },
    localRoots: { type: 'array', items: directory },
    localPaths: { enum: ['below', 'roots'] },
    allowedLocalNetworks: { type: 'array', items: text },
    allowedMoverImages: { type: 'array', items: text },
    movers: {
      type: 'object',
      properties: {
        image: text,
        architectures: { type: 'array', minItems: 1, items: architecture },
        namespace: {
          type: 'string',
          pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
          errorMessage: 'must be the name of a namespace',
        },
        serviceAccountName: text,
        imagePullSecrets: { type: 'array', items: text },
        priorityClassName: text,
        allowedPriorityClassNames: { type: 'array', items: text },
        allowedTolerationKeys: { type: 'array', items: text },
        allowedServiceAccountNames: { type: 'array', items: text },
        stsEndpoint: {
          type: 'string',
          pattern: '^https://[^/?#@]+(/[^?#]*)?$',
          errorMessage: 'must be an https URL without user and query, e.g. https://sts.eu-central-1.amazonaws.com',
        },
        maxResources: quantities,
        resources: { type: 'object', properties: { requests: quantities, limits: quantities } },
        keepFree: {
          type: 'string',
          pattern: BYTES.source,
          errorMessage: 'must be an amount of bytes such as 1Gi',
        },
        maxInAll: { type: 'integer', minimum: 1 },
        maxPerNode: { type: 'integer', minimum: 1, maximum: 1000 },
        prepareTimeoutSeconds: { type: 'integer', minimum: 1 },
        progressTimeoutSeconds: { type: 'integer', minimum: 30 },
        preemptAfterSeconds: { type: 'integer', minimum: 60, maximum: 604_800 },
        minBytesPerSecond: { type: 'integer', minimum: 0 },
        logLines: { type: 'integer', minimum: 0, maximum: 10_000 },
      },
    },
    nodeLossSeconds: { type: 'integer', minimum: 1 },
    deletionNodeTimeoutSeconds: { type: 'integer', minimum: 1 },
    checks: {
      type: 'object',
      properties: {
        intervalSeconds: { type: 'integer', minimum: 0, maximum: 31_536_000 },
        timeoutSeconds: { type: 'integer', minimum: 1, maximum: 604_800 },
      },
    },
    eviction: {
      type: 'object',
      properties: {
        enabled: { type: 'boolean' },
        pauseSeconds: { type: 'integer', minimum: 1 },
        highWatermarkPercent: percent,
        lowWatermarkPercent: percent,
        minUnusedSeconds: { type: 'integer', minimum: 0 },
      },
    },
  },
}
