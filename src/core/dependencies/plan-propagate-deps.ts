/** Writes `propagateDeps` of a policy into a binding if Karmada does not, or not yet. */
import { bindingTypeIn, MANAGED_BY_LABEL, type PropagationPolicy, type ResourceBinding } from '../../api/karmada.ts'
import { NOTHING, type Plan, patchOf } from '../plan.ts'
import { isSetByUs } from '../propagation-policy/decide.ts'
import { hasOurAnnotations } from '../resource-binding/annotations.ts'
import { isLazy } from '../resource-binding/input.ts'

/**
 * Plans `propagateDeps` of a binding:
 * - Karmada writes it into a ClusterResourceBinding only when it creates the binding (v1.16.0 to v1.18.1, pkg/detector/detector.go,
 *   ApplyClusterPolicy). So the binding would never follow a policy that changed, for instance since a claim came later.
 * - Karmada writes a change of a lazy policy into a binding when its workload changes. A narrowing applies at once, and the dependencies must
 *   follow it. Only the value of Lodestone counts: changes by the author of the policy wait.
 *
 * A binding whose policy is gone or is being deleted stays as it is: the workload runs on with its dependencies.
 */
export function planPropagateDeps(binding: ResourceBinding, policy: PropagationPolicy | undefined): Plan {
  const { metadata, spec } = binding
  const isIgnored = metadata.deletionTimestamp !== undefined || metadata.labels?.[MANAGED_BY_LABEL] !== undefined
  if (isIgnored || !policy || policy.metadata.deletionTimestamp) return NOTHING
  const isWanted = policy.spec.propagateDeps === true
  const isWrittenByKarmada = metadata.namespace !== undefined && !(isWanted && isAwaited(binding, policy))
  if (isWrittenByKarmada || (spec.propagateDeps === true) === isWanted) return NOTHING
  const change = { spec: { propagateDeps: isWanted ? true : null } }
  return { actions: [patchOf(bindingTypeIn(metadata.namespace), binding, change)] }
}

/** Whether a binding with a decision of Lodestone would get the value of Lodestone in a lazy policy only when its workload changes. */
function isAwaited({ metadata }: ResourceBinding, policy: PropagationPolicy): boolean {
  return isLazy(policy) && isSetByUs(policy) && hasOurAnnotations(metadata.annotations)
}
