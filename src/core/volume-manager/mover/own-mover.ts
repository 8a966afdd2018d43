/** Whether Lodestone made a Pod: the one predicate for movers. Users may not write the labels and the annotation that identify movers. */
import { MOVER_LABEL, MOVER_SLOT_LABEL, MOVER_TASK_ANNOTATION } from '../../../api/lodestone.ts'
import type { K8sObject } from '../../../api/meta.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { FieldError } from '../../../base/field-errors.ts'
import { listVolumes } from '../known-status.ts'
import type { Leftover } from '../nodes/leftovers.ts'
import { moverName } from '../rules/names.ts'
import { leftoverNamespaces, moverNamespace, type VolumeSettings } from '../rules/settings.ts'
import { directoryOfMover } from './affinity.ts'
import { type MoverTask, readTask } from './task.ts'

type MoverNamespaces = Pick<VolumeSettings['movers'], 'namespace' | 'ownNamespace'>

/** Finds the objects for which movers work, by the `manager` of their tasks. */
export interface MoverOwners {
  manager(key: string): VolumeManager | undefined
  leftover(key: string): Leftover | undefined
}

/**
 * Whether a Pod is a mover that Lodestone made. It is in the namespace of the movers of its VolumeManager. Its name is that of its task, and
 * the task is in the status of the VolumeManager. The mover of a leftover mounts the directory of the leftover, in a namespace without
 * tenants.
 *
 * In its own namespace, a tenant can still create a Pod that is equal to a mover. There are as many such Pods as tasks in the status of the
 * VolumeManagers of the tenant. The webhook `mover-pod` prevents them.
 */
export function isOwnMover(pod: Pod, owners: MoverOwners, settings: MoverNamespaces): boolean {
  const task = pod.metadata.labels?.[MOVER_LABEL] === undefined ? undefined : readTask(pod)
  if (!task) return false
  if (task.role === 'leftover') {
    const leftover = owners.leftover(task.manager)
    if (!leftover || task.id !== leftover.id || task.index !== leftover.index || task.attempt !== 1) return false
    const { name, uid, path } = leftover
    const isThere = leftoverNamespaces(leftover, settings).includes(pod.metadata.namespace ?? '')
    return isThere && isNamed(pod, { metadata: { name, uid } }, task) && directoryOfMover(pod) === path
  }
  const manager = owners.manager(task.manager)
  if (manager === undefined || !isInMoverNamespace(pod, manager, settings)) return false
  return isNamed(pod, manager, task) && isInStatus(manager, task)
}

/** Whether a Pod is where the movers of a VolumeManager are. After a change of the configuration, movers remain in its own namespace. */
export function isInMoverNamespace(
  { metadata: { namespace } }: Pick<Pod, 'metadata'>,
  manager: Pick<VolumeManager, 'metadata'>,
  settings: Pick<VolumeSettings['movers'], 'namespace'>,
): boolean {
  return namespace === manager.metadata.namespace || namespace === moverNamespace(manager, settings)
}

function isNamed(pod: Pod, manager: Pick<VolumeManager, 'metadata'>, task: MoverTask): boolean {
  return pod.metadata.name === moverName(manager, task)
}

/** The status in the cache may be one attempt behind, and the Pod of the previous attempt may still run. */
function isInStatus(manager: VolumeManager, { id, role, index, attempt }: MoverTask): boolean {
  return listVolumes(manager).some((volume) => {
    if (volume.id !== id) return false
    const replica = volume.replicas?.find((one) => one.index === index)
    const works: Readonly<Record<MoverTask['role'], { attempt: number } | undefined>> = {
      replica,
      upload: replica?.upload,
      maintenance: replica?.maintenance,
      deletion: volume.deletions?.find((one) => one.index === index),
      leftover: undefined,
    }
    const known = works[role]
    return known !== undefined && Math.abs(known.attempt - attempt) <= 1
  })
}

export const RESERVED_ON_PODS = [
  { map: 'labels', key: MOVER_LABEL },
  { map: 'labels', key: MOVER_SLOT_LABEL },
  { map: 'annotations', key: MOVER_TASK_ANNOTATION },
] as const

/**
 * Returns an error for each reserved label or annotation that a write adds, changes or removes.
 *
 * @param stored the stored Pod; absent if the write creates it
 */
export function reservedErrors(pod: Pick<K8sObject, 'metadata'>, stored?: Pick<K8sObject, 'metadata'>): FieldError[] {
  return RESERVED_ON_PODS.filter(({ map, key }) => pod.metadata[map]?.[key] !== stored?.metadata[map]?.[key]).map(
    ({ map, key }) => ({
      path: `metadata.${map}[${key}]`,
      code: 'Forbidden',
      message: 'is reserved for the movers of Lodestone; leave it as it is, and remove it from pod templates',
    }),
  )
}
