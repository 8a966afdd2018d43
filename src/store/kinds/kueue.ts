/** The cached kinds of Kueue: AdmissionChecks, Workloads with their state and what names their data, and the worker clusters of MultiKueue. */
import {
  type AdmissionCheck,
  admissionChecks,
  type KueueWorkload,
  kueueWorkloads,
  MULTIKUEUE_ORIGIN_LABEL,
  type MultiKueueCluster,
  type MultiKueueConfig,
  multiKueueClusters,
  multiKueueConfigs,
  VARIANTS_LABEL,
} from '../../api/kueue.ts'
import { CLUSTER_NAME_ANNOTATION, INJECT_LABEL, VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import { objectKey } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { workloadKey } from '../../core/data-source-claim/keys.ts'
import {
  awaitsChecks,
  jobsOf,
  NOMINATED,
  volumeAnnotationsOf,
  volumeManagersNamed,
} from '../../core/kueue/workload-state.ts'
import type { AnyCachedKind } from '../any-kind.ts'
import type { CachedKind } from '../store.ts'
import { keepMetadata } from './keep-metadata.ts'

const admissionCheckKind: CachedKind<AdmissionCheck> = {
  type: admissionChecks,
  keep({ apiVersion, kind, metadata, spec, status }) {
    const { generation } = metadata
    return defined({
      apiVersion,
      kind,
      metadata: { ...keepMetadata(metadata), ...defined({ generation }) },
      spec: defined({ controllerName: spec?.controllerName ?? '', parameters: spec?.parameters ?? undefined }),
      status,
    })
  },
  indexes: {},
  optional: true,
}

/** The conditions that say whether Kueue waits for checks, and ours. */
const CONDITIONS = ['QuotaReserved', 'Admitted', 'Evicted', 'Finished', NOMINATED]

const workloadKind: CachedKind<KueueWorkload> = {
  type: kueueWorkloads,
  keep(raw) {
    const { apiVersion, kind, metadata, spec, status } = raw
    const kept = { apiVersion, kind, metadata: keepMetadata(metadata, [], [MULTIKUEUE_ORIGIN_LABEL, VARIANTS_LABEL]) }
    const owned = { ...kept.metadata, ...defined({ ownerReferences: metadata.ownerReferences }) }
    // Most Workloads wait for quota, or have finished: nothing is decided about them. Variants have no other way to their job.
    if (!awaitsChecks(raw)) return { ...kept, ...(metadata.labels?.[VARIANTS_LABEL] && { metadata: owned }), spec: {} }
    return {
      ...kept,
      // Conditions have the generation. Without it, a plan from the cache would differ each time, and cost a read.
      metadata: { ...owned, ...defined({ generation: metadata.generation }) },
      spec: defined({
        active: spec.active,
        podSets: volumeAnnotationsOf(raw).map((volumes, i) => ({ name: String(i), template: requesting(volumes) })),
      }),
      status: defined({
        conditions: status?.conditions?.filter(({ type }) => CONDITIONS.includes(type)),
        // Whole: a patch replaces the list.
        admissionChecks: status?.admissionChecks,
        nominatedClusterNames: status?.nominatedClusterNames,
        clusterName: status?.clusterName,
      }),
    }
  },
  indexes: {
    job: (workload) => jobsOf(workload).map(workloadKey),
    volumeManager: (workload) =>
      volumeManagersNamed(workload).map((name) => objectKey(workload.metadata.namespace, name)),
    check: ({ status }) => (status?.admissionChecks ?? []).map(({ name }) => name),
  },
  optional: true,
}

/** A pod template with nothing but its request of volumes. */
function requesting(volumes: string) {
  return {
    metadata: { labels: { [INJECT_LABEL]: 'true' }, annotations: { [VOLUMES_ANNOTATION]: volumes } },
    spec: { containers: [] },
  }
}

/** The kinds that are cached only with `kueue.enabled`. */
export const kueueKinds: readonly AnyCachedKind[] = [admissionCheckKind, workloadKind]

const multiKueueConfigKind: CachedKind<MultiKueueConfig> = {
  type: multiKueueConfigs,
  keep({ apiVersion, kind, metadata, spec }) {
    const clusters: unknown = spec?.clusters
    const names = Array.isArray(clusters) ? clusters.filter((name) => typeof name === 'string') : []
    return { apiVersion, kind, metadata: keepMetadata(metadata), spec: { clusters: names } }
  },
  indexes: {},
  optional: true,
}

const multiKueueClusterKind: CachedKind<MultiKueueCluster> = {
  type: multiKueueClusters,
  keep({ apiVersion, kind, metadata }) {
    return { apiVersion, kind, metadata: keepMetadata(metadata, [CLUSTER_NAME_ANNOTATION]) }
  },
  indexes: {},
  metadataOnly: true,
  optional: true,
}

/** The kinds that are cached besides with `kueue.multiKueue.enabled`. */
export const multiKueueKinds: readonly AnyCachedKind[] = [multiKueueConfigKind, multiKueueClusterKind]
