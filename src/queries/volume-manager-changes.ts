/** Finds the VolumeManagers that a change concerns, and those that may retry because of it. */
import { secrets } from '../api/dependencies.ts'
import { type KueueWorkload, kueueWorkloads } from '../api/kueue.ts'
import { DISK_PREFIX } from '../api/lodestone.ts'
import { type K8sObject, keyOfObject, objectKey, splitObjectKey } from '../api/meta.ts'
import { namespaces } from '../api/namespace.ts'
import { type Node, nodes } from '../api/node.ts'
import { persistentVolumeClaims, persistentVolumes } from '../api/persistent-volume.ts'
import { type Pod, pods } from '../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import { jsonEqual } from '../base/json.ts'
import type { Workload } from '../core/dependencies/workload.ts'
import type { RetryTrigger } from '../core/volume-manager/input.ts'
import { nodeOfMover } from '../core/volume-manager/mover/affinity.ts'
import { readTask } from '../core/volume-manager/mover/task.ts'
import { hasDiskPressure, readNodeHealth } from '../core/volume-manager/nodes/feasibility.ts'
import { evictingNodes } from '../core/volume-manager/plan-eviction.ts'
import { isEnded } from '../core/volume-manager/pod-use.ts'
import { ownerOfNodeLabel, ownerOfPlace } from '../core/volume-manager/rules/names.ts'
import type { VolumeSettings } from '../core/volume-manager/rules/settings.ts'
import { isInQueue } from '../core/volume-manager/schedule/queue.ts'
import { isDaemonSet } from '../core/workload/daemon-set.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'
import { managersAwaitedBy } from './kueue.ts'
import { type KnownSlots, managersFor, nextManagers } from './mover-slots.ts'
import { hasEvictedData } from './volume-manager.ts'
import type { MountingPod } from './volume-users.ts'

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
