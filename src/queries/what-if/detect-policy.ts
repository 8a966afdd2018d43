/** Writes a changed policy into a binding, as Karmada's detector does. */
import {
  APPLIED_PLACEMENT_ANNOTATION,
  CLUSTER_POLICY_NAME_ANNOTATION,
  clusterPropagationPolicies,
  isPolicy,
  POLICY_NAME_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { defined, jsonEqual } from '../../base/json.ts'
import { policyAnnotations, selectPolicy } from '../../core/resource-binding/derive.ts'
import { policyReferenceOf } from '../../core/resource-binding/policy.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { bindingPolicy } from '../binding.ts'
import type { World } from './world.ts'

/** The scheduler applies a new placement, so the one that it applied before does not count any more. */
const REPLACED_ANNOTATIONS = [
  POLICY_NAMESPACE_ANNOTATION,
  POLICY_NAME_ANNOTATION,
  CLUSTER_POLICY_NAME_ANNOTATION,
  APPLIED_PLACEMENT_ANNOTATION,
]

/**
 * Returns the binding with the new placement of its policy, or with the next policy that selects the workload if it has none any more. Without a
 * next one it keeps its placement. A lazy policy waits for a change of the workload. Returns the same binding if nothing changes.
 */
export function detectPolicy(binding: ResourceBinding, { store, changes }: World): ResourceBinding {
  if (!changes.some(({ type }) => isPolicy(type.kind))) return binding
  const policy = bindingPolicy(binding, store)
  if (!policy) return mayChoose(binding, changes) ? withPolicy(binding, nextPolicy(binding, store)) : binding
  const change = changes.find(({ after }) => after === policy)
  if (!change || policy.spec.activationPreference === 'Lazy') return binding
  const before = change.before as PropagationPolicy | undefined
  return jsonEqual(before?.spec.placement, policy.spec.placement) ? binding : withPolicy(binding, policy)
}

function withPolicy(binding: ResourceBinding, policy: PropagationPolicy | undefined): ResourceBinding {
  const { metadata, spec } = binding
  if (!policy && !policyReferenceOf(metadata)) return binding
  const others = Object.entries(metadata.annotations ?? {}).filter(([key]) => !REPLACED_ANNOTATIONS.includes(key))
  const annotations = { ...Object.fromEntries(others), ...(policy && policyAnnotations(policy)) }
  const placement = policy ? (policy.spec.placement ?? {}) : spec.placement
  return { ...binding, metadata: { ...metadata, annotations }, spec: { ...spec, ...(placement && { placement }) } }
}

/** Whether the detector looks for a policy: the own one is deleted, or there was none. */
function mayChoose({ metadata }: ResourceBinding, changes: readonly StoreChange[]): boolean {
  const own = policyReferenceOf(metadata)
  if (!own) return true
  return changes.some(
    ({ before, after }) => !after && before?.metadata.name === own.name && before.metadata.namespace === own.namespace,
  )
}

/** The labels of workloads are not cached, so a policy that selects by labels does not count. */
function nextPolicy({ spec: { resource } }: ResourceBinding, store: ObjectStore): PropagationPolicy | undefined {
  const { apiVersion, kind, namespace, name } = resource
  const template = { apiVersion, kind, metadata: defined({ namespace, name }) }
  return selectPolicy(template, store.list(propagationPolicies), store.list(clusterPropagationPolicies))
}
