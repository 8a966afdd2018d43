/** The table of kinds with their explainers. Policies may select every other kind, so it is explained as a workload. */
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { configMaps, endpointSlices, ingresses, secrets, serviceAccounts, services } from '../../api/dependencies.ts'
import {
  clusterPropagationPolicies,
  clusterResourceBindings,
  clusters,
  propagationPolicies,
  resourceBindings,
} from '../../api/karmada.ts'
import type { ResourceType } from '../../api/meta.ts'
import { nodes } from '../../api/node.ts'
import { persistentVolumeClaims, persistentVolumes } from '../../api/persistent-volume.ts'
import { pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { kindKey } from '../../store/any-kind.ts'
import { UsageError } from '../command.ts'
import { dependencyExplainer } from './dependency.ts'
import { persistentVolumeExplainer } from './persistent-volume.ts'
import { podExplainer } from './pod.ts'
import { policyExplainer } from './policy.ts'
import { sourceExplainer } from './source.ts'
import type { Explainer } from './target.ts'
import { volumeManagerExplainer } from './volume-manager.ts'
import { bindingExplainer, claimExplainer, workloadExplainer } from './workload.ts'

/** An Ingress that a policy selects is explained as a workload; any other one, as a dependency of the pods to which it leads. */
const ingressExplainer: Explainer = {
  reads: workloadExplainer.reads,
  async explain(target, context) {
    const workload = await workloadExplainer.explain(target, context)
    const isPlaced = workload !== undefined && workload.state !== 'NotSelected'
    return isPlaced ? workload : dependencyExplainer.explain(target, context)
  },
}

const EXPLAINERS: readonly (readonly [ResourceType, Explainer])[] = [
  [dataSourceClaims, claimExplainer],
  [dataSources, sourceExplainer],
  [volumeManagers, volumeManagerExplainer],
  [resourceBindings, bindingExplainer],
  [clusterResourceBindings, bindingExplainer],
  [propagationPolicies, policyExplainer],
  [clusterPropagationPolicies, policyExplainer],
  [pods, podExplainer],
  [persistentVolumes, persistentVolumeExplainer],
  [persistentVolumeClaims, persistentVolumeExplainer],
  [configMaps, dependencyExplainer],
  [endpointSlices, dependencyExplainer],
  [ingresses, ingressExplainer],
  [secrets, dependencyExplainer],
  [serviceAccounts, dependencyExplainer],
  [services, dependencyExplainer],
]

const byKind = new Map(EXPLAINERS.map(([type, explainer]) => [kindKey(type), explainer]))

/** Kinds that Lodestone reads, but of whose objects it decides nothing. */
const UNEXPLAINED: readonly ResourceType[] = [clusters, nodes]

/**
 * Returns the explainer of a kind. The configuration adds kinds whose objects follow workloads.
 *
 * Throws `UsageError` for a kind about which Lodestone decides nothing.
 */
export function explainerOf(type: ResourceType, { related }: WorkloadKinds): Explainer {
  if (UNEXPLAINED.some((other) => kindKey(other) === kindKey(type))) {
    throw new UsageError(`explain has no decision about a ${type.kind}; use kubectl describe ${type.plural}`)
  }
  const isRelated = related.some((kind) => kindKey(kind.type) === kindKey(type))
  return byKind.get(kindKey(type)) ?? (isRelated ? dependencyExplainer : workloadExplainer)
}
