/** The cached kinds for volumes: VolumeManagers and pods. Only gated pods keep their whole spec. */
import {
  CHECK_ANNOTATION,
  DELETE_IN_USE_ANNOTATION,
  MOVER_LABEL,
  MOVER_TASK_ANNOTATION,
  REFRESH_ANNOTATION,
  VOLUMES_ANNOTATION,
} from '../../api/lodestone.ts'
import { type ObjectMeta, objectKey } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { defined, withoutNulls } from '../../base/json.ts'
import type { Dependent } from '../../core/dependencies/dependent.ts'
import { moverSecrets } from '../../core/dependencies/interpret.ts'
import type { Workload } from '../../core/dependencies/workload.ts'
import { listConfigs, listVolumes, readableStatus } from '../../core/volume-manager/known-status.ts'
import { directoryContainers } from '../../core/volume-manager/mover/affinity.ts'
import { readTask } from '../../core/volume-manager/mover/task.ts'
import { isEnded, type PastUse, type PodUse, readPastUse, readPodUse } from '../../core/volume-manager/pod-use.ts'
import { ownerKey, placeKey } from '../../core/volume-manager/rules/names.ts'
import { isInQueue } from '../../core/volume-manager/schedule/queue.ts'
import { isGated } from '../../core/workload/gate/gate-state.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import type { AnyCachedKind } from '../any-kind.ts'
import type { CachedKind } from '../store.ts'
import { keepContent, workloadKind } from './dependencies.ts'
import { keepAnnotations } from './keep-metadata.ts'

/** The annotations of users on which the movers of a VolumeManager depend. */
const ANNOTATIONS = [DELETE_IN_USE_ANNOTATION, CHECK_ANNOTATION, REFRESH_ANNOTATION]

const volumeManagerKind: CachedKind<VolumeManager & Dependent> = {
  type: volumeManagers,
  keep: (raw) => {
    const { metadata, ...content } = keepContent(raw)
    const { generation, finalizers } = raw.metadata
    // A client in Go writes its empty maps as null, and the CRD of VCK keeps that.
    const spec = withoutNulls(raw.spec ?? { volumeConfigs: [] })
    const status = readableStatus(raw.status)
    return {
      ...content,
      metadata: {
        ...metadata,
        ...defined({ generation, finalizers }),
        ...keepAnnotations(raw.metadata, ANNOTATIONS),
      },
      spec,
      ...defined({ status }),
    }
  },
  indexes: {
    secrets: (manager) => moverSecrets(manager).map((name) => objectKey(manager.metadata.namespace, name)),
    // The key in the names of its directories, claims and node labels.
    owner: (manager) => [ownerKey(manager)],
    // VolumeManagers with waiting movers: the queue.
    waiting: (manager) => (isInQueue(manager) ? ['all'] : []),
    // VolumeManagers with failed replicas or deletions, which are retried later.
    failed: (manager) => {
      const isFailed = ({ state }: { state: string }) => state === 'Failed'
      const volumes = listVolumes(manager)
      return volumes.some(({ replicas = [], deletions = [] }) => [...replicas, ...deletions].some(isFailed))
        ? ['all']
        : []
    },
    // The nodes that have, or may have, its data.
    node: (manager) =>
      listVolumes(manager).flatMap(({ replicas = [], deletions = [] }) =>
        [...replicas, ...deletions].flatMap(({ node }) => (node ? [node] : [])),
      ),
    // VolumeManagers that every node concerns: of `Local` volumes, and of those with a copy on every node.
    everyNode: (manager) =>
      listConfigs(manager).some(({ sourceType, onEveryNode }) => sourceType === 'Local' || onEveryNode) ? ['all'] : [],
  },
  optional: true,
  absence: 'confirm',
}

/** A configured table cannot replace the entry of pods: their paths are those of Kubernetes. */
const asWorkload = workloadKind(pods, SHIPPED_KINDS)

/** A cached pod. Only movers and pods that wait for volumes have more than their dependencies and the data that they use. */
export interface CachedPod extends Workload, Dependent, CachedUse {
  spec?: Pod['spec']
  status?: NonNullable<Pod['status']>
}

/** The data that a pod mounts, or mounted before it ended. Absent for movers. */
export interface CachedUse {
  use?: PodUse
  pastUse?: PastUse
}

const podKind: CachedKind<CachedPod> = {
  ...asWorkload,
  type: pods as CachedKind<CachedPod>['type'],
  keep(raw) {
    const pod = raw as unknown as Pod
    const kept = asWorkload.keep(raw as Workload & Dependent)
    if (isMover(pod.metadata)) return keepMover(kept, pod)
    const use = readPodUse(pod)
    const pastUse = readPastUse(pod)
    const used = { ...kept, ...defined({ use, pastUse }) }
    const { spec } = raw
    if (!spec?.schedulingGates || !isGated(pod)) return used
    const { generateName, ownerReferences, finalizers } = raw.metadata
    return {
      ...used,
      metadata: {
        ...kept.metadata,
        ...defined({ generateName: generateName || undefined, ownerReferences, finalizers }),
        ...keepAnnotations(raw.metadata, [VOLUMES_ANNOTATION]),
      },
      spec,
    }
  },
  indexes: {
    ...asWorkload.indexes,
    // For gated pods: the VolumeManagers that they wait for.
    waitsFor: ({ metadata, dependencies, spec }) =>
      spec ? dependencies.volumeManagers.map((name) => objectKey(metadata.namespace, name)) : [],
    // The directories and claims that a pod mounts.
    directory: ({ use }) => use?.directories ?? [],
    claim: ({ metadata, use }) => (use?.claims ?? []).map((name) => objectKey(metadata.namespace, name)),
    // The directories of its node that an ended pod mounted.
    endedIn: ({ pastUse }) => pastUse?.directories.map((path) => placeKey({ node: pastUse.node, path })) ?? [],
    // The claims that an ended pod mounted.
    endedWith: ({ metadata, pastUse }) => (pastUse?.claims ?? []).map((name) => objectKey(metadata.namespace, name)),
    // The VolumeManager of a mover, and all movers that have not ended.
    mover: (pod) => (isMover(pod.metadata) ? [readTask(pod)?.manager ?? ''].filter((key) => key !== '') : []),
    active: ({ metadata, status }) => (isMover(metadata) && !isEnded(status) ? ['all'] : []),
  },
}

function isMover({ labels }: ObjectMeta): boolean {
  return labels?.[MOVER_LABEL] !== undefined
}

function keepMover(kept: CachedPod, { metadata, spec, status }: Pod): CachedPod {
  const { volumes, nodeName, affinity } = spec ?? {}
  return {
    ...kept,
    metadata: { ...kept.metadata, ...keepAnnotations(metadata, [MOVER_TASK_ANNOTATION]) },
    spec: defined({
      containers: directoryContainers(spec),
      volumes,
      nodeName: nodeName || undefined,
      affinity: affinity?.nodeAffinity && { nodeAffinity: affinity.nodeAffinity },
    }),
    ...defined({ status }),
  }
}

/** The kinds that are cached when pods may use volumes. */
export const injectionKinds: readonly AnyCachedKind[] = [volumeManagerKind, podKind]
