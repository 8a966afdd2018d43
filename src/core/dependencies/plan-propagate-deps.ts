/** Writes `propagateDeps` of a policy into the binding of a cluster-scoped workload, since Karmada does not. */
import {
  clusterResourceBindings,
  MANAGED_BY_LABEL,
  type PropagationPolicy,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { NOTHING, type Plan, patchOf } from '../plan.ts'

/**
 * Plans `propagateDeps` of a binding. Karmada writes it into a ClusterResourceBinding only when it creates the binding (v1.16.0 to v1.18.1,
 * pkg/detector/detector.go, ApplyClusterPolicy). So it would never follow a policy that changed, for instance since a claim came later. A
 * binding whose policy is gone or is being deleted stays as it is: the workload runs on with its dependencies.
 */
export function planPropagateDeps(binding: ResourceBinding, policy: PropagationPolicy | undefined): Plan {
  const { metadata, spec } = binding
  const isIgnored = metadata.deletionTimestamp !== undefined || metadata.labels?.[MANAGED_BY_LABEL] !== undefined
  if (metadata.namespace || isIgnored || !policy || policy.metadata.deletionTimestamp) return NOTHING
  const isWanted = policy.spec.propagateDeps === true
  if ((spec.propagateDeps === true) === isWanted) return NOTHING
  const change = { spec: { propagateDeps: isWanted ? true : null } }
  return { actions: [patchOf(clusterResourceBindings, binding, change)] }
}
