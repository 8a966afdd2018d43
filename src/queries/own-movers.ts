/** Finds the movers that Lodestone made in the cache: active movers, and those of a VolumeManager or a leftover. */
import { splitObjectKey } from '../api/meta.ts'
import { namespaces } from '../api/namespace.ts'
import { nodes } from '../api/node.ts'
import { type Pod, pods } from '../api/pod.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { defined } from '../base/json.ts'
import type { Present } from '../base/time/clock-jumps.ts'
import { isInMoverNamespace, isOwnMover, type MoverOwners } from '../core/volume-manager/mover/own-mover.ts'
import { isLostNode } from '../core/volume-manager/nodes/feasibility.ts'
import { type Leftover, readLeftover, splitLeftoverKey } from '../core/volume-manager/nodes/leftovers.ts'
import { leftoverNamespaces, type VolumeSettings } from '../core/volume-manager/rules/settings.ts'
import type { ObjectStore } from '../store/store.ts'

export interface SlotContext extends Present {
  store: ObjectStore
  settings: VolumeSettings
}

/**
 * Returns the movers of all VolumeManagers that have not ended.
 *
 * @param created movers that may not be cached yet
 */
export function activeMovers(store: ObjectStore, settings: VolumeSettings, created: readonly Pod[] = []): Pod[] {
  const owners = ownersIn(store, settings)
  const cached = store.byIndex(pods, 'active', 'all').filter((pod) => isOwnMover(pod, owners, settings.movers))
  const isCached = ({ metadata }: Pod) => store.get(pods, metadata.namespace, metadata.name ?? '') !== undefined
  return [...cached, ...created.filter((pod) => !isCached(pod))]
}

/** Returns the movers that have slots: not those that are being deleted on a lost node, where no kubelet ends them. */
export function moversWithSlot(movers: readonly Pod[], { store, ...present }: SlotContext): Pod[] {
  return movers.filter(({ metadata, spec }) => {
    const node = metadata.deletionTimestamp ? store.get(nodes, undefined, spec.nodeName ?? '') : undefined
    return node === undefined || !isLostNode(node, present)
  })
}

/** Returns the Pods with tasks of a VolumeManager, in a namespace of its movers; also those of an earlier one with the same name. */
export function managerMovers(store: ObjectStore, key: string, settings: VolumeSettings['movers']): Pod[] {
  const { namespace, name } = splitObjectKey(key)
  const manager = { metadata: defined({ namespace, name }) }
  return store.byIndex(pods, 'mover', key).filter((pod) => isInMoverNamespace(pod, manager, settings))
}

/** The namespace in which a mover deletes a leftover: the first of those for leftovers that exists and is not being deleted. */
export function namespaceForLeftover(
  store: ObjectStore,
  leftover: Leftover,
  settings: VolumeSettings['movers'],
): string {
  const [first, ...others] = leftoverNamespaces(leftover, settings)
  const exists = (name: string) => {
    const namespace = store.get(namespaces, undefined, name)
    return namespace !== undefined && !namespace.metadata.deletionTimestamp
  }
  return [first, ...others].find(exists) ?? first
}

/** Returns the movers of a leftover. */
export function moversOfLeftover(store: ObjectStore, key: string, settings: VolumeSettings): Pod[] {
  const owners = ownersIn(store, settings)
  return store.byIndex(pods, 'mover', key).filter((pod) => isOwnMover(pod, owners, settings.movers))
}

/** Returns the movers of a leftover that is no more. Only in a namespace without tenants no user can have created them. */
export function moversWithoutLeftover(store: ObjectStore, key: string, settings: VolumeSettings['movers']): Pod[] {
  const names = leftoverNamespaces({ namespace: '' }, settings)
  return store
    .byIndex(pods, 'mover', key)
    .filter(({ metadata }) => names.includes(metadata.namespace ?? '') && metadata.deletionTimestamp === undefined)
}

function ownersIn(store: ObjectStore, settings: VolumeSettings): MoverOwners {
  return {
    manager(key) {
      const { namespace, name } = splitObjectKey(key)
      return store.get(volumeManagers, namespace, name)
    },
    leftover(key) {
      const { node: name, digest } = splitLeftoverKey(key)
      const node = store.get(nodes, undefined, name)
      return node && readLeftover(node, digest, settings)
    },
  }
}
