/** Plans the PersistentVolume and the PersistentVolumeClaim of each NFS volume, bound to each other only. */
import { VOLUME_LABEL } from '../../api/lodestone.ts'
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../api/persistent-volume.ts'
import type { VolumeConfig, VolumeManager } from '../../api/volume-manager.ts'
import type { Write } from '../plan.ts'
import type { VolumeManagerInput } from './input.ts'
import type { VolumePlan } from './replica/volume-plan.ts'
import { claimNameOf, volumeKey } from './spec/names.ts'
import { sourceTypeOf } from './spec/source-types.ts'
import { MESSAGES } from './status/codes.ts'

/** VCK's StorageClass. It need not exist, since the volume and the claim name each other. */
const STORAGE_CLASS = 'vck'

export interface PersistentVolumePlan {
  /** Creates missing objects, and deletes objects that are neither wanted nor used. */
  writes: Write[]
  /** Objects that still exist although they are not wanted, and why. */
  waiting: Waiting[]
}

/** A PersistentVolume or claim that still exists although it is not wanted. */
export interface Waiting {
  reason: 'InUse' | 'Terminating'
  message: string
}

/**
 * Plans the PersistentVolumes and claims of a VolumeManager. With VCK's templates, any claim of the StorageClass could bind the volume.
 * Here the volume and the claim name each other.
 */
export function planPersistentVolumes(input: VolumeManagerInput, plans: readonly VolumePlan[]): PersistentVolumePlan {
  const { manager, users, persistentVolumeClaims: claims, persistentVolumes: volumes } = input
  const wanted = new Map(
    plans.flatMap(({ config, wanted: isWanted }) =>
      isWanted && config && sourceTypeOf(config.sourceType).delivery === 'mounted'
        ? [[claimNameOf(manager, config), config] as const]
        : [],
    ),
  )
  // A volume with an invalid spec keeps its PersistentVolume and claim.
  const kept = plans.flatMap(({ problems, id }) => (problems.length > 0 ? [volumeKey(manager, id)] : []))
  const isUnwanted = ({ metadata }: PersistentVolume | PersistentVolumeClaim) =>
    !wanted.has(metadata.name ?? '') &&
    !kept.includes(metadata.labels?.[VOLUME_LABEL] ?? '') &&
    !metadata.deletionTimestamp
  const unwanted = claims.filter(isUnwanted)
  const used = unwanted.filter(({ metadata }) => users(metadata.name ?? '').length > 0)
  const usedNames = used.map(({ metadata }) => metadata.name)
  const there = new Set(claims.map(({ metadata }) => metadata.name))
  const volumesThere = new Map(volumes.map((volume) => [volume.metadata.name, volume]))
  return {
    writes: [
      ...[...wanted].flatMap(([name, config]) => [
        ...(volumesThere.has(name) ? [] : [create(persistentVolumes, volumeOf(manager, config, name))]),
        ...(there.has(name) || !isObserved(volumesThere.get(name))
          ? []
          : [create(persistentVolumeClaims, claimOf(manager, config, name))]),
      ]),
      ...unwanted
        .filter((claim) => !used.includes(claim))
        .map((claim): Write => ({ kind: 'delete', type: persistentVolumeClaims, object: claim })),
      // A PersistentVolume is deleted after its claim, because pods of the claim mount it.
      ...volumes
        .filter((volume) => isUnwanted(volume) && !there.has(volume.metadata.name))
        .map((volume): Write => ({ kind: 'delete', type: persistentVolumes, object: volume })),
    ],
    waiting: [
      ...used.map(
        ({ metadata }): Waiting => ({
          reason: 'InUse',
          message: `claim ${metadata.name} is ${MESSAGES.InUse(users(metadata.name ?? '')[0]?.pod ?? '')}`,
        }),
      ),
      ...[...claims, ...volumes]
        .filter(({ metadata }) => !wanted.has(metadata.name ?? '') && !usedNames.includes(metadata.name))
        .map(
          ({ kind, metadata }): Waiting => ({
            reason: 'Terminating',
            message: `${kind} ${metadata.name} is being deleted`,
          }),
        ),
    ],
  }
}

/**
 * Whether kube-controller-manager has observed the volume. It binds a claim that was created before that 15 seconds later
 * (`--pvclaimbinder-sync-period`).
 */
function isObserved(volume: PersistentVolume | undefined): boolean {
  return volume !== undefined && volume.status?.phase !== 'Pending'
}

function create(type: typeof persistentVolumes | typeof persistentVolumeClaims, object: PersistentVolume): Write {
  return { kind: 'create', type, object }
}

function metadataOf(manager: VolumeManager, config: VolumeConfig, name: string) {
  return { name, labels: { ...config.labels, [VOLUME_LABEL]: volumeKey(manager, config.id) } }
}

function volumeOf(manager: VolumeManager, config: VolumeConfig, name: string): PersistentVolume {
  const { server = '', path = '' } = config.options ?? {}
  const { accessMode = '', capacity = '' } = config
  const readOnly = accessMode === 'ReadOnlyMany'
  return {
    apiVersion: 'v1',
    kind: persistentVolumes.kind,
    metadata: metadataOf(manager, config, name),
    spec: {
      capacity: { storage: capacity },
      accessModes: [accessMode],
      // Lodestone deletes nothing on the server.
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: STORAGE_CLASS,
      claimRef: {
        apiVersion: 'v1',
        kind: persistentVolumeClaims.kind,
        namespace: manager.metadata.namespace ?? 'default',
        name,
      },
      nfs: { server, path, ...(readOnly && { readOnly }) },
    },
  }
}

function claimOf(manager: VolumeManager, config: VolumeConfig, name: string): PersistentVolumeClaim {
  const { accessMode = '', capacity = '' } = config
  const { namespace } = manager.metadata
  return {
    apiVersion: 'v1',
    kind: persistentVolumeClaims.kind,
    metadata: { ...metadataOf(manager, config, name), ...(namespace && { namespace }) },
    spec: {
      accessModes: [accessMode],
      storageClassName: STORAGE_CLASS,
      volumeName: name,
      resources: { requests: { storage: capacity } },
    },
  }
}
