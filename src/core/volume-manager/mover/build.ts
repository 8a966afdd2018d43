/** Builds the Pod of a mover: its arguments, its mount and where it may run. */
import type { Pod } from '../../../api/pod.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import type { DeletionStatus, ReplicaStatus } from '../../../api/volume-status.ts'
import type { VolumeUser } from '../input.ts'
import type { Leftover } from '../nodes/leftovers.ts'
import { checkedContents, deletableBefore } from '../replica/maintenance.ts'
import { localRootOf } from '../rules/host-paths.ts'
import { parseBoolean, parseGlobs } from '../rules/options.ts'
import type { VolumeSettings } from '../rules/settings.ts'
import { sourceTypeOf } from '../rules/source-types.ts'
import type { MoverPlacement } from './affinity.ts'
import { directoryMount, MOUNT_PATH, moverMount, moverPod, TARGET } from './pod.ts'
import { type MoverSource, moverSourceOf } from './source.ts'
import { buildTask } from './task.ts'

const ROOT = ['--root', MOUNT_PATH]

interface TransferInput {
  /** Loopback and link-local networks in which the server may be. */
  networks: readonly string[]
  /** The directories that contain those of `Local` volumes. */
  localRoots: readonly string[]
  manager: VolumeManager
  config: VolumeConfig
  replica: ReplicaStatus
  placement: MoverPlacement
  slot: number
  settings: VolumeSettings['movers']
}

/** The mover that downloads the data of a replica to a node. */
export function replicaMover(input: TransferInput): Pod {
  const { manager, config, replica, placement, slot, settings } = input
  const source = moverSourceOf(config)
  return moverPod({
    manager,
    config: withOwnImage(config),
    task: buildTask(manager, config.id, 'replica', replica),
    // A volume without a source has no download: its mover checks that the directory can be read.
    args: source
      ? [...downloadArguments(config, replica, source, input), ...(replica.isDamaged ? ['--existing', 'verify'] : [])]
      : prepareArguments(input),
    env: source?.env ?? [],
    mount: moverMount(manager, config, replica, input),
    ...readerCapabilities(config),
    placement,
    slot,
    settings,
  })
}

/** The directory of a user may be readable only by its owner. */
function readerCapabilities(config: VolumeConfig) {
  return isPresent(config) ? { capabilities: ['DAC_READ_SEARCH'] } : {}
}

function isPresent({ sourceType }: VolumeConfig): boolean {
  return sourceTypeOf(sourceType).delivery === 'present'
}

/** Only the image of the configuration may read a root of `Local` volumes, which has the data of other users too. */
function withOwnImage(config: VolumeConfig): VolumeConfig {
  if (!isPresent(config) || config.mover?.image === undefined) return config
  const { image: _, ...mover } = config.mover
  return { ...config, mover }
}

type Arguments = [verb: string, ...options: string[]]

function prepareArguments({ config, replica, localRoots }: Omit<TransferInput, 'placement'>): Arguments {
  if (!isPresent(config)) return ['prepare', ...ROOT, '--target', TARGET]
  const { path = '' } = replica
  const below = path.slice(localRootOf(path, { localRoots })?.length ?? path.length)
  return ['prepare', ...ROOT, '--target', `${MOUNT_PATH}${below}`, '--must-exist', 'true']
}

function targetArguments(source: MoverSource | undefined): string[] {
  return [...ROOT, '--target', source?.folder ? `${TARGET}/${source.folder}` : TARGET]
}

function downloadArguments(
  config: VolumeConfig,
  { shard }: ReplicaStatus,
  source: MoverSource,
  { settings, networks }: Pick<TransferInput, 'settings' | 'networks'>,
): Arguments {
  return [
    'download',
    ...targetArguments(source),
    ...['--source', source.url],
    ...serverArguments(source, networks),
    ...['--keep-free', settings.keepFree],
    ...(source.verify ? ['--verify', source.verify] : []),
    ...(shard === undefined ? [] : ['--match', shard]),
    ...selectionArguments(config),
    ...(config.sourceType === 'Stream' ? ['--in-place', 'true'] : []),
  ]
}

interface MaintenanceInput extends Omit<TransferInput, 'placement'> {
  checks: VolumeSettings['checks']
  /** The pods that use the data on the node. */
  users: readonly VolumeUser[]
}

/** The mover that checks the data of a replica on its node, or refreshes it from its source. */
export function maintenanceMover(input: MaintenanceInput): Pod {
  const { manager, config, replica, slot, settings, checks, users } = input
  const { index, node = '', maintenance } = replica
  const isRefresh = maintenance?.kind === 'Refresh'
  const source = moverSourceOf(config)
  const before = deletableBefore(users)
  return moverPod({
    manager,
    config: withOwnImage(config),
    task: buildTask(manager, config.id, 'maintenance', { index, attempt: maintenance?.attempt ?? 1 }),
    args: source
      ? [
          ...(isRefresh
            ? ([...downloadArguments(config, replica, source, input), '--existing', 'compare'] as const)
            : (['check', ...targetArguments(source), '--contents', contentsFor(config, replica)] as const)),
          ...(before ? ['--delete-old', before] : []),
        ]
      : prepareArguments(input),
    env: isRefresh ? (source?.env ?? []) : [],
    mount: moverMount(manager, config, replica, input),
    // Pods may have made the data private.
    ...(!isRefresh && { capabilities: ['DAC_READ_SEARCH'], deadlineSeconds: checks.timeoutSeconds }),
    placement: { on: node, anyTaint: true },
    slot,
    settings,
  })
}

function contentsFor(config: VolumeConfig, replica: ReplicaStatus): string {
  const contents = checkedContents(config, replica)
  return contents === 'files' && replica.maintenance?.kind === 'FullCheck' ? 'checksums' : contents
}

/** The objects that are left out, and whether their folders are. */
function selectionArguments({ options = {} }: VolumeConfig): string[] {
  return [
    ...(parseGlobs(options['exclude'] ?? '') ?? []).flatMap((glob) => ['--exclude', glob]),
    ...(parseBoolean(options['flatten'] ?? '') ? ['--flat', 'true'] : []),
  ]
}

/** The endpoint and the region, when the volume has them. */
function serverArguments(source: MoverSource | undefined, networks: readonly string[]): string[] {
  if (source === undefined) return []
  const { endpoint, region, requests } = source
  return [
    ...(endpoint ? ['--endpoint', endpoint] : []),
    ...(region ? ['--region', region] : []),
    ...requests,
    ...networks.flatMap((network) => ['--local-network', network]),
  ]
}

interface UploadInput extends Omit<TransferInput, 'placement'> {
  /** Whether the node has disk pressure. Its data cannot be evicted before the upload. */
  isCritical?: boolean
}

/** The mover that writes changes back to the source. It skips files that are unchanged in the source. */
export function uploadMover(input: UploadInput): Pod {
  const { manager, config, replica, isCritical = false, slot, settings, networks } = input
  const { index, node = '', upload } = replica
  const source = moverSourceOf(config)
  return moverPod({
    manager,
    config,
    isCritical,
    task: buildTask(manager, config.id, 'upload', { index, attempt: upload?.attempt ?? 1 }),
    args: [
      'upload',
      ...ROOT,
      ...['--source', source?.folder ? `${TARGET}/${source.folder}` : TARGET],
      // A single object goes to its own prefix, whereas VCK writes to the root of the bucket.
      ...['--target', (source?.url ?? '').replace(/[^/]*$/, '')],
      ...serverArguments(source, networks),
      ...(source?.verify ? ['--verify', source.verify] : []),
    ],
    env: source?.env ?? [],
    mount: moverMount(manager, config, replica, input),
    placement: { on: node, anyTaint: true },
    slot,
    settings,
  })
}

interface DeletionInput extends Pick<TransferInput, 'manager' | 'slot' | 'settings'> {
  id: string
  /** Undefined for a volume that is no longer in the spec. */
  config: VolumeConfig | undefined
  deletion: DeletionStatus
  /** Whether the node has disk pressure. */
  isCritical?: boolean
}

/** The mover that deletes data. It tolerates every taint: no other node can delete the data. */
export function deletionMover({
  manager,
  id,
  config,
  deletion,
  isCritical = false,
  slot,
  settings,
}: DeletionInput): Pod {
  return moverPod({
    manager,
    isCritical,
    // Uses the image that wrote the data: only this image knows its files.
    config,
    task: buildTask(manager, id, 'deletion', deletion),
    args: ['delete', ...ROOT, '--target', TARGET],
    env: [],
    mount: directoryMount(deletion.path),
    placement: { on: deletion.node, anyTaint: true },
    slot,
    settings,
  })
}

interface LeftoverMoverInput extends Pick<TransferInput, 'slot' | 'settings'> {
  /** The key of the leftover. */
  key: string
  node: string
  /** Whether the node has disk pressure. */
  isCritical?: boolean
  leftover: Leftover
  /** The namespace of the mover. That of the VolumeManager may not exist any more. */
  namespace: string
}

/** The mover that deletes a leftover. */
export function leftoverMover(input: LeftoverMoverInput): Pod {
  const { key, node, isCritical = false, leftover, namespace, slot, settings } = input
  const { name, uid, id, index, path, image } = leftover
  return moverPod({
    namespace,
    isCritical,
    manager: { metadata: { namespace: leftover.namespace, name, uid } },
    config: image === undefined ? undefined : { mover: { image } },
    task: { manager: key, id, role: 'leftover', index, attempt: 1 },
    args: ['delete', ...ROOT, '--target', TARGET],
    env: [],
    mount: directoryMount(path),
    placement: { on: node, anyTaint: true },
    slot,
    settings,
  })
}
