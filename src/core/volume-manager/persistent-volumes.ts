/** Plans the PersistentVolumes and claims of a VolumeManager: one pair for each NFS volume, and for each replica that pods claim. */
import { NODE_ANNOTATION, VOLUME_LABEL } from '../../api/lodestone.ts'
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../api/persistent-volume.ts'
import type { VolumeConfig, VolumeManager } from '../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../api/volume-status.ts'
import type { Write } from '../plan.ts'
import { MESSAGES } from './codes.ts'
import type { VolumeManagerInput } from './input.ts'
import {
  buildPersistentVolume,
  claimOfVolume,
  hostnameOfVolume,
  type WantedPersistentVolume,
} from './mover/persistent-volume-objects.ts'
import { HOSTNAME_LABEL } from './nodes/feasibility.ts'
import { rejectedAmong } from './rejected-writes.ts'
import { isUsable } from './replica/download.ts'
import type { VolumePlan } from './replica/volume-plan.ts'
import { claimNameOf, replicaClaimName, volumeKey } from './rules/names.ts'
import { hasReplicaClaims } from './rules/published.ts'
import { sourceTypeOf } from './rules/source-types.ts'

export interface PersistentVolumePlan {
  /** Creates missing objects, and deletes objects that are neither wanted nor used. */
  writes: Write[]
  /** Objects that still exist although they are not wanted, and why. */
  waiting: Waiting[]
  /** By volume: why wanted objects cannot be created. */
  conflicts: ReadonlyMap<string, ClaimConflict>
}

/** Why a wanted PersistentVolume or claim cannot be created. */
export interface ClaimConflict {
  /** Another client created the object, which Lodestone neither uses nor changes; or the API server rejects it. */
  message: string
  /** Whether the API server rejects it, and the volume has no other claim: no pod can use the data. */
  isUnclaimed: boolean
}

/** A PersistentVolume or claim that still exists although it is not wanted. */
export interface Waiting {
  reason: 'InUse' | 'Terminating'
  message: string
}

/**
 * Plans the PersistentVolumes and claims of a VolumeManager. With VCK's templates, any claim of the StorageClass could bind the volume.
 * Here the volume and the claim name each other. A claim that a pod names is never deleted.
 */
export function planPersistentVolumes(input: VolumeManagerInput, plans: readonly VolumePlan[]): PersistentVolumePlan {
  const { manager, terminating, persistentVolumeClaims: claims, persistentVolumes: volumes } = input
  const own: OwnObjects = { PersistentVolume: byName(volumes), PersistentVolumeClaim: byName(claims) }
  const wanted = wantedByName(input, plans, own)
  const conflicts = findConflicts(input, wanted, own)
  // The path of data may be one that the configuration does not allow.
  const invalid = new Set(plans.flatMap(({ id, moverConfig }) => (moverConfig ? [] : [id])))
  // A namespace that is being deleted takes no new claims.
  const creatable = (one: WantedPersistentVolume) => !terminating && !invalid.has(one.config.id) && !conflicts.has(one)
  // A volume with an invalid spec keeps its PersistentVolumes and claims.
  const kept = plans.flatMap(({ problems, id }) => (problems.length > 0 ? [volumeKey(manager, id)] : []))
  const isUnwanted = ({ metadata }: PersistentVolume | PersistentVolumeClaim) =>
    !wanted.has(metadata.name ?? '') &&
    !kept.includes(metadata.labels?.[VOLUME_LABEL] ?? '') &&
    !metadata.deletionTimestamp
  const usersOf = usersByClaim(input, plans, wanted)
  const unwanted = claims.filter(isUnwanted)
  const used = unwanted.filter(({ metadata }) => usersOf(metadata.name).length > 0)
  const usedNames = used.map(({ metadata }) => metadata.name)
  return {
    conflicts: new Map([
      ...rejectedObjects(input, [...wanted.values()].filter(creatable), own),
      ...[...conflicts].map(([{ config }, message]) => [config.id, { message, isUnclaimed: false }] as const),
    ]),
    writes: [
      ...[...wanted.values()].filter(creatable).flatMap((one) => missingObjects(manager, one, own)),
      ...unwanted
        .filter((claim) => !used.includes(claim))
        .map((claim): Write => ({ kind: 'delete', type: persistentVolumeClaims, object: claim })),
      // A PersistentVolume is deleted after its claim, because pods of the claim mount it.
      ...volumes
        .filter((volume) => isUnwanted(volume) && !own.PersistentVolumeClaim.has(volume.metadata.name))
        .map((volume): Write => ({ kind: 'delete', type: persistentVolumes, object: volume })),
    ],
    waiting: [
      ...used.map(
        ({ metadata }): Waiting => ({
          reason: 'InUse',
          message: `claim ${metadata.name} is ${MESSAGES.InUse(usersOf(metadata.name)[0]?.pod ?? '')}`,
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

type ObjectsByName<T> = ReadonlyMap<string | undefined, T>

/** The objects that Lodestone created for the VolumeManager. */
interface OwnObjects {
  PersistentVolume: ObjectsByName<PersistentVolume>
  PersistentVolumeClaim: ObjectsByName<PersistentVolumeClaim>
}

type WantedByName = ReadonlyMap<string, WantedPersistentVolume>

function byName<T extends PersistentVolume | PersistentVolumeClaim>(objects: readonly T[]): ObjectsByName<T> {
  return new Map(objects.map((object) => [object.metadata.name, object]))
}

function wantedByName(input: VolumeManagerInput, plans: readonly VolumePlan[], own: OwnObjects): WantedByName {
  const wanted = plans
    .flatMap((plan) => wantedPersistentVolumes(input, plan))
    // A replica that left its node: its PersistentVolume is replaced when no pod names the claim any more.
    .filter((one) => isFor(one, own.PersistentVolume.get(one.name), own.PersistentVolumeClaim.get(one.name)))
  return new Map(wanted.map((one) => [one.name, one]))
}

/** Finds the wanted objects whose names objects of other clients have, and the remedy. */
function findConflicts(
  { exists }: VolumeManagerInput,
  wanted: WantedByName,
  own: OwnObjects,
): Map<WantedPersistentVolume, string> {
  const kinds = ['PersistentVolume', 'PersistentVolumeClaim'] as const
  const conflicts = [...wanted.values()].flatMap((one): [WantedPersistentVolume, string][] => {
    const kind = kinds.find((each) => !own[each].has(one.name) && exists(each, one.name))
    return kind ? [[one, MESSAGES.NameTaken(kind, one.name)]] : []
  })
  return new Map(conflicts)
}

/** Finds the missing objects whose last creation the API server rejected, by volume. */
function rejectedObjects(
  { manager, rejections }: VolumeManagerInput,
  wanted: readonly WantedPersistentVolume[],
  own: OwnObjects,
): [string, ClaimConflict][] {
  return wanted.flatMap((one): [string, ClaimConflict][] => {
    const { id } = one.config
    const [rejected] = rejectedAmong(missingObjects(manager, one, own), rejections)
    const isClaimed = wanted.some(({ name, config }) => config.id === id && own.PersistentVolumeClaim.has(name))
    return rejected ? [[id, { message: rejected.message, isUnclaimed: !isClaimed }]] : []
  })
}

/** Creates the PersistentVolume first, and its claim when the volume was observed. */
function missingObjects(manager: VolumeManager, wanted: WantedPersistentVolume, own: OwnObjects): Write[] {
  const volume = own.PersistentVolume.get(wanted.name)
  if (!volume) return [create(persistentVolumes, buildPersistentVolume(manager, wanted))]
  if (own.PersistentVolumeClaim.has(wanted.name) || !isObserved(volume) || isTaken(volume)) return []
  return [create(persistentVolumeClaims, claimOfVolume(manager, wanted))]
}

/** Returns the pods that use a claim. */
function usersByClaim(input: VolumeManagerInput, plans: readonly VolumePlan[], wanted: WantedByName) {
  const moved = new Set(plans.flatMap((plan) => claimNamesOf(input, plan)).filter((name) => !wanted.has(name)))
  // A pod that is not scheduled yet can only run with the next claim of that name. Kubernetes does not count it either (pvc-protection).
  return (name = '') => input.users(name).filter(({ node }) => node !== undefined || !moved.has(name))
}

/** The names of the claims of a volume: that of wanted NFS data, and those of all replicas, on a node or not. */
function claimNamesOf({ manager }: VolumeManagerInput, { config, wanted, set }: VolumePlan): string[] {
  if (!config) return []
  if (sourceTypeOf(config.sourceType).delivery === 'mounted') return wanted ? [claimNameOf(manager, config)] : []
  if (!hasReplicaClaims(config)) return []
  return set.replicas.map(({ revision, index }) => replicaClaimName(manager, config.id, revision, index))
}

function wantedPersistentVolumes(
  input: VolumeManagerInput,
  { config, wanted, set }: VolumePlan,
): WantedPersistentVolume[] {
  if (!config) return []
  if (sourceTypeOf(config.sourceType).delivery === 'mounted') {
    return wanted ? [{ name: claimNameOf(input.manager, config), config }] : []
  }
  if (!hasReplicaClaims(config)) return []
  // Replicas of an older source are included until they are dropped.
  return set.replicas.flatMap((replica) => ofReplica(input, config, replica))
}

/** Data on a node that is not ready may return with the node. */
function ofReplica(
  { manager, nodes }: VolumeManagerInput,
  config: VolumeConfig,
  replica: ReplicaStatus,
): WantedPersistentVolume[] {
  const { node: name, index, revision, state } = replica
  const node = name === undefined ? undefined : nodes.get(name)
  if (name === undefined || !node || !(isUsable(replica, config.sourceType) || state === 'Unreachable')) return []
  const hostname = node.metadata.labels?.[HOSTNAME_LABEL]
  return [
    {
      name: replicaClaimName(manager, config.id, revision, index),
      config,
      local: { replica, node: { name, hostname } },
    },
  ]
}

/**
 * Whether an existing PersistentVolume is the wanted one. Its node affinity is immutable, so a node that has another host name since then needs
 * another one. One that was released by a deleted claim does not bind another claim, also not one of the same name.
 */
function isFor(
  { local }: WantedPersistentVolume,
  volume: PersistentVolume | undefined,
  claim: PersistentVolumeClaim | undefined,
): boolean {
  if (volume === undefined) return true
  const isReleased =
    volume.status?.phase === 'Released' && (!claim || volume.spec?.claimRef?.uid !== claim.metadata.uid)
  if (isReleased || volume.metadata.annotations?.[NODE_ANNOTATION] !== local?.node.name) return false
  const { hostname } = local?.node ?? {}
  const pinned = hostnameOfVolume(volume)
  // A node without the label says nothing about its host name.
  return hostname === undefined || pinned === undefined || pinned === hostname
}

/**
 * Whether kube-controller-manager has observed the volume. It binds a claim that was created before that 15 seconds later
 * (`--pvclaimbinder-sync-period`).
 */
function isObserved({ status }: PersistentVolume): boolean {
  return status?.phase !== 'Pending'
}

/**
 * Whether the volume is bound to a claim that was deleted. Its phase becomes Released after that. A new claim before that would stay Pending, since
 * the volume is of the claim with the uid in it (pkg/controller/volume/persistentvolume, syncVolume).
 */
function isTaken({ spec }: PersistentVolume): boolean {
  return spec?.claimRef?.uid !== undefined
}

function create(type: typeof persistentVolumes | typeof persistentVolumeClaims, object: PersistentVolume): Write {
  return { kind: 'create', type, object }
}
