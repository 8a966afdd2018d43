/** The volumes part of the configuration: the limits of VolumeManagers and the settings of movers. */
import type { FieldError } from '../../base/field-errors.ts'
import { isNetwork } from '../../base/net/local-address.ts'
import { BYTES, parseBytes } from '../../base/quantity.ts'
import { isBelow, overlap } from '../../core/volume-manager/rules/host-paths.ts'
import { QUANTITY } from '../../core/volume-manager/rules/options.ts'
import { resourceFault } from '../../core/volume-manager/rules/pod-rules.ts'
import type { VolumeSettings } from '../../core/volume-manager/rules/settings.ts'
import { DEFAULT_VOLUME_LIMITS } from '../../core/volume-manager/rules/settings.ts'
import type { WhenNotReady } from '../../core/workload/decide-pod.ts'
import { choice, type Field, field, flag, labelName, list, objectName, optional, section, text } from './section.ts'

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
/** Of the texts that `isNetwork` accepts, for helm, which has this pattern only. */
const network = {
  ...text,
  pattern: '^[0-9A-Fa-fXx.:]+(%[0-9A-Za-z]+)?(/[0-9]{1,3})?$',
  errorMessage: 'must be an address, or a network in CIDR notation, e.g. 127.0.0.0/8',
}
const { movers: moverLimits, ...volumeLimits } = DEFAULT_VOLUME_LIMITS

/** Most types and their meaning are those of `VolumeSettings`, which decisions read. */
export const volumesSection: Field<VolumesConfig> = section({
  enabled: field(
    flag,
    false,
    'Whether Lodestone moves data to nodes: on members and clusters without Karmada, never on a hub.',
  ),
  whenNotReady: choice<WhenNotReady>(
    ['gate', 'refuse'],
    'gate',
    '`gate`: pods without their data wait at a [gate](../guides/injection.md). `refuse` rejects them, if `PodSchedulingReadiness` is off; pods for evicted data wait for the scheduler.',
  ),
  allowedRoots: field(
    { type: 'array', minItems: 1, items: directory },
    volumeLimits.allowedRoots,
    'Directories of nodes for data; checked at admission and again by the loop.',
  ),
  localRoots: field(
    { type: 'array', items: directory },
    volumeLimits.localRoots,
    'Directories of nodes for `Local` volumes; no overlap with `allowedRoots`.',
  ),
  localPaths: field(
    { enum: ['below', 'roots'] },
    volumeLimits.localPaths,
    '`roots`: a `Local` volume is exactly one of `localRoots`, not in each other; see [Trust](../concepts/trust.md#local-volumes).',
  ),
  allowedLocalNetworks: field(
    { type: 'array', items: network },
    volumeLimits.allowedLocalNetworks,
    'Loopback, link-local, multicast, NAT64 (`64:ff9b:1::/48`) and Teredo networks (CIDR) for endpoints of volumes.',
  ),
  allowedMoverImages: field(
    texts,
    volumeLimits.allowedMoverImages,
    'Images of other movers that a VolumeManager may name; `*` at the end is a wildcard.',
  ),
  movers: section({
    image: field(
      { type: 'string', pattern: '^\\S+$', errorMessage: 'must be the name of an image' },
      'lodestone:latest',
      'The image of the movers; the chart sets its own.',
    ),
    architectures: field(
      { type: 'array', minItems: 1, items: architecture },
      ['amd64', 'arm64'],
      'The values of `kubernetes.io/arch` for which the image is built. Movers run only on such Linux nodes.',
    ),
    namespace: optional<string>(
      labelName,
      '[Of all movers](../concepts/volumes.md#the-namespace-of-movers), Pod Security `privileged`. Default: that of the VolumeManager.',
    ),
    serviceAccountName: field(
      objectName,
      'lodestone-mover',
      'Created in the namespaces of movers, with the right to write Events only.',
    ),
    imagePullSecrets: list([], 'Secrets in those namespaces.', objectName),
    priorityClassName: optional<string>(objectName, 'The PriorityClass of movers.'),
    allowedPriorityClassNames: field(
      texts,
      moverLimits.allowedPriorityClassNames,
      'With `movers.namespace`: PriorityClasses that a VolumeManager may name; `*` at the end is a wildcard.',
    ),
    allowedTolerationKeys: field(
      texts,
      moverLimits.allowedTolerationKeys,
      'With `movers.namespace`: keys of taints that a VolumeManager may tolerate; `*` at the end is a wildcard.',
    ),
    allowedServiceAccountNames: field(
      texts,
      moverLimits.allowedServiceAccountNames,
      'With `movers.namespace`: ServiceAccounts there that a VolumeManager may name; `*` at the end is a wildcard.',
    ),
    stsEndpoint: optional<string>(
      {
        type: 'string',
        pattern: '^https://[^/?#@\\s]+(/[^?#\\s]*)?$',
        errorMessage: 'must be an https URL without user and query, e.g. https://sts.eu-central-1.amazonaws.com',
      },
      'The URL of STS for [roles of ServiceAccounts](../concepts/volumes.md), with https. Default: that of AWS.',
    ),
    maxResources: field(
      quantities,
      moverLimits.maxResources,
      'With `movers.namespace`: the largest request and limit that a VolumeManager may set, e.g. `cpu: "2"`.',
    ),
    // A download takes about 125 MiB; an upload has eight parts of 8 MiB in memory (docs/dev/performance.md).
    resources: field(
      { type: 'object', properties: { requests: quantities, limits: quantities } },
      { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '512Mi' } },
      '`requests` and `limits` of a mover.',
    ),
    keepFree: field(
      { type: 'string', pattern: BYTES.source, errorMessage: 'must be an amount of bytes such as 1Gi' },
      '1Gi',
      'Free disk space that a download leaves on a node; unused data may be evicted for it.',
    ),
    maxInAll: field({ type: 'integer', minimum: 1 }, 20, 'Concurrent movers. Waiting movers have no pods.'),
    maxPerNode: field(
      { type: 'integer', minimum: 1, maximum: 1000 },
      2,
      'Concurrent movers of a node. The scheduler enforces it by the label `lodestone.dev/mover-slot`.',
    ),
    prepareTimeoutSeconds: field({ type: 'integer', minimum: 1 }, 1800, 'Time limit for the start of a mover.'),
    progressTimeoutSeconds: field(
      { type: 'integer', minimum: 30 },
      600,
      'Time limit without [progress](../guides/movers.md#results), then another attempt starts.',
    ),
    preemptAfterSeconds: field(
      { type: 'integer', minimum: 60, maximum: 604_800 },
      1800,
      'How long a mover keeps its [slot](../concepts/volumes.md#slots) while another namespace waits.',
    ),
    minBytesPerSecond: field(
      { type: 'integer', minimum: 0 },
      65_536,
      'The rate, over 5 minutes, below which such a mover loses its slot earlier; 0 for none.',
    ),
    awaitNewNodes: field(
      { type: 'boolean' },
      false,
      'For [autoscaled nodes](../concepts/volumes.md#autoscaled-nodes): a download that no node can take has a Pod that stays Pending.',
    ),
    logLines: field(
      { type: 'integer', minimum: 0, maximum: 10_000 },
      100,
      'Last lines of the log of an ended mover that are copied into the log of Lodestone, 64 KiB at most.',
    ),
  }),
  nodeLossSeconds: field(
    { type: 'integer', minimum: 1 },
    300,
    'Replicas of a node that does not answer for this long are created on other nodes.',
  ),
  deletionNodeTimeoutSeconds: field(
    { type: 'integer', minimum: 1 },
    600,
    'The deletion of a VolumeManager skips nodes that are not ready for this long; their data is deleted when they return.',
  ),
  checks: section({
    intervalSeconds: field(
      { type: 'integer', minimum: 0, maximum: 31_536_000 },
      86_400,
      'How often the data of each replica is checked; 0 for never.',
    ),
    timeoutSeconds: field({ type: 'integer', minimum: 1, maximum: 604_800 }, 21_600, 'Time limit of one check.'),
  }),
  eviction: section({
    enabled: field(
      flag,
      true,
      'Whether unused replicas are deleted on nodes short of disk, if the volume allows it (`evictionPolicy`).',
    ),
    pauseSeconds: field(
      { type: 'integer', minimum: 1 },
      360,
      'Pause between evictions on a node without a disk beyond `lowWatermarkPercent`; kubelets report free space after 5 min.',
    ),
    highWatermarkPercent: optional<number>(
      percent,
      'Use of a disk from which unused replicas are deleted, e.g. 85; see [Free disk](../concepts/volumes.md#free-disk).',
    ),
    lowWatermarkPercent: field(
      percent,
      80,
      'Use of a disk at which this ends, also in a shortage; less than the high watermark.',
    ),
    minUnusedSeconds: field(
      { type: 'integer', minimum: 0 },
      600,
      'Replicas that were used or downloaded later than this are kept then.',
    ),
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
  return [
    ...[...overlapping, ...nested, ...noNetworks, ...unusedLimits(movers)],
    ...resourceErrors(movers),
    ...keepFreeErrors(movers),
    ...watermarkErrors(eviction),
  ]
}

function keepFreeErrors({ keepFree }: VolumesConfig['movers']): FieldError[] {
  const message = `Invalid value: "${keepFree}": must be less than 8Pi`
  return parseBytes(keepFree) === undefined ? [{ path: 'volumes.movers.keepFree', code: 'Invalid', message }] : []
}

function resourceErrors({ resources }: VolumesConfig['movers']): FieldError[] {
  const fault = resourceFault(resources)
  return fault ? [{ path: `volumes.movers.resources.${fault.field}`, code: 'Invalid', message: fault.message }] : []
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
