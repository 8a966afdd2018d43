/** Observes the mover, the node and the pods of each replica and deletion of a volume, and computes their next status. */
import { DELETE_IN_USE_ANNOTATION, NODE_ANNOTATION } from '../../../api/lodestone.ts'
import type { PersistentVolume } from '../../../api/persistent-volume.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import type { DeletionStatus, ReplicaStatus, VolumeStatus } from '../../../api/volume-status.ts'
import type { VolumeManagerInput } from '../input.ts'
import { directoryOfMover } from '../mover/affinity.ts'
import { observeMover } from '../mover/observed-state.ts'
import { readTask, taskOf } from '../mover/task.ts'
import { isLeftover } from '../nodes/leftovers.ts'
import { healthOf } from '../nodes/node-health.ts'
import { nodeLabelsOf, replicaClaimName } from '../rules/names.ts'
import { earliest } from '../time.ts'
import { stepDeletion } from './deletion.ts'
import { stepMaintenance, withHandled } from './maintenance.ts'
import { phaseOf, requestsOf } from './maintenance-schedule.ts'
import { isReady, type NodeState, type ReplicaObservation, stepReplica } from './replica.ts'
import { abandonNode, type ReplicaSet, recordUse } from './replica-set.ts'
import { stepUpload } from './upload.ts'

/**
 * Computes the next status of every replica, and adds deletions for the nodes that replicas left.
 *
 * @param isValid whether movers can be created for the volume. Otherwise no upload and no maintenance is queued: work that can never start
 *   would delay the movers of other VolumeManagers.
 */
export function stepReplicas(
  input: VolumeManagerInput,
  id: string,
  config: VolumeConfig | undefined,
  before: VolumeStatus | undefined,
  isValid = true,
): ReplicaSet {
  const { manager, settings, now, jumps } = input
  const configOf = (isAtWork: boolean) => (isValid || isAtWork ? config : undefined)
  const requests = requestsOf(manager)
  const known = before?.replicas ?? []
  const replicasInAll = manager.status?.volumes?.reduce((sum, { replicas = [] }) => sum + replicas.length, 0) ?? 0
  const withData = new Set(known.filter(isReady).flatMap(placeOf))
  const replicas: ReplicaStatus[] = []
  let set: ReplicaSet = { replicas, deletions: before?.deletions ?? [], nextIndex: before?.nextIndex ?? 0 }
  for (const replica of known) {
    const observed = { ...observeReplica(input, id, replica, withData), sourceType: config?.sourceType }
    const step = stepReplica(replica, observed)
    const upload = stepUpload(recordUse(step.next, input), {
      ...observeUpload(input, id, replica),
      config: configOf(replica.upload?.state === 'Uploading'),
      settings,
      now,
      jumps,
    })
    const arrived = !isReady(replica) && isReady(upload.next) ? withHandled(upload.next, requests) : upload.next
    const kept = stepMaintenance(arrived, {
      ...observeMaintenance(input, id, replica),
      config: configOf(replica.maintenance?.state === 'Running'),
      requests,
      settings,
      now,
      jumps,
    })
    const after = withFewFailures(kept.next, replicasInAll)
    replicas.push(after)
    if (isReady(after)) for (const place of placeOf(after)) withData.add(place)
    set = { ...set, dueAt: earliest(set.dueAt, step.dueAt, upload.dueAt, kept.dueAt) }
    const isAbandoning = after.state === 'Failed' && after.node === undefined
    const left = isAbandoning ? (observed.mover?.node ?? replica.node) : undefined
    const { path, revision } = replica
    if (left !== undefined && path !== undefined && input.nodes.get(left) !== undefined) {
      set = abandonNode(set, { node: left, path, revision, code: after.reason }, now)
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

function observeReplica(
  input: VolumeManagerInput,
  id: string,
  replica: ReplicaStatus,
  withData: ReadonlySet<string>,
): Omit<ReplicaObservation, 'sourceType'> {
  const { manager, settings, nodes, now, jumps } = input
  const { path } = replica
  const observed = observeMover(input, taskOf(manager, id, 'replica', replica), replica.since)
  const name = observed.mover?.node ?? replica.node
  return {
    ...observed,
    node: name === undefined ? undefined : nodeStateOf(nodes, name),
    nodeHasData: placeOf({ ...replica, ...(name && { node: name }) }).some((place) => withData.has(place)),
    // All pods of a directory are listed only for the few replicas that need it.
    isDemanded: replica.state === 'Evicted' && path !== undefined && isDemanded(input, id, replica, path),
    settings,
    now,
    jumps,
  }
}

/** Whether a pod that has no node yet needs an evicted replica: by its directory, or by its claim. */
function isDemanded({ manager, users }: VolumeManagerInput, id: string, replica: ReplicaStatus, path: string): boolean {
  const claim = replicaClaimName(manager, id, replica.revision, replica.index)
  return [...users(path), ...users(claim)].some(({ node }) => node === undefined)
}

/** Observes the mover of an upload. Without an upload there is none, since no task has attempt 0. */
function observeUpload(input: VolumeManagerInput, id: string, { index, upload }: ReplicaStatus) {
  const task = taskOf(input.manager, id, 'upload', { index, attempt: upload?.attempt ?? 0 })
  return observeMover(input, task, upload?.since)
}

function observeMaintenance(input: VolumeManagerInput, id: string, replica: ReplicaStatus) {
  const { manager, nodes, users } = input
  const { index, node = '', path, maintenance, oldTrees } = replica
  const task = taskOf(manager, id, 'maintenance', { index, attempt: maintenance?.attempt ?? 0 })
  const state = nodeStateOf(nodes, node)
  return {
    ...observeMover(input, task, maintenance?.since),
    isNodeReady: state.kind === 'present' && state.isReady,
    // All pods of a directory are listed only for the few replicas that need it.
    users: oldTrees && path !== undefined ? users(path).filter((user) => user.node === node) : [],
    phase: phaseOf(manager, id, replica),
  }
}

/** The node and directory of data, as a key; empty for a replica that is on no node. */
function placeOf({ node, path }: ReplicaStatus): string[] {
  return node === undefined || path === undefined ? [] : [`${node}:${path}`]
}

function nodeStateOf(nodes: VolumeManagerInput['nodes'], name: string): NodeState {
  const node = nodes.get(name)
  if (!node) return { kind: 'deleted' }
  const { isReady: ready, since } = healthOf(node)
  return { kind: 'present', uid: node.metadata.uid, isReady: ready, unreadySince: since }
}

/** Computes the next status of every deletion, and removes deletions whose data is gone. */
export function stepDeletions(input: VolumeManagerInput, id: string, set: ReplicaSet): ReplicaSet {
  const steps = set.deletions.flatMap((deletion) => {
    const step = stepDeletion(deletion, observeDeletion(input, id, deletion, set.replicas))
    return step ? [step] : []
  })
  return {
    ...set,
    deletions: steps.map(({ next }) => next),
    dueAt: earliest(set.dueAt, ...steps.map(({ dueAt }) => dueAt)),
  }
}

function observeDeletion(
  input: VolumeManagerInput,
  id: string,
  deletion: DeletionStatus,
  replicas: readonly ReplicaStatus[],
) {
  const { manager, movers, nodes, users, settings, now, jumps } = input
  const node = nodes.get(deletion.node)
  const labels = node?.metadata.labels ?? {}
  const needed = replicas.filter((one) => one.node === deletion.node).flatMap(nodeLabelsFor(manager, id))
  return {
    ...observeMover(input, taskOf(manager, id, 'deletion', deletion), deletion.since),
    nodeGone: node === undefined,
    isLeftover: node !== undefined && isLeftover(node, deletion.path),
    nodeReady: node !== undefined && healthOf(node).isReady,
    labelled: deletion.nodeLabels.some((label) => labels[label] !== undefined && !needed.includes(label)),
    users: users(deletion.path).filter((user) => user.node === deletion.node),
    claimed: input.persistentVolumes.some((volume) => isAt(volume, deletion)),
    evenInUse: isDeletedInUse(manager),
    written: [...movers.values()].some((mover) => isWriting(mover, deletion)),
    settings,
    now,
    jumps,
  }
}

/** Whether a PersistentVolume is for this data. A pod could still mount it. */
function isAt({ metadata, spec }: PersistentVolume, { node, path }: DeletionStatus): boolean {
  return metadata.annotations?.[NODE_ANNOTATION] === node && spec?.local?.path === `${path}/data`
}

function isWriting(pod: Pod, { node, path }: DeletionStatus): boolean {
  return pod.spec?.nodeName === node && directoryOfMover(pod) === path && readTask(pod)?.role !== 'deletion'
}

/** Whether an annotation allows the deletion of data that pods use. */
export function isDeletedInUse({ metadata }: VolumeManager): boolean {
  return metadata.annotations?.[DELETE_IN_USE_ANNOTATION] === 'true'
}

/** Returns a function that gives the labels of the node of a replica; none for a replica without a directory. */
export function nodeLabelsFor(manager: VolumeManager, id: string): (replica: ReplicaStatus) => string[] {
  return ({ revision, shard, path }) => (path === undefined ? [] : nodeLabelsOf(manager, id, revision, shard))
}
