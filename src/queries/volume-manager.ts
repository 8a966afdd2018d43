/** Gathers the input of a plan for a VolumeManager from the cache, and finds the VolumeManagers that a change concerns. */
import { secrets } from '../api/dependencies.ts'
import { type KueueWorkload, kueueWorkloads } from '../api/kueue.ts'
import { DISK_PREFIX } from '../api/lodestone.ts'
import { type K8sObject, keyOfObject, objectKey, splitObjectKey } from '../api/meta.ts'
import { namespaces } from '../api/namespace.ts'
import { type Node, nodes } from '../api/node.ts'
import { persistentVolumeClaims, persistentVolumes } from '../api/persistent-volume.ts'
import { type Pod, pods } from '../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import { defined, jsonEqual } from '../base/json.ts'
import type { Workload } from '../core/dependencies/workload.ts'
import type { NodeLookup, RetryTrigger, VolumeManagerInput } from '../core/volume-manager/input.ts'
import { listVolumes } from '../core/volume-manager/known-status.ts'
import { nodeOfMover } from '../core/volume-manager/mover/affinity.ts'
import { readTask } from '../core/volume-manager/mover/task.ts'
import { hasDiskPressure, readNodeHealth } from '../core/volume-manager/nodes/feasibility.ts'
import { evictingNodes } from '../core/volume-manager/plan-eviction.ts'
import { isEnded } from '../core/volume-manager/pod-use.ts'
import { ownerKey, ownerOfNodeLabel, ownerOfPlace } from '../core/volume-manager/rules/names.ts'
import type { VolumeSettings } from '../core/volume-manager/rules/settings.ts'
import { moverToPreempt, overdueMovers } from '../core/volume-manager/schedule/preemption.ts'
import { isInQueue } from '../core/volume-manager/schedule/queue.ts'
import { moverAllowance } from '../core/volume-manager/schedule/shares.ts'
import { isDaemonSet } from '../core/workload/daemon-set.ts'
import { awaitedVolumes } from '../core/workload/gate/volumes-state.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'
import { managersAwaitedBy, requestsOfWaiting } from './kueue.ts'
import { type KnownSlots, managersFor, nextManagers, slotShares } from './mover-slots.ts'
import { managerMovers, type SlotContext } from './own-movers.ts'
import { terminatingNamespace } from './terminating.ts'
import { workloadsWithVolumes } from './volume-locations.ts'
import { directoryUsers, lastUseEnd, type MountingPod } from './volume-users.ts'
import { volumeManagersOf } from './volumes.ts'

/** The memory of the loop, in addition to the store. */
export interface KnownMovers
  extends KnownSlots,
    Pick<VolumeManagerInput, 'progress' | 'refusals' | 'rejections' | 'retryTriggers'> {
  /** Whether the API server rejected a mover because its namespace is being deleted. */
  isTerminating: boolean
  /** Movers that exist but are not in the cache. */
  uncached: readonly Pod[]
}

/** Gathers the input of the plan for a VolumeManager, from the cache and the memory of the loop only. */
export function gatherVolumeManager(
  manager: VolumeManager,
  { uncached, progress, refusals, rejections, retryTriggers, isTerminating, ...slots }: KnownMovers,
  { store, settings, now, jumps }: SlotContext,
): VolumeManagerInput {
  const { namespace, name = '' } = manager.metadata
  const key = objectKey(namespace, name)
  const owner = ownerKey(manager)
  const movers = new Map(
    [...managerMovers(store, key, settings.movers), ...uncached].map((pod) => [pod.metadata.name ?? '', pod] as const),
  )
  const shares = slotShares(slots, { store, settings, now, jumps })
  const overdue = overdueMovers({ manager, movers, progress, settings: settings.movers, now, jumps })
  return {
    manager,
    isLast:
      manager.metadata.deletionTimestamp !== undefined &&
      [...store.list(volumeManagers)].every(({ metadata }) => metadata.deletionTimestamp !== undefined),
    isManaged: (key) => store.byIndex(volumeManagers, 'owner', key).length > 0,
    settings,
    nodes: nodeLookup(store, owner),
    movers,
    progress,
    refusals,
    ...defined({ rejections }),
    retryTriggers,
    terminating: terminatingNamespace(manager, isTerminating, { store, settings: settings.movers }),
    users: (place) => directoryUsers(store, namespace, place),
    ...defined({ awaited: hasEvictedData(manager) ? awaitedIn(manager, store) : undefined }),
    lastEnd: (...place) => lastUseEnd(store, ...place),
    persistentVolumes: store.byIndex(persistentVolumes, 'owner', owner),
    // A claim of another namespace with the same label and name is not that of the volume.
    persistentVolumeClaims: store
      .byIndex(persistentVolumeClaims, 'owner', owner)
      .filter(({ metadata }) => metadata.namespace === namespace),
    exists: (kind, name) =>
      kind === 'PersistentVolume'
        ? store.get(persistentVolumes, undefined, name) !== undefined
        : store.get(persistentVolumeClaims, namespace, name) !== undefined,
    allowance: moverAllowance(key, shares),
    preempted: moverToPreempt(overdue, shares)?.metadata.name,
    now,
    jumps,
  }
}

/** Whether a volume has data that was deleted while no pod used it, and returns when it is needed. */
function hasEvictedData(manager: VolumeManager | undefined): boolean {
  return listVolumes(manager ?? {}).some(({ replicas = [] }) => replicas.some(({ state }) => state === 'Evicted'))
}

/** The ids of the volumes for which work waits that has no pods before the data is ready. */
function awaitedIn(manager: VolumeManager, store: ObjectStore): ReadonlySet<string> {
  const { namespace, name = '' } = manager.metadata
  const managers = volumeManagersOf(store, namespace)
  const daemonSets = workloadsWithVolumes(namespace, name, store).filter(isDaemonSet)
  const requests = [
    ...requestsOfWaiting(manager, store),
    ...daemonSets.flatMap((daemonSet) => (daemonSet as Workload).volumeRequests ?? []),
  ]
  const awaited = requests.flatMap((annotation) => awaitedVolumes(annotation, managers))
  return new Set(awaited.flatMap(({ request, volume }) => (request.name === name ? [volume.id] : [])))
}

function nodeLookup(store: ObjectStore, owner: string): NodeLookup {
  return {
    get: (name) => store.get(nodes, undefined, name),
    all: () => store.list(nodes),
    labelled: () => store.byIndex(nodes, 'owner', owner),
  }
}

/** Returns the VolumeManagers that a change concerns, as `namespace/name`. */
export function concernedManagers(
  { type, before, after }: StoreChange,
  store: ObjectStore,
  settings: VolumeSettings,
  slots: KnownSlots,
): string[] {
  const objects = [before, after].filter((object) => object !== undefined)
  const nextInQueue = (freedNode?: string) => nextManagers(store, settings, slots, freedNode)
  switch (type.kind) {
    case volumeManagers.kind:
      return [...objects.map(keyOfObject), ...(waits(before) && !waits(after) ? nextInQueue() : [])]
    case pods.kind: {
      const ended = endedMover(before as Pod | undefined, after as Pod | undefined)
      // The first in the queue come before the owner of the mover, which would take the slot for its next one.
      const next = ended ? nextInQueue(nodeOfMover(ended)) : []
      return [...next, ...objects.flatMap((pod) => concernedByPod(pod as MountingPod, store))]
    }
    case nodes.kind:
      return concernedByNode(before as Node | undefined, after as Node | undefined, store)
    case namespaces.kind:
      return after?.metadata.deletionTimestamp ? managersIn(after.metadata.name, store) : []
    case persistentVolumes.kind:
    case persistentVolumeClaims.kind:
      return objects.flatMap(({ metadata }) => ownersNamed(ownerOfPlace(metadata.name ?? ''), store))
    case kueueWorkloads.kind:
      if (type.group !== kueueWorkloads.group || !after) return []
      return withEvictedData(managersAwaitedBy(after as KueueWorkload, store), store)
    default:
      return isDaemonSet(type) && after ? withEvictedData(managersRequestedBy(after as Workload), store) : []
  }
}

function managersRequestedBy({ metadata, dependencies }: Workload): string[] {
  return dependencies.volumeManagers.map((name) => objectKey(metadata.namespace, name))
}

/** Those of the VolumeManagers with evicted data. */
function withEvictedData(keys: readonly string[], store: ObjectStore): string[] {
  return keys.filter((key) => {
    const { namespace, name } = splitObjectKey(key)
    return hasEvictedData(store.get(volumeManagers, namespace, name))
  })
}

/** Returns the retry triggers of a change, and for each the VolumeManagers that may retry because of it. */
export function managersToRetry(change: StoreChange, store: ObjectStore): [RetryTrigger, string[]][] {
  const { type, before, after } = change
  if (type.kind === secrets.kind && after) return [['secret', managersBy(store, 'secrets', keyOfObject(after))]]
  const triggers: [RetryTrigger, string[]][] = []
  if (type.kind === volumeManagers.kind && before && after && before.metadata.generation !== after.metadata.generation)
    triggers.push(['spec', [keyOfObject(after)]])
  const found = nodesToRetry(change, store)
  if (found.length > 0) {
    const failed = store.byIndex(volumeManagers, 'failed', 'all')
    triggers.push(['node', [...new Set(found.flatMap((node) => managersFor(node, failed, store)).map(keyOfObject))]])
  }
  return triggers
}

/** Returns the nodes that can store more data than before the change. */
function nodesToRetry({ type, before, after }: StoreChange, store: ObjectStore): Node[] {
  switch (type.kind) {
    case nodes.kind:
      return isFit(after as Node | undefined) && !isAsFit(before as Node | undefined, after as Node)
        ? [after as Node]
        : []
    case volumeManagers.kind: {
      const left = new Set(evictingNodes(after as VolumeManager | undefined))
      const freed = evictingNodes(before as VolumeManager | undefined).filter((node) => !left.has(node))
      // For a node that still has disk pressure, the end of the pressure is the trigger.
      return freed.flatMap((name) => store.get(nodes, undefined, name) ?? []).filter(isFit)
    }
    default:
      return []
  }
}

function isFit(node: Node | undefined): boolean {
  return node !== undefined && readNodeHealth(node).isReady && !hasDiskPressure(node)
}

/** Whether the node could take the same data before a change: it was fit, with the same taints and the same labels of others. */
function isAsFit(before: Node | undefined, after: Node): boolean {
  if (!before || !isFit(before)) return false
  const placing = (node: Node) => ({ spec: node.spec ?? {}, labels: withoutOwnLabels(node).metadata.labels })
  return jsonEqual(placing(before), placing(after))
}

function managersIn(namespace: string | undefined, store: ObjectStore): string[] {
  return [...store.list(volumeManagers)].filter(({ metadata }) => metadata.namespace === namespace).map(keyOfObject)
}

function managersBy(store: ObjectStore, index: string, key: string): string[] {
  return store.byIndex(volumeManagers, index, key).map(keyOfObject)
}

/** Returns the mover of a changed pod if it occupies no slot now: it ended, or was deleted. */
function endedMover(before: Pod | undefined, after: Pod | undefined): Pod | undefined {
  const pod = after ?? before
  return pod && readTask(pod) && (!after || isEnded(after.status)) ? pod : undefined
}

function concernedByPod(pod: MountingPod, store: ObjectStore): string[] {
  const task = readTask(pod)
  if (task) return task.role === 'leftover' ? [] : [task.manager]
  const { directories = [], claims = [] } = pod.use ?? {}
  // An ended pod may be observed for the first time.
  const { directories: left = [], claims: released = [] } = pod.pastUse ?? {}
  return [...directories, ...claims, ...left, ...released].flatMap((place) => ownersNamed(ownerOfPlace(place), store))
}

/** Returns the VolumeManagers with data on the node and, if the node itself changed, those that wait for a node. */
function concernedByNode(before: Node | undefined, after: Node | undefined, store: ObjectStore): string[] {
  const name = (after ?? before)?.metadata.name ?? ''
  if (before && after && jsonEqual(before, after)) return []
  const owners = [before, after].flatMap((node) =>
    Object.keys(node?.metadata.labels ?? {}).filter(
      (label) => before?.metadata.labels?.[label] !== after?.metadata.labels?.[label],
    ),
  )
  const labelled = owners.flatMap((label) => ownersNamed(ownerOfNodeLabel(label), store))
  // A node label of Lodestone concerns only its owner, while many VolumeManagers may have data on one node.
  if (before && after && jsonEqual(withoutOwnLabels(before), withoutOwnLabels(after))) return labelled
  const candidates = ['waiting', 'everyNode'].flatMap((index) => managersBy(store, index, 'all'))
  return [...managersBy(store, 'node', name), ...labelled, ...candidates]
}

function withoutOwnLabels(node: Node): Node {
  const labels = Object.entries(node.metadata.labels ?? {}).filter(([label]) => ownerOfNodeLabel(label) === undefined)
  // A report about free disk concerns replicas that are placed anyway, and no VolumeManager with data on the node.
  const annotations = Object.entries(node.metadata.annotations ?? {}).filter(([key]) => !key.startsWith(DISK_PREFIX))
  const ofOthers = { labels: Object.fromEntries(labels), annotations: Object.fromEntries(annotations) }
  return { ...node, metadata: { ...node.metadata, ...ofOthers } }
}

function ownersNamed(owner: string | undefined, store: ObjectStore): string[] {
  return owner === undefined ? [] : store.byIndex(volumeManagers, 'owner', owner).map(keyOfObject)
}

function waits(manager: K8sObject | undefined): boolean {
  return manager !== undefined && isInQueue(manager as VolumeManager)
}
