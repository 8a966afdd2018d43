/** The loop of pods that wait for volumes: removes their scheduling gate when the data is ready. */
import { keyOfObject, objectKey, splitObjectKey } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { isGated, planGate } from '../../core/workload/gate/gate-state.ts'
import { volumeManagersOf } from '../../queries/volumes.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'

export const podLoop: ReconcileLoop = {
  name: 'pod',
  concurrency: 4,
  *keysForChange({ type, after, before }, store) {
    if (type.kind === pods.kind && after && waits(after as Pod)) yield keyOfObject(after as Pod)
    const manager = type.kind === volumeManagers.kind ? (after ?? before)?.metadata : undefined
    if (!manager) return
    for (const pod of store.byIndex(pods, 'waitsFor', objectKey(manager.namespace, manager.name ?? '')))
      yield keyOfObject(pod)
  },
  *allKeys(store) {
    for (const pod of store.list(pods)) yield waits(pod) ? keyOfObject(pod) : undefined
  },
  async reconcile(key, { store, events }) {
    const { namespace = '', name } = splitObjectKey(key)
    const pod = store.get(pods, namespace, name)
    if (!pod || !waits(pod)) return undefined
    await applyPlan({ store, events }, planGate(pod, volumeManagersOf(store, namespace)))
    return undefined
  },
}

/** Whether a pod has our scheduling gate. The cache has the spec of gated pods and of movers only. */
function waits(pod: Pod): boolean {
  return (pod as Partial<Pod>).spec !== undefined && isGated(pod)
}
