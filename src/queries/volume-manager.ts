/** Gathers the input of a plan for a VolumeManager, from the cache and the memory of the loop. */
import { objectKey } from '../api/meta.ts'
import { nodes } from '../api/node.ts'
import { persistentVolumeClaims, persistentVolumes } from '../api/persistent-volume.ts'
import type { Pod } from '../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import { defined } from '../base/json.ts'
import type { Workload } from '../core/dependencies/workload.ts'
import type { NodeLookup, VolumeManagerInput } from '../core/volume-manager/input.ts'
import { listVolumes } from '../core/volume-manager/known-status.ts'
import { ownerKey } from '../core/volume-manager/rules/names.ts'
import { moverToPreempt, overdueMovers } from '../core/volume-manager/schedule/preemption.ts'
import { moverAllowance } from '../core/volume-manager/schedule/shares.ts'
import { isDaemonSet } from '../core/workload/daemon-set.ts'
import { awaitedVolumes } from '../core/workload/gate/volumes-state.ts'
import type { ObjectStore } from '../store/store.ts'
import { requestsOfWaiting } from './kueue.ts'
import { type KnownSlots, slotShares } from './mover-slots.ts'
import { managerMovers, type SlotContext } from './own-movers.ts'
import { terminatingNamespace } from './terminating.ts'
import { workloadsWithVolumes } from './volume-locations.ts'
import { directoryUsers, lastUseEnd } from './volume-users.ts'
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
export function hasEvictedData(manager: VolumeManager | undefined): boolean {
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
