/** The cached kinds of PersistentVolumes and claims: metadata, and of Lodestone's own also the place of the data. */
import { NODE_ANNOTATION } from '../../api/lodestone.ts'
import type { ObjectMeta } from '../../api/meta.ts'
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../api/persistent-volume.ts'
import { defined } from '../../base/json.ts'
import type { Dependent } from '../../core/dependencies/dependent.ts'
import type { Workload } from '../../core/dependencies/workload.ts'
import { directoryAround, ownerOfObject } from '../../core/volume-manager/rules/names.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import type { AnyCachedKind } from '../any-kind.ts'
import type { CachedKind } from '../store.ts'
import { keepContent, workloadKind } from './dependencies.ts'
import { keepAnnotations } from './keep-metadata.ts'

const volumeAsWorkload = workloadKind(persistentVolumes, SHIPPED_KINDS)

/** Of Lodestone's own PersistentVolumes, also the place of the data, its claim and its nodes. */
const persistentVolumeKind: CachedKind<Workload & Dependent & Pick<PersistentVolume, 'spec' | 'status'>> = {
  ...volumeAsWorkload,
  type: persistentVolumes as CachedKind<Workload & Dependent>['type'],
  keep(raw) {
    const kept = volumeAsWorkload.keep(raw)
    if (volumeOwners(raw.metadata).length === 0) return kept
    const { phase } = raw.status ?? {}
    const { claimRef, local, nodeAffinity } = (raw as PersistentVolume).spec ?? {}
    const spec = defined({ local, claimRef, nodeAffinity })
    return {
      ...kept,
      metadata: { ...kept.metadata, ...keepAnnotations(raw.metadata, [NODE_ANNOTATION]) },
      ...defined({ spec, status: phase === undefined ? undefined : { phase } }),
    }
  },
  indexes: {
    ...volumeAsWorkload.indexes,
    owner: ({ metadata }) => volumeOwners(metadata),
    // The directories of replicas, on any node.
    directory: ({ spec }) => (spec?.local ? [directoryAround(spec.local.path)].filter((one) => one !== undefined) : []),
  },
}

const volumeClaimKind: CachedKind<PersistentVolumeClaim & Dependent> = {
  type: persistentVolumeClaims,
  keep: keepContent,
  indexes: { owner: ({ metadata }) => volumeOwners(metadata) },
}

/** The owner of an object that Lodestone created for a VolumeManager. */
function volumeOwners(metadata: ObjectMeta): string[] {
  return [ownerOfObject(metadata)].filter((owner) => owner !== undefined)
}

/** The kinds that are cached when data is moved, or when Lodestone distributes dependencies. */
export const volumeClaimKinds: readonly AnyCachedKind[] = [volumeClaimKind, persistentVolumeKind]
