/** Which mover a piece of work needs: what it is told, what it mounts, and where it may run. */
import type { Pod } from '../../../api/pod.ts'
import type { ReleaseStatus, ReplicaStatus, VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import { claimNameOf } from '../spec/names.ts'
import { isReadOnly } from '../spec/published.ts'
import type { VolumeSettings } from '../spec/settings.ts'
import { sourceTypeOf } from '../spec/source-types.ts'
import type { Placement } from './affinity.ts'
import { MOUNT_PATH, moverPod } from './pod.ts'
import { type MoverSource, moverSourceOf } from './source.ts'
import { taskOf } from './task.ts'

const TARGET = `${MOUNT_PATH}/data`
const ROOT = ['--root', MOUNT_PATH]

interface Work {
  /** Loopback and link-local networks in which the server may be. */
  networks: readonly string[]
  manager: VolumeManager
  config: VolumeConfig
  replica: ReplicaStatus
  placement: Placement
  lane: number
  settings: VolumeSettings['movers']
}

/** The mover that brings a replica to a node. */
export function replicaMover({ manager, config, replica, placement, lane, settings, networks }: Work): Pod {
  const source = moverSourceOf(config)
  // Where there is nothing to download, it is looked whether the directory can be read.
  const verb = source ? 'download' : 'prepare'
  const target = source?.folder ? `${TARGET}/${source.folder}` : TARGET
  return moverPod({
    manager,
    config,
    task: taskOf(manager, config.id, 'replica', replica),
    args: [
      verb,
      ...ROOT,
      ...['--target', target],
      ...(source ? ['--source', source.url] : []),
      ...serverOf(source, networks),
      ...(source ? ['--keep-free', settings.keepFree] : []),
      ...(source?.verify ? ['--verify', source.verify] : []),
      ...(replica.shard === undefined ? [] : ['--match', replica.shard, '--flat', 'true']),
      ...(source && config.sourceType === 'Stream' ? ['--in-place', 'true'] : []),
    ],
    env: source?.env ?? [],
    mount: mountOf(manager, config, replica),
    placement,
    lane,
    settings,
  })
}

/** Which server, and which region of it, where the volume says so. */
function serverOf(source: MoverSource | undefined, networks: readonly string[]): string[] {
  if (source === undefined) return []
  const { endpoint, region } = source
  return [
    ...(endpoint ? ['--endpoint', endpoint] : []),
    ...(region ? ['--region', region] : []),
    ...networks.flatMap((network) => ['--local-network', network]),
  ]
}

function mountOf(manager: VolumeManager, config: VolumeConfig, { path }: ReplicaStatus) {
  if (sourceTypeOf(config.sourceType).delivery === 'mounted') {
    const readOnly = isReadOnly(config)
    const claim = { claimName: claimNameOf(manager, config), ...(readOnly && { readOnly }) }
    return { at: TARGET, volume: { persistentVolumeClaim: claim }, ...(readOnly && { readOnly }) }
  }
  return path === undefined ? undefined : { at: MOUNT_PATH, volume: hostPath(path) }
}

/** The mover that writes changes back to where the data came from: what is the same there is left alone. */
export function uploadMover({ manager, config, replica, lane, settings, networks }: Omit<Work, 'placement'>): Pod {
  const { index, node = '', upload } = replica
  const source = moverSourceOf(config)
  return moverPod({
    manager,
    config,
    task: taskOf(manager, config.id, 'upload', { index, attempt: upload?.attempt ?? 1 }),
    args: [
      'upload',
      ...ROOT,
      ...['--source', source?.folder ? `${TARGET}/${source.folder}` : TARGET],
      // Of one object, to where it lies: VCK writes to the root of the bucket.
      ...['--target', (source?.url ?? '').replace(/[^/]*$/, '')],
      ...serverOf(source, networks),
    ],
    env: source?.env ?? [],
    mount: mountOf(manager, config, replica),
    placement: { on: node, anyTaint: true },
    lane,
    settings,
  })
}

interface ReleaseWork extends Pick<Work, 'manager' | 'lane' | 'settings'> {
  id: string
  /** Undefined for a volume that is no longer in the spec. */
  config: VolumeConfig | undefined
  release: ReleaseStatus
}

/** The mover that deletes data: on that node whatever taints it has, since nobody else can. */
export function releaseMover({ manager, id, config, release, lane, settings }: ReleaseWork): Pod {
  return moverPod({
    manager,
    // Its own mover: another image might not know how the first one left things.
    config,
    task: taskOf(manager, id, 'release', release),
    args: ['delete', ...ROOT, '--target', TARGET],
    env: [],
    mount: { at: MOUNT_PATH, volume: hostPath(release.path) },
    placement: { on: release.node, anyTaint: true },
    lane,
    settings,
  })
}

/** Only the directory of this volume: what others have on the node is none of its business. */
function hostPath(path: string) {
  return { hostPath: { path, type: 'DirectoryOrCreate' } }
}
