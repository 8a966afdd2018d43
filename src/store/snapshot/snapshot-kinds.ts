/** The kinds of a snapshot: those that decisions on placements read, reduced to the fields that they read. */
import type { DataSource } from '../../api/data-source.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { DEPENDENCIES_ANNOTATION, type ResourceBinding } from '../../api/karmada.ts'
import type { K8sObject, ObjectMeta } from '../../api/meta.ts'
import { pods } from '../../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { defined, without } from '../../base/json.ts'
import type { Dependent } from '../../core/dependencies/dependent.ts'
import { type Workload, workloadWithVolumesOnly } from '../../core/dependencies/workload.ts'
import { SHIPPED_KINDS, type WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import type { AnyCachedKind } from '../any-kind.ts'
import { placementKinds } from '../kinds/cached-kinds.ts'
import { cachedWorkloadKinds, workloadKind } from '../kinds/dependencies.ts'
import type { CachedKind } from '../store.ts'

/**
 * Returns the kinds of a snapshot. Secrets, ConfigMaps and other dependencies are not among them: attached bindings show which of them follow
 * a workload.
 */
export function snapshotKinds(workloads: WorkloadKinds): AnyCachedKind[] {
  return [
    ...placementKinds,
    ...cachedWorkloadKinds(workloads),
    // The content of a pod that waits at its gate is not read.
    workloadKind(pods, SHIPPED_KINDS),
    volumeManagerKind,
  ].map(reduced)
}

/** Of a VolumeManager, a hub reads only whether it exists and is wanted. Its options may name credentials. */
const volumeManagerKind: CachedKind<VolumeManager> = {
  type: volumeManagers,
  keep: ({ apiVersion, kind, metadata, spec }) => {
    const { name, namespace, deletionTimestamp, labels } = metadata
    return {
      apiVersion,
      kind,
      metadata: defined({
        name,
        namespace: namespace || undefined,
        deletionTimestamp: deletionTimestamp || undefined,
        labels,
      }),
      spec: { volumeConfigs: [], ...defined({ state: spec?.state || undefined }) },
    }
  },
  indexes: {},
  optional: true,
  absence: 'confirm',
}

function reduced(kind: AnyCachedKind): AnyCachedKind {
  const keep = kind.keep as (raw: K8sObject) => K8sObject
  return { ...kind, keep: (raw: never) => reduceObject(keep(raw)) }
}

function reduceObject(kept: K8sObject): K8sObject {
  const object = { ...kept, metadata: reduceMetadata(kept.metadata) }
  switch (kept.kind) {
    case 'ResourceBinding':
    case 'ClusterResourceBinding':
      return reduceBinding(object as ResourceBinding)
    case 'DataSourceClaim':
      return reduceClaim(object as DataSourceClaim)
    case 'DataSource':
      return reduceSource(object as DataSource)
    default:
      return 'dependencies' in object ? reduceWorkload(object as Workload & Dependent) : object
  }
}

/** Only writes, Events and loops read versions, uids, owners and finalizers. Each object has its own, so they would fill the memory. */
function reduceMetadata(metadata: ObjectMeta): ObjectMeta {
  return without(metadata, 'uid', 'resourceVersion', 'ownerReferences', 'finalizers')
}

/** Attached bindings show the dependencies of a workload, so the recorded ones are left out. */
function reduceBinding(binding: ResourceBinding): ResourceBinding {
  const { resource, ...rest } = binding.spec
  const { annotations, ...metadata } = binding.metadata
  const kept = annotations && without(annotations, DEPENDENCIES_ANNOTATION)
  return {
    ...binding,
    metadata: defined({ ...metadata, annotations: kept }),
    spec: { resource: without(resource, 'uid', 'resourceVersion'), ...rest },
  }
}

function reduceWorkload(workload: Workload & Dependent): Workload {
  return workloadWithVolumesOnly(without(workload, 'content') as Workload)
}

function reduceClaim(claim: DataSourceClaim): DataSourceClaim {
  const { status, ...rest } = claim
  if (!status) return rest
  const { phase, boundDataSource } = status
  const conditions = status.conditions
    ?.filter(({ type }) => type === 'Bound')
    .map(({ type, status, reason, observedGeneration }) => defined({ type, status, reason, observedGeneration }))
  return { ...rest, status: defined({ phase, boundDataSource, conditions }) } as DataSourceClaim
}

/** The lists of a status repeat what claims and the location say. */
function reduceSource(source: DataSource): DataSource {
  const { status, ...rest } = source
  return status ? { ...rest, status: without(status, 'claimRefs', 'boundClaims', 'clusters', 'size') } : rest
}
