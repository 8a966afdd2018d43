/** Collects from a store's memory what the plan for a VolumeManager starts from. */
import { secrets } from '../api/dependencies.ts'
import { type K8sObject, keyOfObject, objectKey } from '../api/meta.ts'
import { type Node, nodes } from '../api/node.ts'
import { persistentVolumeClaims, persistentVolumes } from '../api/persistent-volume.ts'
import { type Pod, pods } from '../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import { jsonEqual } from '../core/json.ts'
import type { Mended, NodeLookup, VolumeManagerInput, VolumeUser } from '../core/volume-manager/input.ts'
import { readTask } from '../core/volume-manager/mover/task.ts'
import { evictingNodes } from '../core/volume-manager/replica/eviction.ts'
import { isEnded } from '../core/volume-manager/replica/pod-use.ts'
import { allowsNode } from '../core/volume-manager/schedule/node-affinity.ts'
import { hasDiskPressure, healthOf } from '../core/volume-manager/schedule/node-health.ts'
import { allowanceOf, firstManagers, isInQueue } from '../core/volume-manager/schedule/queue.ts'
import { ownerKey, ownerOfNodeLabel, ownerOfPlace } from '../core/volume-manager/spec/names.ts'
import type { VolumeSettings } from '../core/volume-manager/spec/settings.ts'
import { latestOf } from '../core/volume-manager/status/time.ts'
import { type HeldUse, placeKey } from '../store/kinds/volumes.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'

/** What a loop knows beside the store. */
export interface KnownMovers extends Pick<VolumeManagerInput, 'progress' | 'refusals' | 'mended'> {
  /** Movers that the cache does not show although they are there. */
  unseen: readonly Pod[]
  /** The movers of any VolumeManager that were just created, or are about to be, and are in no cache yet. */
  created: readonly Pod[]
}

export function gatherVolumeManager(
  manager: VolumeManager,
  store: ObjectStore,
  settings: VolumeSettings,
  { unseen, created, progress, refusals, mended }: KnownMovers,
  now: number,
): VolumeManagerInput {
  const { namespace, name = '' } = manager.metadata
  const key = objectKey(namespace, name)
  const owner = ownerKey(manager)
  const movers = [...moversOf(store, key), ...unseen].map((pod) => [pod.metadata.name ?? '', pod] as const)
  return {
    manager,
    settings,
    nodes: nodeLookup(store, owner),
    movers: new Map(movers),
    progress,
    refusals,
    mended,
    users: (place) => usersOf(store, namespace, place),
    lastEnd: (...place) => lastEndOf(store, ...place),
    persistentVolumes: store.byIndex(persistentVolumes, 'owner', owner),
    claims: store.byIndex(persistentVolumeClaims, 'owner', owner),
    allowance: allowanceOf({
      manager: key,
      waiting: store.byIndex(volumeManagers, 'waiting', 'all'),
      active: activeMovers(store, created),
      settings: settings.movers,
    }),
    now,
  }
}

function activeMovers(store: ObjectStore, created: readonly Pod[]): Pod[] {
  const cached = store.byIndex(pods, 'active', 'all')
  const isCached = ({ metadata }: Pod) => store.get(pods, metadata.namespace, metadata.name ?? '') !== undefined
  return [...cached, ...created.filter((pod) => !isCached(pod))]
}

/** The movers of a VolumeManager, those of an earlier one of the same name included. */
export function moversOf(store: ObjectStore, key: string): readonly Pod[] {
  return store.byIndex(pods, 'mover', key)
}

function nodeLookup(store: ObjectStore, owner: string): NodeLookup {
  return {
    get: (name) => store.get(nodes, undefined, name),
    all: () => store.list(nodes),
    labelled: () => store.byIndex(nodes, 'owner', owner),
  }
}

/** The pods that have a directory, or a claim of the namespace, mounted. A directory of a node is anybody's who may name it. */
export function usersOf(store: ObjectStore, namespace: string | undefined, place: string): VolumeUser[] {
  const [index, key] = place.startsWith('/') ? ['directory', place] : ['claim', objectKey(namespace, place)]
  return store.byIndex(pods, index, key).map((pod) => {
    const { use } = pod as HeldPod
    return {
      pod: keyOfObject(pod),
      ...(use?.node !== undefined && { node: use.node }),
    }
  })
}

/** When the last pod ended that had a directory of a node mounted: by the clock of that node. */
export function lastEndOf(store: ObjectStore, node: string, directory: string): string | undefined {
  const ended: readonly HeldPod[] = store.byIndex(pods, 'endedIn', placeKey(node, directory))
  return latestOf(ended.flatMap(({ pastUse }) => pastUse?.endTime ?? []))
}

/** How many of those that wait are woken when a slot may be free: one would do, were it not for those that cannot start. */
const WOKEN = 4

/** The VolumeManagers that a change concerns, as `namespace/name`. */
export function concernedManagers({ type, before, after }: StoreChange, store: ObjectStore): string[] {
  const objects = [before, after].filter((object) => object !== undefined)
  switch (type.kind) {
    case volumeManagers.kind:
      return [...objects.map(keyOfObject), ...(waits(before) && !waits(after) ? nextInQueue(store) : [])]
    case pods.kind:
      return objects.flatMap((pod) => concernedByPod(pod as HeldPod, store))
    case nodes.kind:
      return concernedByNode(before as Node | undefined, after as Node | undefined, store)
    case persistentVolumes.kind:
    case persistentVolumeClaims.kind:
      return objects.flatMap(({ metadata }) => ownersNamed(ownerOfPlace(metadata.name ?? ''), store))
    default:
      return []
  }
}

/** The VolumeManagers for which a change may have mended what failed, and what it is. */
export function mendedManagers(change: StoreChange, store: ObjectStore): [Mended, string[]] | undefined {
  const { type, after } = change
  if (type.kind === secrets.kind && after) return ['secret', managersBy(store, 'secrets', keyOfObject(after))]
  const mended = mendedNodes(change, store)
  if (mended.length === 0) return undefined
  const failed = store.byIndex(volumeManagers, 'failed', 'all')
  return ['node', failed.filter((manager) => mended.some((node) => mayUse(manager, node, store))).map(keyOfObject)]
}

/** The nodes that can take more than before. */
function mendedNodes({ type, before, after }: StoreChange, store: ObjectStore): Node[] {
  switch (type.kind) {
    case nodes.kind:
      return isFit(after as Node | undefined) && !isFit(before as Node | undefined) ? [after as Node] : []
    case volumeManagers.kind: {
      const left = new Set(evictingNodes(after as VolumeManager | undefined))
      const freed = evictingNodes(before as VolumeManager | undefined).filter((node) => !left.has(node))
      // One that still says that it is short of disk says it when it no longer is.
      return freed.flatMap((name) => store.get(nodes, undefined, name) ?? []).filter(isFit)
    }
    default:
      return []
  }
}

function isFit(node: Node | undefined): boolean {
  return node !== undefined && healthOf(node).isReady && !hasDiskPressure(node)
}

/** Whether data may be brought to the node, or is still to be deleted there. */
function mayUse(manager: VolumeManager, node: Node, store: ObjectStore): boolean {
  const configs = manager.spec?.volumeConfigs ?? []
  const isAllowed = configs.some(({ nodeAffinity }) => allowsNode(nodeAffinity, node))
  return isAllowed || store.byIndex(volumeManagers, 'node', node.metadata.name ?? '').includes(manager)
}

function managersBy(store: ObjectStore, index: string, key: string): string[] {
  return store.byIndex(volumeManagers, index, key).map(keyOfObject)
}

type HeldPod = Pod & HeldUse

function concernedByPod(pod: HeldPod, store: ObjectStore): string[] {
  const task = readTask(pod)
  if (task) return [task.manager, ...(isEnded(pod.status) ? nextInQueue(store) : [])]
  const { directories = [], claims = [] } = pod.use ?? {}
  // One that has ended may be seen for the first time.
  const { directories: left = [] } = pod.pastUse ?? {}
  return [...directories, ...claims, ...left].flatMap((place) => ownersNamed(ownerOfPlace(place), store))
}

/** Those that have data there, and, when the node can do more or less than before, those that look for one. */
function concernedByNode(before: Node | undefined, after: Node | undefined, store: ObjectStore): string[] {
  const name = (after ?? before)?.metadata.name ?? ''
  if (before && after && jsonEqual(before, after)) return []
  const owners = [before, after].flatMap((node) =>
    Object.keys(node?.metadata.labels ?? {}).filter(
      (label) => before?.metadata.labels?.[label] !== after?.metadata.labels?.[label],
    ),
  )
  const labelled = owners.flatMap((label) => ownersNamed(ownerOfNodeLabel(label), store))
  // A label of ours is its owner's business, and many have data on one node.
  if (before && after && jsonEqual(withoutOurs(before), withoutOurs(after))) return labelled
  const looking = ['waiting', 'local'].flatMap((index) => managersBy(store, index, 'all'))
  return [...managersBy(store, 'node', name), ...labelled, ...looking]
}

function withoutOurs(node: Node): Node {
  const labels = Object.entries(node.metadata.labels ?? {}).filter(([label]) => ownerOfNodeLabel(label) === undefined)
  return { ...node, metadata: { ...node.metadata, labels: Object.fromEntries(labels) } }
}

function ownersNamed(owner: string | undefined, store: ObjectStore): string[] {
  return owner === undefined ? [] : store.byIndex(volumeManagers, 'owner', owner).map(keyOfObject)
}

function nextInQueue(store: ObjectStore): string[] {
  return firstManagers(store.byIndex(volumeManagers, 'waiting', 'all'), WOKEN)
}

function waits(manager: K8sObject | undefined): boolean {
  return manager !== undefined && isInQueue(manager as VolumeManager)
}
