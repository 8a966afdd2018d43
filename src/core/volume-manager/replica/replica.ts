/** Steps the replicas and deletions of a volume: each replica divides into its four state machines, and each machine takes one step. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type {
  ReplicaDownload,
  ReplicaIdentity,
  ReplicaMaintenance,
  ReplicaStatus,
  ReplicaUpload,
  ReplicaUse,
} from '../../../api/volume-status.ts'
import { defined } from '../../../base/json.ts'
import { earliest } from '../../../base/time/earliest.ts'
import type { EvictionCause } from '../codes.ts'
import type { ObservedReplica, ObservedVolume } from '../observe.ts'
import { placeKey } from '../rules/names.ts'
import { stepDeletion } from './deletion.ts'
import { evictData, isReady, loseData, stepDownload } from './download.ts'
import { stepMaintenance, withBoot, withHandled, withTrees } from './maintenance.ts'
import { abandonNode, type ReplicaSet } from './replica-set.ts'
import type { Transition } from './transition.ts'
import { hasChanges, hasUploadSource, keepsChanges, readSpecSource, stepUpload, withUploadSource } from './upload.ts'
import { beginUse, endUse, stepUse } from './use.ts'

/** The identity of a replica and its state machines. */
interface Machines {
  identity: ReplicaIdentity
  download: ReplicaDownload
  use: ReplicaUse
  upload: ReplicaUpload
  maintenance: ReplicaMaintenance
}

/** The fields of each machine in the flat status. */
const FIELDS: { readonly [M in keyof Machines]: Readonly<Record<keyof Machines[M], true>> } = {
  identity: { index: true, revision: true, path: true, shard: true, claimName: true },
  download: {
    state: true,
    reason: true,
    message: true,
    since: true,
    retryTime: true,
    attempt: true,
    failures: true,
    node: true,
    nodeUID: true,
    nodeFailures: true,
    preemptions: true,
    isPermanent: true,
    isDamaged: true,
    isUnchecked: true,
    bytes: true,
    totalBytes: true,
    progressTime: true,
  },
  use: { inUse: true, lastUsedTime: true, lastEndTime: true },
  upload: { upload: true, uploads: true, uploadSource: true, uploadedTime: true },
  maintenance: {
    maintenance: true,
    maintenances: true,
    checkedTime: true,
    refreshedTime: true,
    checkedBoot: true,
    requestedCheckTime: true,
    handledCheck: true,
    handledRefresh: true,
    oldTrees: true,
    replacedTime: true,
  },
}

const MACHINES = ['download', 'use', 'upload', 'maintenance'] as const
const OWNERS: ReadonlyMap<string, keyof Machines> = new Map(
  MACHINES.flatMap((machine) => Object.keys(FIELDS[machine]).map((field) => [field, machine] as const)),
)

/** Divides the flat status of a replica. An unknown field stays with the identity. */
export function divideReplica(replica: ReplicaStatus): Machines {
  const parts = { identity: {}, download: {}, use: {}, upload: {}, maintenance: {} } satisfies Record<
    keyof Machines,
    object
  >
  for (const [field, value] of Object.entries(replica)) {
    Object.assign(parts[OWNERS.get(field) ?? 'identity'], { [field]: value })
  }
  return parts as Machines
}

/** The inputs of a step that are not observed: the spec of the volume, and the other replicas. */
interface StepContext {
  /** The source type of its volume; undefined for a volume that is no longer in the spec. */
  sourceType: string | undefined
  /** Whether another replica of the same data is ready on the node of its mover. */
  nodeHasData: boolean
  /** Whether earlier data of the same directory is being deleted on the node of its mover. */
  isDeletionPending: boolean
  /** Whether the spec has the source to which changes of a replica belong. */
  hasSource(upload: ReplicaUpload): boolean
  /** Whether a replica has the data of the source in the spec. */
  isCurrent(identity: ReplicaIdentity): boolean
  /** Whether changes of pods are lost with the data of a replica. */
  losesChanges(replica: ReplicaUse & ReplicaUpload): boolean
  /** The config for an upload or for maintenance; undefined if none may be queued. */
  configFor(isAtWork: boolean): VolumeConfig | undefined
}

/**
 * Computes the next status of a replica. Each machine depends on those before it: the download, the use of its data, the upload of changes,
 * and maintenance.
 */
function stepReplica(
  { replica, ...observed }: ObservedReplica,
  { sourceType, nodeHasData, isDeletionPending, hasSource, isCurrent, losesChanges, configFor }: StepContext,
): Transition<ReplicaStatus> {
  const { identity, ...before } = divideReplica(replica)
  const downloaded = stepDownload(before.download, {
    ...observed.download,
    sourceType,
    nodeHasData,
    isDeletionPending,
    hasChanges: losesChanges({ ...before.use, ...before.upload }),
  })
  const { next: download, arrived, isGone } = downloaded

  const begun = arrived ? beginUse(before.use, arrived.endTime) : isGone ? endUse(before.use) : before.use
  const use = stepUse(begun, download, observed.use)
  const data = { ...download, ...use }

  const isUploading = before.upload.upload?.state === 'Uploading'
  const uploaded = stepUpload(before.upload, data, {
    ...observed.upload,
    // A mover that runs has the source of its own spec.
    config: isUploading || hasSource(before.upload) ? configFor(isUploading) : undefined,
  })

  // New data needs neither of the requested checks and refreshes.
  const { requests, boot } = observed.maintenance
  const known = arrived
    ? withBoot(
        withHandled(withTrees(before.maintenance, arrived), requests),
        download.node === undefined ? undefined : boot,
      )
    : before.maintenance
  const maintained = stepMaintenance(known, data, {
    ...observed.maintenance,
    config: configFor(before.maintenance.maintenance?.state === 'Running'),
    isCurrent: isCurrent(identity),
  })

  const { loss, refreshedBytes: bytes = download.bytes } = maintained
  const lost = loss && loseData(download, loss, observed.download.now)
  return {
    next: {
      ...identity,
      ...(lost?.next ?? defined({ ...download, bytes })),
      ...(lost ? endUse(use) : use),
      ...uploaded.next,
      ...maintained.next,
    },
    dueAt: earliest(downloaded.dueAt, uploaded.dueAt, maintained.dueAt, lost?.dueAt),
  }
}

/** The status of a replica whose data is deleted because its node is short of disk. */
export function evictReplica(replica: ReplicaStatus, cause: EvictionCause, now: number): ReplicaStatus {
  const { identity, download, use, upload, maintenance } = divideReplica(replica)
  return { ...identity, ...evictData(download, cause, now), ...endUse(use), ...upload, ...maintenance }
}

/**
 * Computes the next status of every replica, and adds deletions for the nodes that replicas left.
 *
 * @param options.isValid whether movers can be created for the volume. Otherwise no upload and no maintenance is queued: work that can never
 *   start would delay the movers of other VolumeManagers.
 * @param options.evenChanged whether changes that are not written back may be lost
 */
export function stepReplicas(
  { before, replicas: observedReplicas, replicasInAll }: ObservedVolume,
  config: VolumeConfig | undefined,
  { isValid, evenChanged }: { isValid: boolean; evenChanged: boolean },
): ReplicaSet {
  const source = readSpecSource(config)
  const configFor = (isAtWork: boolean) => (isValid || isAtWork ? config : undefined)
  const context = {
    sourceType: config?.sourceType,
    hasSource: (upload: ReplicaUpload) => hasUploadSource(upload, source),
    isCurrent: ({ revision }: ReplicaIdentity) => source !== undefined && revision === source.revision,
    losesChanges: (replica: ReplicaUse & ReplicaUpload) =>
      !evenChanged && keepsChanges(replica, source) && hasChanges(replica),
    configFor,
  }
  const withData = new Set(observedReplicas.flatMap(({ replica }) => (isReady(replica) ? dataPlace(replica) : [])))
  const leaving = new Set((before?.deletions ?? []).map(placeKey))
  const replicas: ReplicaStatus[] = []
  let set: ReplicaSet = { replicas, deletions: before?.deletions ?? [], nextIndex: before?.nextIndex ?? 0 }
  for (const observed of observedReplicas) {
    const { path, revision } = observed.replica
    const { nodeName: node, node: nodeState, now } = observed.download
    const isIn = (places: ReadonlySet<string>) => dataPlace({ path, node }).some((place) => places.has(place))
    const replica = withUploadSource(observed.replica, source)
    const step = stepReplica(
      { ...observed, replica },
      {
        ...context,
        nodeHasData: isIn(withData),
        isDeletionPending: isIn(leaving),
      },
    )
    const next = withFewFailures(step.next, replicasInAll)
    replicas.push(next)
    if (isReady(next)) for (const place of dataPlace(next)) withData.add(place)
    set = { ...set, dueAt: earliest(set.dueAt, step.dueAt) }
    const isAbandoned = next.state === 'Failed' && next.node === undefined
    if (isAbandoned && node !== undefined && path !== undefined && nodeState?.kind === 'present') {
      set = abandonNode(set, { node, path, revision, code: next.reason }, now)
    }
  }
  return set
}

/** The most recorded node failures of all replicas of a VolumeManager together, since an object has at most 1.5 MiB. */
const MAX_ALL_NODE_FAILURES = 2000

function withFewFailures(replica: ReplicaStatus, replicas: number): ReplicaStatus {
  const most = Math.max(1, Math.floor(MAX_ALL_NODE_FAILURES / Math.max(1, replicas)))
  const { nodeFailures = [] } = replica
  return nodeFailures.length > most ? { ...replica, nodeFailures: nodeFailures.slice(-most) } : replica
}

/** The node and directory of data, as a key; empty for a replica that is on no node. */
function dataPlace({ node, path }: { node?: string | undefined; path?: string | undefined }): string[] {
  return node === undefined || path === undefined ? [] : [placeKey({ node, path })]
}

/** Computes the next status of every deletion, and removes deletions whose data is gone. */
export function stepDeletions(observed: ObservedVolume, set: ReplicaSet): ReplicaSet {
  const steps = set.deletions.flatMap(
    (deletion) => stepDeletion(deletion, observed.deletion(deletion, set.replicas)) ?? [],
  )
  return {
    ...set,
    deletions: steps.map(({ next }) => next),
    dueAt: earliest(set.dueAt, ...steps.map(({ dueAt }) => dueAt)),
  }
}
