/** Observes the movers of a VolumeManager, and the nodes and pods that its tasks depend on: once, before any step. */
import { NODE_ANNOTATION } from '../../api/lodestone.ts'
import { keyOfObject } from '../../api/meta.ts'
import type { Node } from '../../api/node.ts'
import type { PersistentVolume } from '../../api/persistent-volume.ts'
import type { Pod } from '../../api/pod.ts'
import { MAX_VOLUMES } from '../../api/schemas/volume-manager.ts'
import type { DeletionStatus, ReplicaStatus, VolumeStatus } from '../../api/volume-status.ts'
import { fnv1a } from '../../base/hash.ts'
import { jsonEqual } from '../../base/json.ts'
import type { VolumeManagerInput, VolumeUser } from './input.ts'
import { directoryOfMover } from './mover/affinity.ts'
import { observeMover } from './mover/observed-state.ts'
import { buildTask, type MoverTask, readTask } from './mover/task.ts'
import { readNodeHealth } from './nodes/feasibility.ts'
import { isLeftover } from './nodes/leftovers.ts'
import { isEnded } from './pod-use.ts'
import { type DataWriter, type DeletionObservation, isDeletedInUse } from './replica/deletion.ts'
import type { DownloadObservation, NodeState } from './replica/download.ts'
import {
  checkPhase,
  type MaintenanceObservation,
  type MaintenanceRequests,
  requestedMaintenance,
} from './replica/maintenance.ts'
import type { Observation } from './replica/transition.ts'
import type { UseObservation } from './replica/use.ts'
import { moverName, nodeLabelsFor, placeKey, replicaClaimName } from './rules/names.ts'
import { fromTime } from './time.ts'

/** The Pod of a mover, and its task. */
export interface MoverPod {
  pod: Pod
  task: MoverTask
}

/** A replica of the status, and what is observed of its tasks. */
export interface ObservedReplica {
  replica: ReplicaStatus
  /** `nodeName` is the node of its mover, or of its data; undefined when it has neither. */
  download: Omit<DownloadObservation, 'nodeHasData' | 'isDeletionPending' | 'sourceType' | 'hasChanges'> & {
    nodeName: string | undefined
  }
  use: UseObservation
  upload: Observation
  maintenance: Omit<MaintenanceObservation, 'config' | 'isCurrent'>
}

/** A volume: its status, and the observed state of its tasks. */
export interface ObservedVolume {
  id: string
  /** Its status; undefined when it has none yet. */
  before: VolumeStatus | undefined
  /** The Pods of all its movers, also of tasks that the status does not have. */
  pods: readonly MoverPod[]
  replicas: readonly ObservedReplica[]
  /** The number of replicas in the status of all volumes. They share the size of one object. */
  replicasInAll: number
  /**
   * Observes a deletion, also one that the plan has added.
   *
   * @param replicas those of the volume after their steps: labels that they need stay on the node
   */
  deletion(deletion: DeletionStatus, replicas: readonly ReplicaStatus[]): DeletionObservation
}

/**
 * Observes the volumes: first those of the spec in its order, then those of the status, then those of movers. The last two include
 * volumes whose data is being deleted, and volumes of an earlier VolumeManager of the same name.
 */
export function observeVolumes(input: VolumeManagerInput): ObservedVolume[] {
  const { manager } = input
  const movers = moversByName(input)
  const pods = [...movers.values()]
  const observer = { input, movers, mounted: podsByNode(input.users), requests: requestedMaintenance(manager) }
  const podsById = Map.groupBy(pods, ({ task }) => task.id)
  const writers = writersByPlace(pods)
  const volumes = manager.status?.volumes ?? []
  const replicasInAll = volumes.reduce((sum, { replicas = [] }) => sum + replicas.length, 0)
  const ids = [...(manager.spec?.volumeConfigs ?? []), ...volumes].map(({ id }) => id)
  return [...new Set([...ids, ...podsById.keys()])].map((id) => {
    const before = volumes.find((volume) => volume.id === id)
    return {
      id,
      before,
      pods: podsById.get(id) ?? [],
      replicas: (before?.replicas ?? []).map((replica) => observeReplica(observer, id, replica)),
      replicasInAll,
      deletion: (deletion, after) => ({
        ...observeDeletion(observer, id, deletion, after),
        writer: writers.get(placeKey(deletion)),
      }),
    }
  })
}

/**
 * Splits volumes by the room in the status, which has an entry for each volume, and for each removed one until its data is deleted. New volumes
 * for which there is no room begin later.
 */
export function splitByRoom(volumes: readonly ObservedVolume[]): Record<'begun' | 'later', ObservedVolume[]> {
  const added = volumes.filter(({ before, pods }) => before === undefined && pods.length === 0)
  const room = MAX_VOLUMES - (volumes.length - added.length)
  const later = added.slice(Math.max(0, room))
  const waiting = new Set(later)
  return { begun: volumes.filter((volume) => !waiting.has(volume)), later }
}

/** The input, and what is read of it once for all tasks. */
interface Observer {
  input: VolumeManagerInput
  movers: MoversByName
  mounted: MountedOn
  requests: MaintenanceRequests
}

type MoversByName = ReadonlyMap<string, MoverPod>

/** Reads the task of each Pod. */
function moversByName({ movers }: VolumeManagerInput): MoversByName {
  return new Map(
    [...movers].flatMap(([name, pod]): [string, MoverPod][] => {
      const task = readTask(pod)
      return task ? [[name, { pod, task }]] : []
    }),
  )
}

/** Observes the mover of a task. It compares the whole task, since a user may have created a Pod with the same name. */
function observeTask({ input, movers }: Observer, task: MoverTask, since: string | undefined): Observation {
  const { manager, settings, now, jumps } = input
  const name = moverName(manager, task)
  const mover = movers.get(name)
  const pod = mover && jsonEqual(mover.task, task) ? mover.pod : undefined
  return { ...observeMover(input, name, pod, since), settings, now, jumps }
}

function observeReplica(observer: Observer, id: string, replica: ReplicaStatus): ObservedReplica {
  const { input, mounted, requests } = observer
  const { manager, nodes, lastEnd, now } = input
  const { index, node, path, since, upload, maintenance, oldTrees } = replica
  const observe = (role: MoverTask['role'], attempt: number, begin: string | undefined) =>
    observeTask(observer, buildTask(manager, id, role, { index, attempt }), begin)
  const download = observe('replica', replica.attempt, since)
  const nodeName = download.mover?.node ?? node
  const home = nodeState(nodes, node ?? '')
  return {
    replica,
    download: {
      ...download,
      nodeName,
      node: nodeName === undefined ? undefined : nodeState(nodes, nodeName),
      isDemanded: path !== undefined && isDemanded(input, mounted, id, replica, path),
    },
    use: {
      isMounted: path !== undefined && mounted(path, nodeName).length > 0,
      lastEnd: () => (path === undefined || nodeName === undefined ? undefined : lastEnd(nodeName, path)),
      now,
    },
    // Without an upload there is no mover, since no task has attempt 0.
    upload: observe('upload', upload?.attempt ?? 0, upload?.since),
    maintenance: {
      ...observe('maintenance', maintenance?.attempt ?? 0, maintenance?.since),
      isNodeReady: home.kind === 'present' && home.isReady,
      boot: bootOf(nodes.get(nodeName ?? '')),
      users: oldTrees && path !== undefined ? mounted(path, node) : [],
      requests,
      phase: checkPhase(manager, id, replica),
    },
  }
}

/** Returns the pods that mount a directory or a claim on a node; with the node undefined, those that wait for a node. */
type MountedOn = (directoryOrClaim: string, node: string | undefined) => readonly VolumeUser[]

/** Lists the pods of each directory and claim once, since many replicas have the same directory. */
function podsByNode(users: VolumeManagerInput['users']): MountedOn {
  const known = new Map<string, Map<string | undefined, VolumeUser[]>>()
  return (place, node) => {
    const byNode = known.get(place) ?? Map.groupBy(users(place), (user) => user.node)
    known.set(place, byNode)
    return byNode.get(node) ?? []
  }
}

/** Whether an evicted replica is needed: by a pod without a node, which names its directory or its claim, or by work without pods. */
function isDemanded(
  { manager, awaited }: VolumeManagerInput,
  mounted: MountedOn,
  id: string,
  { state, revision, index }: ReplicaStatus,
  path: string,
): boolean {
  if (state !== 'Evicted') return false
  if (awaited?.has(id)) return true
  return [path, replicaClaimName(manager, id, revision, index)].some((place) => mounted(place, undefined).length > 0)
}

function nodeState(nodes: VolumeManagerInput['nodes'], name: string): NodeState {
  const node = nodes.get(name)
  if (!node) return { kind: 'deleted' }
  const { isReady, since } = readNodeHealth(node)
  const { uid, creationTimestamp } = node.metadata
  return { kind: 'present', uid, createdAt: fromTime(creationTimestamp ?? undefined), isReady, unreadySince: since }
}

/** A digest of the boot of a node, which is shorter than its ID; undefined if the kubelet reports none. */
function bootOf(node: Node | undefined): string | undefined {
  const { bootID } = node?.status?.nodeInfo ?? {}
  return bootID ? fnv1a(bootID) : undefined
}

function observeDeletion(
  observer: Observer,
  id: string,
  deletion: DeletionStatus,
  replicas: readonly ReplicaStatus[],
): Omit<DeletionObservation, 'writer'> {
  const { input, mounted } = observer
  const { manager, nodes } = input
  const node = nodes.get(deletion.node)
  const labels = node?.metadata.labels ?? {}
  const needed = replicas.filter((one) => one.node === deletion.node).flatMap(nodeLabelsFor(manager, id))
  return {
    ...observeTask(observer, buildTask(manager, id, 'deletion', deletion), deletion.since),
    nodeGone: node === undefined,
    isLeftover: node !== undefined && isLeftover(node, deletion.path),
    nodeReady: node !== undefined && readNodeHealth(node).isReady,
    labelled: deletion.nodeLabels.some((label) => labels[label] !== undefined && !needed.includes(label)),
    users: mounted(deletion.path, deletion.node),
    claimed: input.persistentVolumes.some((volume) => isAt(volume, deletion)),
    evenInUse: isDeletedInUse(manager),
  }
}

/** Whether a PersistentVolume is for this data. A pod could still mount it. */
function isAt({ metadata, spec }: PersistentVolume, { node, path }: DeletionStatus): boolean {
  return metadata.annotations?.[NODE_ANNOTATION] === node && spec?.local?.path === `${path}/data`
}

/** The movers that write data, by its node and directory: one that runs before those that have ended. */
function writersByPlace(pods: readonly MoverPod[]): ReadonlyMap<string, DataWriter> {
  const writers = new Map<string, DataWriter>()
  for (const { pod, task } of pods) {
    const node = pod.spec?.nodeName
    const path = directoryOfMover(pod)
    if (task.role === 'deletion' || node === undefined || path === undefined) continue
    const place = placeKey({ node, path })
    const writer = { pod: keyOfObject(pod), hasEnded: isEnded(pod.status) }
    if (writers.get(place)?.hasEnded ?? true) writers.set(place, writer)
  }
  return writers
}
