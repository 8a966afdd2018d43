/** Decides whether a policy takes a workload over from another one, as Karmada's detector does. */
import type { WorkloadReference } from '../../api/data-source-claim.ts'
import type { PropagationPolicy } from '../../api/karmada.ts'
import { closeness } from './select.ts'

/** Karmada's feature gate for preemption. It is off by default in 1.16 to 1.18. */
export const PREEMPTION_GATE = 'PropagationPolicyPreemption'

/** Whether a policy takes workloads over from other policies. */
export function takesWorkloadsOver({ spec }: PropagationPolicy): boolean {
  return spec.preemption === 'Always'
}

/**
 * Whether a policy takes a workload over from the policy that has it (v1.18.1, pkg/detector/preemption.go). A PropagationPolicy takes over from
 * every ClusterPropagationPolicy. Each policy takes over from one of its own kind with a lower priority. Only selectors with a name preempt.
 */
export function takesOver(policy: PropagationPolicy, present: PropagationPolicy, workload: WorkloadReference): boolean {
  if (!takesWorkloadsOver(policy) || !names(policy, workload)) return false
  const [isNamespaced, wasNamespaced] = [policy, present].map(({ metadata }) => !!metadata.namespace)
  if (isNamespaced && !wasNamespaced) return true
  return isNamespaced === wasNamespaced && priorityOf(policy) > priorityOf(present)
}

/** The order of policies that take the same workload over: the last one has it in the end. */
export function comparePreemptors(a: PropagationPolicy, b: PropagationPolicy): number {
  const [ofA, ofB] = [a, b].map(({ metadata }) => (metadata.namespace ? 0 : 1))
  return (
    (ofA ?? 0) - (ofB ?? 0) ||
    priorityOf(b) - priorityOf(a) ||
    ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1)
  )
}

/** Returns the priority of a policy. Karmada's default is 0. */
export function priorityOf({ spec }: PropagationPolicy): number {
  return spec.priority ?? 0
}

/** Returns the workloads that a policy may take over: those that it names. */
export function preemptable(policy: PropagationPolicy): WorkloadReference[] {
  const { metadata, spec } = policy
  if (!takesWorkloadsOver(policy)) return []
  return spec.resourceSelectors.flatMap(({ apiVersion, kind, name, namespace = metadata.namespace }) =>
    name ? [{ apiVersion, kind, name, ...(namespace && { namespace }) }] : [],
  )
}

/** The detector reads the object of each selector by its name and namespace. */
function names(policy: PropagationPolicy, { apiVersion, kind, namespace, name }: WorkloadReference): boolean {
  if (closeness({ apiVersion, kind, name, ...(namespace && { namespace }) }, {}, policy) !== 3) return false
  return preemptable(policy).some(
    (object) =>
      object.apiVersion === apiVersion &&
      object.kind === kind &&
      object.name === name &&
      (object.namespace ?? '') === (namespace ?? ''),
  )
}
