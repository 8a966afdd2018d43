/** The kinds behind volumes: VolumeManagers, and pods, whole only while they wait for volumes. */
import { VOLUMES_ANNOTATION } from '../api/lodestone.ts'
import { objectKey } from '../api/meta.ts'
import { type Pod, pods } from '../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import type { Dependent } from '../core/dependencies/dependent.ts'
import { secretsOf } from '../core/dependencies/interpret.ts'
import type { Workload } from '../core/dependencies/workload.ts'
import { isGated } from '../core/workload/plan-gate.ts'
import { keepContent, workloadKind } from './dependency-kinds.ts'
import type { AnyCachedKind } from './kinds.ts'
import type { CachedKind } from './store.ts'

const volumeManagerKind: CachedKind<VolumeManager & Dependent> = {
  type: volumeManagers,
  keep: (raw) => {
    const { metadata, ...kept } = keepContent(raw)
    const { generation } = raw.metadata
    const { spec = { volumeConfigs: [] }, status } = raw
    return {
      ...kept,
      metadata: { ...metadata, ...(generation !== undefined && { generation }) },
      spec,
      ...(status && { status }),
    }
  },
  indexes: {
    secrets: (manager) => secretsOf(manager).map((name) => objectKey(manager.metadata.namespace, name)),
  },
  optional: true,
}

const asWorkload = workloadKind(pods)

/** A pod; its spec is here only while it waits for volumes. */
export interface HeldPod extends Workload, Dependent {
  spec?: Pod['spec']
}

const podKind: CachedKind<HeldPod> = {
  ...asWorkload,
  type: pods as CachedKind<HeldPod>['type'],
  keep(raw) {
    const kept = asWorkload.keep(raw as Workload & Dependent)
    const { spec } = raw
    if (!spec?.schedulingGates || !isGated({ ...raw, spec })) return kept
    const { annotations, ownerReferences } = raw.metadata
    const asked = annotations?.[VOLUMES_ANNOTATION]
    return {
      ...kept,
      metadata: {
        ...kept.metadata,
        ...(asked !== undefined && { annotations: { [VOLUMES_ANNOTATION]: asked } }),
        ...(ownerReferences && { ownerReferences }),
      },
      spec,
    }
  },
  indexes: {
    ...asWorkload.indexes,
    // Of those that wait: the VolumeManagers that they wait for.
    waitsFor: ({ metadata, facts, spec }) =>
      spec ? facts.volumeManagers.map((name) => objectKey(metadata.namespace, name)) : [],
  },
}

export const volumeKinds: readonly AnyCachedKind[] = [volumeManagerKind, podKind]
