/** The loop of DaemonSets that request volumes: repeats the decision of admission when the data gets other nodes. */
import type { K8sObject } from '../../api/meta.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { jsonEqual } from '../../base/json.ts'
import { dependencyKey, objectOfKey } from '../../core/dependencies/keys.ts'
import type { Workload } from '../../core/dependencies/workload.ts'
import { isDaemonSet, planDaemonSet } from '../../core/workload/daemon-set.ts'
import { decideWorkload } from '../../core/workload/decide-workload.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import { workloadTypeOf } from '../../queries/dependents.ts'
import { workloadsWithVolumes } from '../../queries/volume-locations.ts'
import { isHub, volumeManagersOf } from '../../queries/volumes.ts'
import type { ObjectStore } from '../../store/store.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'

/** The keys are those of dependencies, since there are two kinds of DaemonSets. */
export const daemonSetLoop: ReconcileLoop = {
  name: 'daemon-set',
  concurrency: 2,
  awaitsWebhooks: true,
  *keysForChange({ type, before, after }, store) {
    if (isDaemonSet(type)) {
      if (
        after &&
        requestedVolumes(after).length > 0 &&
        !jsonEqual(before && requestedVolumes(before), requestedVolumes(after))
      ) {
        yield dependencyKey(after)
      }
      return
    }
    const manager = type.kind === volumeManagers.kind ? (after ?? before) : undefined
    if (!manager || jsonEqual(placingFields(before as VolumeManager), placingFields(after as VolumeManager))) return
    const { namespace, name = '' } = manager.metadata
    yield* workloadsWithVolumes(namespace, name, store).filter(isDaemonSet).map(dependencyKey)
  },
  *allKeys(store) {
    for (const type of daemonSetTypes(store)) {
      for (const workload of store.list(type))
        yield requestedVolumes(workload).length > 0 ? dependencyKey(workload) : undefined
    }
  },
  async reconcile(key, { store, events }) {
    const { apiVersion, kind, metadata } = objectOfKey(key)
    const type = workloadTypeOf({ apiVersion, kind }, store)
    const { namespace, name = '' } = metadata
    if (!type || isHub(store) || !store.get(type, namespace, name)) return undefined
    // The cache has no pod templates.
    const object: K8sObject | undefined = await store.read(type, namespace, name)
    if (!object) return undefined
    const outcome = decideWorkload({
      object,
      stored: undefined,
      // The role allows to patch DaemonSets of the shipped table only.
      kind: SHIPPED_KINDS.find(apiVersion, kind),
      managers: volumeManagersOf(store, namespace),
      isHub: false,
    })
    await applyPlan({ store, events }, planDaemonSet(type, object, outcome))
    return undefined
  },
}

function daemonSetTypes(store: ObjectStore) {
  return store.typesWithIndex('dataBound').filter(isDaemonSet)
}

/** The VolumeManagers that the pods of a cached DaemonSet request. */
function requestedVolumes(object: K8sObject): readonly string[] {
  return (object as Workload).dependencies.volumeManagers
}

/** The parts of a VolumeManager that determine the nodes of its pods. */
function placingFields(manager: VolumeManager | undefined) {
  return (
    manager && {
      uid: manager.metadata.uid,
      deleted: manager.metadata.deletionTimestamp,
      spec: manager.spec,
      state: manager.status?.state,
      volumes: manager.status?.volumes?.map(({ id, nodeAffinity, shards }) => ({
        id,
        nodeAffinity,
        shards: shards?.map((shard) => shard.nodeAffinity),
      })),
    }
  )
}
