/** The kinds that `status` caches from an API server. Of bindings and pods, only those on hold have more than a name. */
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { clusterResourceBindings, type ResourceBinding, resourceBindings } from '../../api/karmada.ts'
import { HOLD_ANNOTATION, VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import type { ResourceType } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { defined } from '../../base/json.ts'
import { workloadKey } from '../../core/data-source-claim/keys.ts'
import { isGated } from '../../core/workload/gate/gate-state.ts'
import { type AnyCachedKind, kindKey } from '../../store/any-kind.ts'
import { placementKinds } from '../../store/kinds/cached-kinds.ts'
import { keepMetadata } from '../../store/kinds/keep-metadata.ts'
import { injectionKinds } from '../../store/kinds/volumes.ts'
import type { CachedKind } from '../../store/store.ts'

const OWN_KINDS: readonly ResourceType[] = [dataSourceClaims, dataSources, volumeManagers, namespaces]

const OPEN = { resource: { apiVersion: '', kind: '', name: '' } } as const

function bindingKind(type: ResourceType<ResourceBinding>): CachedKind<ResourceBinding> {
  return {
    type,
    keep({ apiVersion, kind, metadata, spec }) {
      // The binding of a cluster-scoped workload decides whether a claim names this workload.
      const isOnHold = metadata.annotations?.[HOLD_ANNOTATION] !== undefined
      const { resource, suspension } = spec
      return {
        apiVersion,
        kind,
        metadata: keepMetadata(metadata, [HOLD_ANNOTATION]),
        spec: isOnHold ? defined({ resource, suspension }) : metadata.namespace ? OPEN : { resource },
      }
    },
    indexes: { workload: ({ metadata, spec }) => (metadata.namespace ? [] : [workloadKey(spec.resource)]) },
    optional: true,
  }
}

const RUNNING: Pod['spec'] = { containers: [] }

const podKind: CachedKind<Pod> = {
  type: pods,
  keep(pod) {
    const { apiVersion, kind, metadata, spec } = pod
    if (!isGated(pod)) return { apiVersion, kind, metadata: keepMetadata(metadata), spec: RUNNING }
    const { creationTimestamp, ownerReferences } = metadata
    const kept = {
      ...keepMetadata(metadata, [VOLUMES_ANNOTATION]),
      ...defined({ creationTimestamp: creationTimestamp || undefined, ownerReferences }),
    }
    return { apiVersion, kind, metadata: kept, spec }
  },
  indexes: {},
  optional: true,
}

/** A member cluster has no claims, and a hub may have no VolumeManagers. */
export const statusKinds: readonly AnyCachedKind[] = [
  ...[...placementKinds, ...injectionKinds]
    .filter(({ type }) => OWN_KINDS.some((own) => kindKey(own) === kindKey(type)))
    .map((kind) => ({ ...kind, optional: true })),
  bindingKind(resourceBindings),
  bindingKind(clusterResourceBindings),
  podKind,
]
